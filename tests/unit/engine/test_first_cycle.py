"""Which roster cycle applies `start.from`: the first one of a link, and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from twinlog.config.resolve import resolve
from twinlog.engine.roster_cycle import RosterCycle
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import Entry, RosterTopic, key_of
from twinlog.model.ledger.roster import Origins
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

    def observe(self, _known: Mapping[str, RosterTopic]) -> Roster:
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
