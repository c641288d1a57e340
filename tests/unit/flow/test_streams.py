"""How partitions of a far leader are dealt to connections, and how much each of them asks for."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from twinlog.config.link_values import FetchSettings
from twinlog.flow.first_lane import SMALL_BYTES, FirstLane
from twinlog.flow.streams import MOST_STREAMS, Streams
from twinlog.model.ledger.records import FIRST_LANE, Memo
from twinlog.model.names import TopicPartition
from twinlog.model.pace import Limits
from twinlog.model.selection import Patterns
from twinlog.wire.fetch import FetchedPartition, FetchPosition, FetchSession

MEGABYTE = 1 << 20
LIMIT = 16 * MEGABYTE


@dataclass
class Source:
    """A broker so far away; each partition has as much as anybody asks for, unless it is idle."""

    round_trip_s: float
    idle: set[TopicPartition] = field(default_factory=set)
    asked: list[int] = field(default_factory=list)
    purposes: Counter[str] = field(default_factory=Counter)
    timeout_s: float = 5.0

    async def connection(self, node: int, purpose: str) -> str:
        self.purposes[f"{node}/{purpose}"] += 1
        return purpose


async def read(source: Source, partitions: int, answers: int, monkeypatch: pytest.MonkeyPatch) -> Streams:
    """Fetch some partitions until so many answers came."""
    enough = asyncio.Event()
    taken = 0

    async def poll(self: FetchSession, connection: object, timeout_s: float) -> list[FetchedPartition]:
        del connection, timeout_s
        await asyncio.sleep(source.round_trip_s)
        left, parts = self.max_bytes, []
        for where, position in self.positions.items():
            size = 0 if where in source.idle else min(left, position.max_bytes)
            left -= size
            parts.append(FetchedPartition(where, 0, 0, 0, 0, [], None, memoryview(bytes(size))))
        source.asked.append(self.max_bytes)
        return parts

    async def deliver(fetched: list[FetchedPartition], session: FetchSession) -> None:
        nonlocal taken
        del fetched, session
        taken += 1
        if taken >= answers:
            enough.set()

    async def nothing() -> None:
        return

    monkeypatch.setattr(FetchSession, "poll", poll)
    streams = Streams(
        cast("Any", source),
        "A->B",
        FetchSettings(),
        LIMIT,
        room=nothing,
        deliver=deliver,
        replace=nothing,
        on_failure=lambda error: pytest.fail(repr(error)),
    )
    for number in range(partitions):
        streams.place(TopicPartition("orders", number), FetchPosition("id", 0), 1)
    streams.wake()
    async with asyncio.timeout(20):
        await enough.wait()
    return streams


@pytest.mark.proves("R11")
def test_a_long_line_is_asked_by_several_connections_for_more_and_never_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Source(0.05)

    async def story() -> None:
        streams = await read(source, 6, 60, monkeypatch)
        (leader,) = streams.leaders.values()
        assert [len(stream.session.positions) for stream in leader.streams] == [2, 2, 1, 1]
        assert len(source.purposes) == MOST_STREAMS
        asked = sum(stream.session.max_bytes for stream in leader.streams)
        assert 8 * MEGABYTE < asked <= LIMIT
        assert max(position.max_bytes for s in leader.streams for position in s.session.positions.values()) > MEGABYTE
        await streams.stop()

    asyncio.run(story())


def test_a_short_line_has_one_connection_and_asks_for_what_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(0.0005)

    async def story() -> None:
        streams = await read(source, 6, 40, monkeypatch)
        (leader,) = streams.leaders.values()
        assert [len(stream.session.positions) for stream in leader.streams] == [6]
        assert set(source.asked) == {FetchSettings().max_bytes}
        await streams.stop()

    asyncio.run(story())


def test_partitions_without_records_take_no_share_from_a_busy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = {TopicPartition("orders", number) for number in range(1, 8)}
    source = Source(0.05, idle=quiet)

    async def story() -> None:
        streams = await read(source, 8, 60, monkeypatch)
        sizes = {
            p: at.max_bytes
            for s in next(iter(streams.leaders.values())).streams
            for p, at in s.session.positions.items()
        }
        assert sizes.pop(TopicPartition("orders", 0)) >= MEGABYTE
        assert set(sizes.values()) == {MEGABYTE}
        await streams.stop()

    asyncio.run(story())


def test_a_line_that_proves_to_be_short_is_narrowed_to_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(0.05)

    async def story() -> None:
        streams = await read(source, 4, 4, monkeypatch)
        assert set(streams.placed()) == {TopicPartition("orders", number) for number in range(4)}
        source.round_trip_s = 0.001
        streams.narrow()
        left = set(streams.placed())
        assert left == {TopicPartition("orders", 0)}
        for number in range(1, 4):
            streams.place(TopicPartition("orders", number), FetchPosition("id", 0), 1)
        (leader,) = streams.leaders.values()
        assert [len(stream.session.positions) for stream in leader.streams] == [4, 0, 0, 0]
        streams.remove(TopicPartition("orders", 2))
        assert len(set(streams.placed())) == 3
        await streams.stop()

    asyncio.run(story())


def test_topics_that_come_first_have_a_connection_of_their_own_and_the_others_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: Counter[str] = Counter()
    source, left = Source(0.0005), 30
    first = FirstLane(Patterns(("pay.*",)))
    ahead, done = asyncio.Event(), asyncio.Event()

    async def poll(self: FetchSession, connection: object, timeout_s: float) -> list[FetchedPartition]:
        nonlocal left
        del connection, timeout_s
        await asyncio.sleep(0.002)
        parts = []
        for where, position in self.positions.items():
            asked[where.topic] += min(self.max_bytes, MEGABYTE)
            left -= where.topic == "payments"
            if left <= 0:
                ahead.set()
            position.offset += 10
            end = position.offset + (left > 0) if where.topic == "payments" else position.offset + 1000
            parts.append(FetchedPartition(where, 0, end, end, 0, [], None, memoryview(b"x" * 100)))
        return parts

    async def deliver(fetched: list[FetchedPartition], session: FetchSession) -> None:
        del session
        if left <= 0 and fetched[0].partition.topic == "logs":
            done.set()

    async def story() -> None:
        monkeypatch.setattr(FetchSession, "poll", poll)
        streams = Streams(
            cast("Any", source), "A->B", FetchSettings(), LIMIT, room=_nothing, deliver=deliver, replace=_nothing,
            on_failure=lambda error: pytest.fail(repr(error)), first=first,
        )  # fmt: skip
        for topic in ("logs", "payments"):
            streams.place(TopicPartition(topic, 0), FetchPosition("id", 0), 1)
        (leader,) = streams.leaders.values()
        assert [[*stream.session.positions] for stream in leader.lane(True)] == [[TopicPartition("payments", 0)]]
        streams.wake()
        async with asyncio.timeout(20):
            await ahead.wait()
            assert asked["logs"] <= SMALL_BYTES, "the others took the line while payments was behind"
            await done.wait()
        assert not first.busy
        assert asked["logs"] > SMALL_BYTES
        await streams.stop()

    asyncio.run(story())


async def _nothing() -> None:
    return


def test_a_task_waits_for_topics_of_another_task_that_come_first_but_not_for_an_older_epoch() -> None:
    lane = FirstLane(Patterns(("pay.*",)), task=1, epoch=(7, 3), share=0.5)
    behind = {"behind": True, "epoch": [7, 3], "share": 0.5}
    lane._began_s -= 10
    lane.hear(Memo(chore=FIRST_LANE, name="task-0", body=behind | {"epoch": [7, 2]}))
    lane.hear(Memo(chore=FIRST_LANE, name="task-1", body=behind))
    assert not lane.busy, "an older epoch, and its own word"
    lane.hear(Memo(chore=FIRST_LANE, name="task-0", body=behind))
    assert lane.busy
    lane.hear(Memo(chore=FIRST_LANE, name="task-0", body=behind | {"behind": False}))
    assert not lane.busy


def test_a_task_waits_at_first_for_tasks_that_have_not_told_yet_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lane = FirstLane(Patterns(("pay.*",)), task=1, epoch=(7, 3), share=0.5)
    assert lane.busy, "task-0 may be behind"
    lane.hear(Memo(chore=FIRST_LANE, name="task-0", body={"behind": False, "epoch": [7, 3], "share": 0.5}))
    assert not lane.busy
    assert not FirstLane(share=0.5).busy, "no topic comes first"
    lane = FirstLane(Patterns(("pay.*",)), task=1, epoch=(7, 3), share=0.5)
    monkeypatch.setattr("twinlog.flow.first_lane.time.monotonic", lambda: lane._began_s + 4)
    assert not lane.busy


def test_a_limit_belongs_to_the_tasks_with_topics_that_come_first_and_a_tenth_to_the_others() -> None:
    link, told = Limits(1000, 100), {"behind": True, "epoch": [7, 3], "share": 0.25}
    lane = FirstLane(Patterns(("pay.*",)), task=1, epoch=(7, 3), share=0.5)
    assert lane.limit(link, 0) == Limits(500, 50)
    lane.behind.add(TopicPartition("payments", 0))
    assert lane.limit(link, 1) == Limits(900, 90)
    lane.hear(Memo(chore=FIRST_LANE, name="task-0", body=told))
    assert lane.limit(link, 2) == Limits(600, 60)
    lane.behind.clear()
    assert lane.limit(link, 3) == Limits(500, 50), "it takes small portions of it only"
    assert lane.others.per_second == 50


def test_a_portion_that_was_larger_than_a_tenth_of_the_limit_is_waited_for() -> None:
    lane = FirstLane(Patterns(("pay.*",)), behind={TopicPartition("payments", 0)})

    async def story() -> float:
        lane.limit(Limits(100_000), time.monotonic())
        lane.others.spend(15_000, time.monotonic())  # a batch is never cut: a second and a half of a tenth
        began = time.monotonic()
        assert await lane.turn() == 10_000
        return time.monotonic() - began

    assert asyncio.run(story()) > 1.3


def test_a_partition_that_lost_its_leader_holds_nobody_up() -> None:
    lane = FirstLane(Patterns(("pay.*",)))
    lane.took(TopicPartition("pay", 0), 5, 9)
    assert lane.busy
    lane.forget(TopicPartition("pay", 0))
    assert not lane.busy
