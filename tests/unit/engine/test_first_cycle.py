"""Which roster cycle applies `start.from`: the first one of a link, and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from twinlog.config.resolve import resolve
from twinlog.engine.roster_cycle import RosterCycle
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import Entry, PartitionState, RosterTopic, key_of
from twinlog.model.ledger.roster import Origins, may_create
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import MirroredTopic, Roster

FILE = "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"
(LINK,) = resolve(FILE.encode(), "test.properties", (), {}).links
ORDERS = MirroredTopic("orders", "source-1", 1, "A.orders", "target-1", 1, "CreateTime", 2_000)


class Ledger:
    """A ledger that only keeps what it is told."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}

    async def write(self, entries: list[Entry], tombstones: list[bytes] = []) -> int:  # noqa: B006  never changed
        self.kept |= {key_of(entry): entry.value() for entry in entries}
        for key in tombstones:
            self.kept.pop(key, None)
        return 0

    def view(self) -> LedgerView:
        """What an engine reads that starts now."""
        view = LedgerView({0: 0})
        for offset, (key, value) in enumerate(self.kept.items()):
            view._apply(offset, key, value)
        return view


class Topics:
    """The topics of the source, and what was asked about their beginnings."""

    def __init__(self) -> None:
        self.there: dict[str, MirroredTopic] = {}
        self.asked: list[bool] = []

    def observe(self, known: Mapping[str, RosterTopic]) -> Roster:
        """What is there; a copy that may be created is."""
        for topic in [t for t in self.there.values() if t.remote_topic_id is None]:
            if may_create(known, topic.name, topic.topic_id):
                self.there[topic.name] = replace(topic, remote_topic_id="target-2", remote_partitions=1)
        return Roster(self.there)

    def origins(self, partitions: list[TopicPartition], *, first_time: bool) -> Origins:
        self.asked.append(first_time)
        return Origins(dict.fromkeys(partitions, 0))

    def selected(self, _topic: str) -> bool:
        return True


def cycle(ledger: Ledger, topics: Topics) -> None:
    """The first cycle of an engine that starts now."""
    roster = RosterCycle(LINK, cast("Any", topics), 2)
    asyncio.run(roster.refresh(cast("Any", ledger), ledger.view()))


@pytest.mark.proves("R1")
def test_a_topic_made_while_a_link_without_topics_was_down_is_copied_from_its_first_record(
    tmp_path: Path,
) -> None:
    ledger, topics = Ledger(), Topics()
    cycle(ledger, topics)
    topics.there = {ORDERS.name: ORDERS}
    cycle(ledger, topics)
    assert topics.asked == [False]


def test_topics_of_a_new_link_begin_where_the_setting_says(
    tmp_path: Path,
) -> None:
    ledger, topics = Ledger(), Topics()
    topics.there = {ORDERS.name: ORDERS}
    cycle(ledger, topics)
    assert topics.asked == [True]


def noted(records: int, before: int = 0, markers: int = 0) -> PartitionState:
    """What the ledger says of the only partition: a copy that was taken away when so many records of ours were in it.

    `before` are offsets that somebody else wrote before the link began, `markers` those that take-overs wrote.
    """
    return PartitionState(
        topic=ORDERS.name,
        partition=0,
        incarnation="source-1/target-1",
        phase="copying" if records else "faulted",
        source_first=0,
        target_first=before,
        source_next=records,
        target_next=before + records + markers,
        producer_id=7 if records else -1,
        records=records,
    )


@pytest.mark.parametrize(
    "states",
    [[], [noted(0)], [noted(0, before=51)], [noted(0, markers=1)]],
    ids=["never opened", "opened too late", "opened behind records of others", "taken over"],
)
@pytest.mark.proves("R7", "R9")
def test_a_copy_that_went_away_before_it_got_a_record_begins_anew(states: list[Entry]) -> None:
    """One that is being deleted can still be seen for a moment, and looks empty."""
    ledger, topics = Ledger(), Topics()
    topics.there = {ORDERS.name: ORDERS}
    cycle(ledger, topics)
    asyncio.run(ledger.write(states))
    topics.there = {ORDERS.name: replace(ORDERS, remote_topic_id=None, remote_partitions=0)}
    cycle(ledger, topics)
    entry = ledger.view().roster[ORDERS.name]
    assert (entry.target_id, entry.origins, entry.problem) == ("target-2", [0], None)
    assert topics.asked == [True, False]


@pytest.mark.parametrize("before", [0, 51])
@pytest.mark.proves("R7")
def test_a_copy_that_went_away_with_records_is_not_made_again(before: int) -> None:
    ledger, topics = Ledger(), Topics()
    topics.there = {ORDERS.name: ORDERS}
    cycle(ledger, topics)
    asyncio.run(ledger.write([noted(5, before)]))
    topics.there = {ORDERS.name: replace(ORDERS, remote_topic_id=None, remote_partitions=0)}
    cycle(ledger, topics)
    entry = ledger.view().roster[ORDERS.name]
    assert entry.problem is not None
    assert (entry.target_id, entry.problem.code) == ("target-1", "TARGET_TOPIC_MISSING")


def test_an_empty_copy_that_is_still_there_is_not_begun_again() -> None:
    ledger, topics = Ledger(), Topics()
    topics.there = {ORDERS.name: ORDERS}
    cycle(ledger, topics)
    before = dict(ledger.kept)
    cycle(ledger, topics)
    assert ledger.kept == before
    assert topics.asked == [True]
