"""What a verification compares: from the ledger and both logs' edges to chunks. Pure.

    ledger      source_first ───────────────────────────────── source_next
    source log           start ──────────────────────────────────────── end
    target log                      start (translated back) ─────────── end
    compared                        ├── chunk ──┼── chunk ──┼── chunk ─┤
    not         │ deleted  │ deleted│
    comparable  │on source │on targ.│

What lies outside of the compared range is told with its reason and size, never left out silently (R7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final

from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import Gap, PartitionState, RosterTopic
from twinlog.model.ledger.runs import RunMap
from twinlog.model.ledger.translation import Exact
from twinlog.model.names import TopicPartition
from twinlog.model.verify.verification import Chunk, Lineage, stretches_between

CHUNK_BYTES: Final = 64 << 20
SAMPLE_BYTES: Final = 1 << 20
"""A sample is many small pieces: they meet more of the log's variety than few large ones."""
LEAST_TASKS_PER_SLOT: Final = 8


@dataclass(frozen=True)
class Excluded:
    """Something of the link that cannot be compared, and why. `offsets` is how many source offsets, if known."""

    thing: str
    reason: str
    offsets: int | None = None


@dataclass(frozen=True)
class PartitionFacts:
    """One partition as the ledger and both clusters show it."""

    roster: RosterTopic
    state: PartitionState
    map: PartitionMap
    gaps: tuple[Gap, ...]
    source_start: int
    target_start: int
    source_compacted: bool
    target_compacted: bool
    lineage: Lineage = field(default_factory=Lineage)

    @property
    def partition(self) -> TopicPartition:
        """In the source's name."""
        return TopicPartition(self.state.topic, self.state.partition)


def _place(known: PartitionMap, source: int) -> int:
    """Where the first copied record at or behind `source` lies."""
    translation = known.to_target(source)
    return translation.offset if isinstance(translation, Exact) else known.span.target_next


def _source_of(known: PartitionMap, target: int) -> int:
    translation = known.to_source(target)
    if isinstance(translation, Exact):
        return translation.offset
    return known.span.source_next if target > known.span.target_next else known.span.source_first


def _between(known: PartitionMap, first: int, after: int) -> Iterator[RunMap]:
    return takewhile(lambda part: next(iter(part)).source < after, known.parts_from(first))


def chunks_of(
    facts: PartitionFacts, first: int | None = None, after: int | None = None, *, size: int = CHUNK_BYTES
) -> tuple[list[Chunk], list[Excluded]]:
    """Cut what is copied of one partition, from `first` to before `after` if given, into chunks of about `size`."""
    state, ledger = facts.state, facts.map
    begin, end = max(state.source_first, first or 0), state.source_next if after is None else after
    end = min(end, state.source_next)
    excluded = []
    if begin < facts.source_start:
        lost = min(end, facts.source_start)
        if lost > begin:
            excluded.append(Excluded(str(facts.partition), "the source has deleted them since", lost - begin))
        begin = facts.source_start
    if begin < end and _place(ledger, begin) < facts.target_start:
        kept = min(end, _source_of(ledger, facts.target_start))
        if kept > begin:
            excluded.append(Excluded(str(facts.partition), "the target has deleted them since", kept - begin))
        begin = max(begin, kept)
    if begin >= end:
        return [], excluded
    span = max(1, state.source_next - state.source_first)
    weight = max(1, state.bytes * (end - begin) // span)
    pieces = min(end - begin, -(-weight // size))
    step = -(-(end - begin) // pieces)
    chunks = [
        _chunk(facts, ledger, at, min(end, at + step), weight * min(step, end - at) // (end - begin))
        for at in range(begin, end, step)
    ]
    # Nothing is asked about a place that the target has deleted: what began there is not comparable.
    head = chunks[0]
    chunks[0] = replace(head, target_first=max(head.target_first, min(facts.target_start, head.target_next)))
    return chunks, excluded


def _chunk(facts: PartitionFacts, ledger: PartitionMap, first: int, after: int, weight: int) -> Chunk:
    roster, state = facts.roster, facts.state
    return Chunk(
        partition=facts.partition,
        remote=TopicPartition(roster.remote, state.partition),
        source_id=roster.source_id,
        target_id=roster.target_id,
        source_first=first,
        source_next=after,
        target_first=ledger.edge(first),
        target_next=ledger.edge(after),
        stretches=stretches_between(_between(ledger, first, after), first, after),
        gaps=tuple((gap.first, gap.next) for gap in facts.gaps if gap.first < after and gap.next > first),
        lineage=facts.lineage,
        source_compacted=facts.source_compacted,
        target_compacted=facts.target_compacted,
        bytes=weight,
    )


def sampled(chunks: Sequence[Chunk], share: float, phase: float) -> list[Chunk]:
    """Every n-th chunk so that about `share` of them remain, at least one; `phase` (0..1) says where to begin."""
    if not chunks or share >= 1:
        return list(chunks)
    count = max(1, round(len(chunks) * share))
    step = len(chunks) / count
    return [chunks[min(len(chunks) - 1, int((index + phase) * step))] for index in range(count)]


def bundles(chunks: Iterable[Chunk], slots: int) -> list[tuple[Chunk, ...]]:
    """Chunks dealt to tasks of about equal bytes: large enough to be worth a task, many enough to show progress."""
    waiting = list(chunks)
    total = sum(chunk.bytes for chunk in waiting)
    size = max(1 << 20, min(2 * CHUNK_BYTES, total // (slots * LEAST_TASKS_PER_SLOT) or 1))
    dealt: list[tuple[Chunk, ...]] = []
    hand: list[Chunk] = []
    held = 0
    for chunk in waiting:
        if hand and held + chunk.bytes > size:
            dealt.append(tuple(hand))
            hand, held = [], 0
        hand.append(chunk)
        held += chunk.bytes
    return [*dealt, tuple(hand)] if hand else dealt
