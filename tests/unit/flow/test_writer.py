"""The writer without a target: partitions that begin twice, leaders that nobody names, partitions that are stuck."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any, cast
from unittest import mock

import pytest
from tests.kit.batches import at, make_batch, payload
from tests.kit.outboxes import made_at, make_box, parcel

from twinlog.errors import AccessDenied, BrokerAway
from twinlog.flow import takeover
from twinlog.flow.budget import Budget
from twinlog.flow.lanes import Answer, Lanes
from twinlog.flow.outbox import Outbox
from twinlog.flow.ownership import Ownership
from twinlog.flow.parcel import FLUSH, Parcel
from twinlog.flow.stuck import LIMIT_S, PRESSED_S, UNANSWERED_S, Pressure, why_given_up
from twinlog.flow.takeover import Opened, fresh_state
from twinlog.flow.write import Writer
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds
from twinlog.wire.connection import Leader, TopicMetadata
from twinlog.wire.fence import Fence, Producer
from twinlog.wire.line import Backlog, Breaks

WHERE = TopicPartition("orders", 0)
ROSTER = RosterTopic(topic="orders", source_id="s", remote="orders", target_id="t", origins=[0])


@dataclass
class Target:
    """Metadata that is refused a few times; brokers that never take a connection."""

    refusals: int = 0
    elections: int = 0
    alias: str = "T"
    timeout_s: float = 1.0
    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    breaks: Breaks = field(default_factory=Breaks)

    def throttles(self, _: float) -> dict[int, int]:
        return {}

    def backlogs(self, _: float) -> dict[int, Backlog]:
        return {}

    def leader(self, topic: str, partition: int) -> Leader | None:
        found = self.topics.get(topic)
        return found.leaders.get(partition) if found else None

    async def refresh(self, names: set[str]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise AccessDenied("T", "the password is wrong")
        leaders = {} if self.elections else {0: Leader(1, 1)}
        self.elections = max(0, self.elections - 1)
        self.topics |= {name: TopicMetadata(name, "t", 0, leaders) for name in names}

    async def connection(self, node: int, lane: str) -> None:
        raise BrokerAway.at("T", f"broker {node}, {lane}", "connection refused")


@pytest.mark.proves("R1", "R9")
def test_a_login_that_is_refused_while_a_leader_is_sought_forgets_no_batch() -> None:
    answers: list[tuple[Outbox, Answer]] = []

    async def seek() -> None:
        heard = asyncio.Event()
        target = Target(refusals=2)

        def on_answer(box: Outbox, answer: Answer) -> None:
            answers.append((box, answer))
            heard.set()

        lanes = Lanes(cast("Any", target), 1 << 20, on_answer, lambda _: None, lambda error: pytest.fail(repr(error)))
        box = make_box()
        box.intake.parcels.append(parcel(made_at(0)))
        lanes.ready(box)
        async with asyncio.timeout(10):
            await heard.wait()  # a lane has it, and tells that the broker cannot be reached
        lanes.stop()
        assert target.refusals == 0

    asyncio.run(seek())
    assert answers[0][1].message is not None
    assert "broker 1" in answers[0][1].message


@pytest.mark.proves("R9")
def test_a_target_that_was_away_is_asked_often_again_while_it_elects(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def seek() -> None:
        heard = asyncio.Event()

        async def pause(seconds: float) -> None:
            pauses.append(seconds)
            await sleep(0)

        target = Target(refusals=6, elections=3)
        lanes = Lanes(
            cast("Any", target), 1 << 20, lambda *_: heard.set(), lambda _: None, lambda error: pytest.fail(repr(error))
        )
        box = make_box()
        box.intake.parcels.append(parcel(made_at(0)))
        monkeypatch.setattr(asyncio, "sleep", pause)
        lanes.ready(box)
        async with asyncio.timeout(10):
            await heard.wait()
        lanes.stop()

    asyncio.run(seek())
    away, electing = pauses[:6], pauses[6:]
    assert away == sorted(away)
    assert away[-1] > 1
    assert electing == [0.1, 0.1, 0.1]


def begin_parcel(generation: int) -> Parcel:
    note = {
        "roster": ROSTER.model_dump(exclude_none=True),
        "state": None,
        "ledger_at": 0,
        "roster_at": 0,
        "generation": generation,
        "shard": 0,
    }
    return Parcel(WHERE, 0, 0, "begin", json.dumps(note).encode())


@pytest.mark.proves("R11")
def test_a_partition_that_begins_twice_while_it_is_opened_keeps_no_bytes_of_the_first_time() -> None:
    async def begin_twice() -> None:
        may_open = asyncio.Event()
        opened: list[int] = []

        @dataclass
        class Owner:
            ownership: Ownership

            async def open(self, begins: Any) -> list[Opened]:
                await may_open.wait()
                opened.extend(begin.generation for begin in begins)
                return [Opened(begin, fresh_state(begin, 0), fenced=True) for begin in begins]

        owner = cast("Any", Owner(Ownership(Producer("id", 1, 1))))
        link = mock.Mock()
        link.writing.max_request_bytes, link.writing.merge_target_bytes = 1 << 20, 0
        link.provenance.mode = "off"
        budget = Budget(1 << 20)
        writer = Writer(
            link, ClusterIds("here", "there"), cast("Any", Target(refusals=10**6)), budget, owners={0: owner}
        )
        data = Parcel(WHERE, 0, 2, "data", payload([make_batch([at(0), at(1)])]))
        for generation in (1, 2):
            budget.take(len(data.payload))
            writer.take([begin_parcel(generation), FLUSH, data])
            await asyncio.sleep(0)
        assert budget.used == len(data.payload)
        may_open.set()
        async with asyncio.timeout(10):
            await asyncio.gather(*writer._tasks)
        assert writer.boxes[WHERE].opened.begin.generation == 2
        assert len(writer.boxes[WHERE].intake.parcels) == 1
        writer.lanes.stop()

    asyncio.run(begin_twice())


@pytest.mark.proves("R8", "R14")
def test_a_shard_that_is_not_taken_over_is_named_with_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_later_engine(*_: object) -> None:
        return

    async def wait_for_it() -> None:
        asked = asyncio.Event()

        async def no_coordinator(*_: object) -> int:
            if writer.fence.waits:
                asked.set()
            raise BrokerAway("T", "COORDINATOR_NOT_AVAILABLE")

        monkeypatch.setattr(takeover, "_see_no_later_engine", no_later_engine)
        monkeypatch.setattr(Fence, "_coordinator", no_coordinator)
        link = mock.Mock(source="S", target="T")
        link.writing.max_request_bytes = 1 << 20
        target = Target()
        writer = Writer(link, ClusterIds("here", "there"), cast("Any", target), Budget(1 << 20))
        writer.take([begin_parcel(1), FLUSH])
        async with asyncio.timeout(10):
            await asked.wait()
        assert writer.hindrances(time.monotonic()) == []  # it may take a moment
        (says,) = writer.hindrances(time.monotonic() + 4)
        assert says.startswith("T: shard 0 is not taken over yet (the coordinator of transactional id ")
        assert says.endswith(": COORDINATOR_NOT_AVAILABLE): orders-0")
        await asyncio.gather(*map(_cancelled, list(writer._tasks)))

    asyncio.run(wait_for_it())


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def stuck_box(now: float) -> Outbox:
    box = make_box()
    box.clock = lambda: now
    box.intake.parcels += [parcel(made_at(0)), parcel(made_at(1))]
    return box


@pytest.mark.proves("R8", "R9")
def test_a_partition_is_given_up_sooner_while_others_wait_and_never_while_nobody_answers() -> None:
    now = time.monotonic()
    box = stuck_box(now)
    box.hinder("it has no leader")

    def after(seconds: float, *, pressed: bool, heard: float = 0.0) -> str | None:
        return why_given_up(box, Pressure(now + seconds, now + seconds - heard, pressed, lambda _: line))

    line: str | None = None

    assert after(PRESSED_S, pressed=False) is None
    assert after(PRESSED_S, pressed=True) == "it has no leader"
    assert after(LIMIT_S, pressed=False) == "it has no leader"
    assert after(LIMIT_S, pressed=True, heard=60) is None  # the whole cluster is away
    box.hindered_since = None
    box.next_to_send()
    assert after(UNANSWERED_S, pressed=False) is None  # slow, and nobody waits for it
    assert "did not answer" in (after(UNANSWERED_S, pressed=True) or "")
    line = "the line to broker 1 is too slow"
    assert after(UNANSWERED_S, pressed=True) == line
    box.drop()
    assert after(UNANSWERED_S, pressed=True) is None
