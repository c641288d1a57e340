"""What a look at a link tells of its source."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import ClassVar, cast

import pytest
from tests.kit.paper_backend import PaperBackend

from twinlog.errors import ClusterError, ClusterUnreachable, LeaderMissing
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import Engine, RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.watch import observe
from twinlog.watch import silent_leaders as silent
from twinlog.watch.observe import Observer
from twinlog.wire.connection import Cluster, Leader, TopicMetadata

GONE = ClusterUnreachable("east", "no broker answers")
LEADERLESS = LeaderMissing("east", "orders-1")
PARTLY = "east: no broker answers as leader of 1 of 2 partitions (orders-1)"
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def _told(
    ends: dict[TopicPartition, int | ClusterError], _: list[TopicPartition]
) -> dict[TopicPartition, int | ClusterError]:
    return ends


@pytest.mark.proves("R14")
@pytest.mark.parametrize(
    ("ends", "trouble"),
    [
        ({FIRST: 10, SECOND: 10}, None),
        ({FIRST: 10, SECOND: GONE}, PARTLY),  # one broker of several
        ({FIRST: 10, SECOND: LEADERLESS}, PARTLY),
        ({FIRST: GONE, SECOND: GONE}, str(GONE)),
    ],
)
def test_a_source_that_is_silent_on_every_partition_is_gone(
    ends: dict[TopicPartition, int | ClusterError], trouble: str | None
) -> None:
    view = LedgerView({})
    view.roster["orders"] = RosterTopic(
        topic="orders", source_id="s", remote="east.orders", target_id="t", origins=[0, 0]
    )
    observer = Observer(PaperBackend().links()[0], lambda _: ends)
    found = observer._judge(view, 0)
    assert found.source_trouble == trouble
    assert found.source_partly is (trouble == PARTLY)


@pytest.mark.proves("R14")
def test_a_leader_that_does_not_answer_is_asked_once() -> None:
    asked: list[list[TopicPartition]] = []

    def committed(wanted: list[TopicPartition]) -> dict[TopicPartition, int | ClusterError]:
        asked.append(wanted)
        return dict.fromkeys(wanted, 10)

    view = LedgerView({})
    view.roster["orders"] = RosterTopic(
        topic="orders", source_id="s", remote="east.orders", target_id="t", origins=[0, 0]
    )
    observer = Observer(PaperBackend().links()[0], committed, lambda _: {FIRST: 10, SECOND: GONE})
    assert observer._judge(view, 0).source_trouble == PARTLY
    assert asked == [[FIRST]]


@pytest.mark.proves("R14")
@pytest.mark.parametrize(
    ("leaders", "named"),
    [
        (
            {0: 1, 1: 2},
            ": broker 2 does not answer; it is the leader of partitions 1 of __twinlog-ledger.{source} and of copy-1",
        ),
        ({0: 1, 1: -1}, ": no leader for partitions 1 of __twinlog-ledger.{source} and of copy-1"),
    ],
)
def test_a_dead_leader_of_the_ledger_is_named_while_its_reader_waits(
    leaders: dict[int, int], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that waits for a leader forgets the topic between two attempts; the leader dies after the first look."""
    link = PaperBackend().links()[0]
    monkeypatch.setattr(observe, "_YOUNG_S", 0.01)
    dead: set[int] = set()

    class Target:
        topics: ClassVar[dict[str, object]] = {}

        def __init__(self, *_: object) -> None: ...

        async def refresh(self, names: list[str]) -> dict[str, TopicMetadata]:
            led = {number: Leader(node, 0, 1) for number, node in leaders.items()}
            return {name: TopicMetadata(name, "id", 0, led) for name in names}

        async def close(self) -> None: ...

    async def silent_brokers(_: object, nodes: Iterable[int]) -> list[int]:
        found = sorted(dead & set(nodes))
        dead.add(2)
        return found

    async def never(*_: object) -> None:
        await asyncio.sleep(3600)

    async def read() -> None:
        async with asyncio.timeout(5):
            await observer._read(cast("Cluster", Target()))

    monkeypatch.setattr(observe, "Cluster", Target)
    monkeypatch.setattr(silent, "silent_brokers", silent_brokers)
    monkeypatch.setattr(LedgerView, "catch_up", never)
    observer = Observer(link, lambda _: {}, _view=LedgerView({}))
    observer.view.roster["orders"] = RosterTopic(
        topic="orders", source_id="s", remote="copy", target_id="t", origins=[0, 0]
    )
    with pytest.raises(ClusterUnreachable) as raised:
        asyncio.run(read())
    assert str(raised.value) == link.target + named.format(source=link.source)  # others answer


