"""What holds records up: told by tasks, shown while it is renewed, over when it is not."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.kit.paper_backend import PaperBackend

from twinlog.flow import hindrances
from twinlog.flow.hindrances import HindranceTeller, breaking, late_writes, slow_line, throttled
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import HINDRANCES, Entry, Memo
from twinlog.model.names import TopicPartition
from twinlog.sync.hindrances import Hindrances
from twinlog.wire.connection import Cluster
from twinlog.wire.line import Backlog, Breaks

LINK = PaperBackend().links()[0]
QUOTA = "west: broker 1 throttles this link by a quota: it answers nothing for 8.2 s"


def heard(view: LedgerView, says: list[str], renewed: int, name: str = "write-0") -> None:
    body = {"says": says, "renewed": renewed}
    view.memos.setdefault(HINDRANCES, {})[name] = Memo(chore=HINDRANCES, name=name, body=body)


@pytest.mark.proves("R14")
def test_a_hindrance_is_shown_while_it_is_renewed() -> None:
    job, view = Hindrances(), LedgerView({})
    assert job.current(view, 0.0) == []
    heard(view, [QUOTA], 1)
    assert job.current(view, 1.0) == [QUOTA]
    assert job.current(view, 6.9) == [QUOTA]
    assert job.current(view, 7.1) == []  # nobody renewed it
    heard(view, [QUOTA], 2)
    assert job.current(view, 8.0) == [QUOTA]
    heard(view, [], 3)
    assert job.current(view, 8.5) == []  # taken back


def test_what_an_engine_left_that_is_long_dead_is_not_shown() -> None:
    job, view = Hindrances(), LedgerView({})
    heard(view, [QUOTA], 1)
    assert job.current(view, 0.0) == []
    heard(view, [QUOTA], 2)
    assert job.current(view, 1.0) == [QUOTA]


def test_the_same_from_two_tasks_is_said_once() -> None:
    job, view = Hindrances(), LedgerView({})
    job.current(view, 0.0)
    heard(view, [QUOTA], 1, "write-0")
    heard(view, [QUOTA, "other"], 1, "write-1")
    assert job.current(view, 1.0) == [QUOTA, "other"]
    assert asyncio.run(job.step(view)).alarm is None  # by the real clock both are old


def test_a_task_tells_at_once_renews_and_takes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[list[str]] = []

    class Pen:
        async def write(self, entries: list[Entry]) -> None:
            written.append([*cast("Memo", entries[0]).body["says"]])

    monkeypatch.setattr(hindrances, "roster_writer", lambda *_: Pen())

    async def main() -> None:
        teller = HindranceTeller(LINK, "write-0")
        for now, says in ((0.0, []), (1.0, [QUOTA]), (2.0, [QUOTA]), (3.1, [QUOTA]), (4.0, []), (5.0, [])):
            teller.tell(says, now)
            await asyncio.sleep(0.01)

    asyncio.run(main())
    assert written == [[QUOTA], [QUOTA], []]


def cluster(**facts: Any) -> Cluster:
    leads = SimpleNamespace(node=2)
    known = {"alias": "west", "throttles": lambda _: {}, "backlogs": lambda _: {}, "leader": lambda *_: leads}
    return cast("Cluster", SimpleNamespace(**(known | facts)))


def box(number: int, **facts: Any) -> Any:
    known = {"stopped": False, "idle": False, "hindered_since": None, "hindrance": "", "awaited_since": None}
    return SimpleNamespace(remote=TopicPartition("east.orders", number), **(known | facts))


@pytest.mark.proves("R14")
def test_partitions_that_wait_are_named_by_their_cause() -> None:
    boxes = [
        box(0, awaited_since=10.0),
        box(1, awaited_since=10.0),
        box(2, hindered_since=10.0, hindrance="NOT_ENOUGH_REPLICAS (19)"),
        box(3, awaited_since=12.5),  # not late yet
        box(4, awaited_since=10.0, stopped=True),
        box(5, awaited_since=10.0, idle=True),
    ]
    notes = cast("Any", SimpleNamespace(under_way={}, owners={}))
    assert late_writes(boxes, notes, cluster(), 14.0) == [
        "west: broker 2 does not answer as leader: east.orders-0, east.orders-1",
        "west: NOT_ENOUGH_REPLICAS (19): east.orders-2",
    ]
    assert late_writes(boxes, notes, cluster(), 12.0) == []


@pytest.mark.proves("R14")
def test_a_line_that_is_too_slow_is_named_instead_of_its_broker() -> None:
    notes = cast("Any", SimpleNamespace(under_way={}, owners={}))
    narrow = cluster(backlogs=lambda _: {2: Backlog(41_234.5, 2_300_000)})
    assert late_writes([box(0, awaited_since=10.0)], notes, narrow, 14.0) == [
        "west: the line to broker 2 is too slow: it carries 41.2 kB/s, and 2,300 kB wait to be sent: east.orders-0",
    ]
    assert slow_line(narrow, TopicPartition("east.orders", 0)) is not None
    assert slow_line(cluster(), TopicPartition("east.orders", 0)) is None
    dead = cluster(backlogs=lambda _: {2: Backlog(0.0, 2_300_000)})
    assert late_writes([box(0, awaited_since=10.0)], notes, dead, 14.0) == [
        "west: broker 2 does not answer as leader; it receives nothing, 2,300 kB wait to be sent: east.orders-0",
    ]


@pytest.mark.proves("R14")
def test_connections_that_break_again_and_again_are_named() -> None:
    breaks = Breaks()
    for at in (1.0, 2.0, 3.0):
        breaks.note(at, "b1:9092", "connection reset by peer", opened_at=at - 0.5)
    assert breaking(cluster(breaks=breaks), 4.0) == [
        "west: connections broke 3 times in the last 10 s (connection reset by peer): b1:9092"
    ]
    assert breaking(cluster(breaks=breaks), 14.0) == []


def test_a_quota_is_told_by_its_broker() -> None:
    held = cast("Cluster", SimpleNamespace(alias="west", throttles=lambda _: {1: 8_200}))
    assert throttled(held, time.monotonic()) == [QUOTA]
