"""What was told before: read back with its incarnation, whoever wrote it, whatever else lies in the topic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from twinlog.errors import AccessDenied, ClusterError
from twinlog.model.groups.positions import GroupPartition, Told
from twinlog.model.mirrormaker.records import Checkpoint
from twinlog.model.names import TopicPartition
from twinlog.sync.checkpoints import Checkpoints
from twinlog.sync.internal_topics import InternalLog
from twinlog.wire.codec import PlainRecord

KEY = GroupPartition("g", TopicPartition("A.t", 3))


@dataclass
class Paper:
    """A log on paper: what is written to it is what is read."""

    topic: str = "A.checkpoints.internal"
    records: list[PlainRecord] = field(default_factory=list)
    refusal: ClusterError | None = None

    async def write(self, records: Sequence[PlainRecord]) -> None:
        self.records += records

    async def read_each(self, take: Callable[[list[PlainRecord]], None]) -> None:
        take(self.records[:1])
        if self.refusal is not None:
            raise self.refusal
        take(self.records[1:])


def checkpoints(paper: Paper) -> Checkpoints:
    return Checkpoints(cast("InternalLog", cast("Any", paper)))


def test_what_was_told_is_known_to_the_next_life_with_its_incarnation() -> None:
    paper = Paper()
    told = [(Checkpoint("g", "A.t", 3, up, up - 5, "m"), "i/j") for up in range(10, 5_010)]
    assert asyncio.run(checkpoints(paper).emit(told)) == 5_000
    later = checkpoints(paper)
    assert asyncio.run(later.load()) is None
    assert later.told == {KEY: Told(5_009, 5_004, "i/j")}
    assert later.loaded


def test_mirrormakers_checkpoints_count_and_other_records_are_named() -> None:
    theirs = Checkpoint("g", "A.t", 3, 100, 42)
    paper = Paper(
        records=[
            PlainRecord(0, 0, b"nonsense", b"", []),
            PlainRecord(1, 0, theirs.key(), theirs.value(), []),
            PlainRecord(2, 0, theirs.key(), None, []),
        ]
    )
    found = checkpoints(paper)
    assert asyncio.run(found.load()) == "A.checkpoints.internal: 2 records are no checkpoints; they are ignored"
    assert found.told == {KEY: Told(100, 42, None)}


def test_a_topic_that_may_not_be_read_is_said_and_asked_again() -> None:
    paper = Paper(refusal=AccessDenied("B", "Read is needed"))
    found = checkpoints(paper)
    assert "access denied: Read is needed" in str(asyncio.run(found.load()))
    assert not found.loaded
    found.told[KEY] = Told(7, 7, "i")
    paper.refusal = None
    paper.records = [PlainRecord(0, 0, (old := Checkpoint("g", "A.t", 3, 5, 5)).key(), old.value(), [])]
    assert asyncio.run(found.load()) is None
    assert found.told[KEY] == Told(7, 7, "i")