@pytest.mark.proves("R14")
def test_a_target_that_falls_silent_while_it_is_read_is_asked_over_new_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A connection that was open when packets began to be lost says nothing for long, and then names one address."""
    link = PaperBackend().links()[0]
    monkeypatch.setattr(observe, "_YOUNG_S", 0.01)

    class Open:
        def __init__(self, *_: object) -> None:
            self.asked = 0

        async def refresh(self, names: list[str]) -> dict[str, TopicMetadata]:
            self.asked += 1
            if self.asked > 1:
                await asyncio.sleep(3600)
            return {name: TopicMetadata(name, "id", 0, {0: Leader(1, 0, 1)}) for name in names}

    class New(Open):
        async def refresh(self, _: list[str]) -> dict[str, TopicMetadata]:
            raise ClusterUnreachable(link.target, "a:1: no answer in time; b:1: no answer in time")

        async def close(self) -> None: ...

    async def never(*_: object) -> None:
        await asyncio.sleep(3600)

    async def read() -> None:
        async with asyncio.timeout(5):
            await Observer(link, lambda _: {})._read(cast("Cluster", Open()))

    monkeypatch.setattr(observe, "Cluster", New)
    monkeypatch.setattr(LedgerView, "catch_up", never)
    with pytest.raises(ClusterUnreachable, match="no broker answers: a:1: no answer in time; b:1"):
        asyncio.run(read())


@pytest.mark.proves("R14")
@pytest.mark.parametrize(
    ("dead", "said"),
    [
        ({2}, "{source}: broker 2 does not answer; it is the leader of 1 of 2 partitions (orders-1)"),
        (set(), PARTLY.replace("east", "{source}", 1)),  # another one leads by now
    ],
)
def test_a_dead_leader_of_the_source_is_named_by_its_id(
    dead: set[int], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = PaperBackend().links()[0]
    view = LedgerView({})
    view.roster["orders"] = RosterTopic(
        topic="orders", source_id="s", remote="east.orders", target_id="t", origins=[0, 0]
    )

    class Source:
        def __init__(self, *_: object) -> None:
            pass

        async def refresh(self, names: Iterable[str]) -> dict[str, TopicMetadata]:
            return {name: TopicMetadata(name, "id", 0, {0: Leader(1, 0, 1), 1: Leader(2, 0, 1)}) for name in names}

        async def close(self) -> None:
            pass

    async def silent_brokers(_: object, nodes: Iterable[int]) -> list[int]:
        return sorted(dead & set(nodes))

    monkeypatch.setattr(observe, "Cluster", Source)
    monkeypatch.setattr(silent, "silent_brokers", silent_brokers)
    first: int | ClusterError
    for first in (10, GONE):  # GONE: the dead one was asked who leads what
        ends: dict[TopicPartition, int | ClusterError] = {FIRST: first, SECOND: GONE}
        found = asyncio.run(Observer(link, partial(_told, ends))._ask_source(view, 0))
        partly = bool(dead) or first == 10
        assert found.source_trouble == (said.format(source=link.source) if partly else str(GONE))
        assert (found.source_partly, found.source_unreachable) == (partly, not partly)


@pytest.mark.proves("R14")
@pytest.mark.parametrize("lives", [True, False])
def test_an_engine_whose_clock_is_an_hour_behind_is_silent_only_if_its_record_does_not_change(
    lives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe, "_BEAT_S", 0.2)
    monkeypatch.setattr(observe, "_WATCH_LOOK_S", 0.05)
    hour_ago = SYSTEM_CLOCK.now_ms() - 3_600_000
    view = LedgerView({})
    view.engine = Engine(engine_id="e", generation=1, phase="running", at_ms=hour_ago)
    observer = Observer(PaperBackend().links()[0], lambda _: {})

    async def read(_: Observer, __: object) -> LedgerView:
        if lives and view.engine is not None:
            view.engine = view.engine.model_copy(update={"at_ms": hour_ago + 2_000})
        return view

    monkeypatch.setattr(Observer, "_read", read)
    age = asyncio.run(observer._feel_pulse(cast("Cluster", None), view))
    assert age is not None
    assert (age < 1) is lives
