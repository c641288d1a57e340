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

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from twinlog.model.ledger import Gap, PartitionState, RosterTopic, SealedRuns
from twinlog.model.names import TopicPartition
from twinlog.model.runs import RunMap
from twinlog.model.translation import Exact, Span, to_source, to_target
from twinlog.model.verification import Chunk, Lineage, stretches_between

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
    sealed: tuple[SealedRuns, ...]
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


class _Map:
    """The parts of the ledger's map, of which a question touches two."""

    def __init__(self, facts: PartitionFacts) -> None:
        state = facts.state
        parts = sorted((p for p in facts.sealed if p.incarnation == state.incarnation), key=lambda part: part.first)
        self.maps = [part.run_map() for part in parts]
        # A state that was read before the newest part was sealed still holds that part.
        if not parts or state.map_first >= parts[-1].next:
            self.maps.append(RunMap.from_json(state.runs))
        self.maps = [part for part in self.maps if len(part)]
        self._sources = [next(iter(part)).source for part in self.maps]
        self._targets = [next(iter(part)).target for part in self.maps]
        self.span = Span(state.source_first, state.target_first, state.source_next, state.target_next)

    def edge(self, source: int) -> int:
        """The target offset behind the last record copied from before `source`: what follows belongs to what follows.

        A stranger between two copied records lies before the second one, so a window that begins there sees it.
        """
        if source <= self.span.source_first:
            return self.span.target_first
        if source >= self.span.source_next:
            return self.span.target_next
        index = bisect_left(self._sources, source) - 1
        return self.span.target_first if index < 0 else _behind_last(self.maps[index], source)

    def place(self, source: int) -> int:
        """Where the first copied record at or behind `source` lies."""
        if source >= self.span.source_next:
            return self.span.target_next
        found = to_target(source, self.span, self._near(source, self._sources))
        return found.offset if isinstance(found, Exact) else self.span.target_next

    def source_of(self, target: int) -> int:
        if target >= self.span.target_next:
            return self.span.source_next
        found = to_source(target, self.span, self._near(target, self._targets))
        return found.offset if isinstance(found, Exact) else self.span.source_first

    def _near(self, offset: int, firsts: list[int]) -> list[RunMap]:
        index = max(0, bisect_right(firsts, offset) - 1)
        return self.maps[index : index + 2]

    def between(self, first: int, after: int) -> list[RunMap]:
        begin = max(0, bisect_right(self._sources, first) - 1)
        return self.maps[begin : bisect_right(self._sources, after)]


def _behind_last(part: RunMap, source: int) -> int:
    """The target offset behind the last record of a map before `source`; there must be one."""
    tail = part.tail
    if tail is not None and tail.source < source:
        return tail.target + min(tail.length, source - tail.source)
    stretch = part.stretches[bisect_left(part.stretches, source, key=lambda one: one.source) - 1]
    run = stretch.run(min(stretch.times - 1, (source - 1 - stretch.source) // stretch.source_step))
    return run.target + min(run.length, source - run.source)


def chunks_of(
    facts: PartitionFacts, first: int | None = None, after: int | None = None, *, size: int = CHUNK_BYTES
) -> tuple[list[Chunk], list[Excluded]]:
    """Cut what is copied of one partition, from `first` to before `after` if given, into chunks of about `size`."""
    state, ledger = facts.state, _Map(facts)
    begin, end = max(state.source_first, first or 0), state.source_next if after is None else after
    end = min(end, state.source_next)
    excluded = []
    if begin < facts.source_start:
        lost = min(end, facts.source_start)
        if lost > begin:
            excluded.append(Excluded(str(facts.partition), "the source has deleted them since", lost - begin))
        begin = facts.source_start
    if begin < end and ledger.place(begin) < facts.target_start:
        kept = min(end, ledger.source_of(facts.target_start))
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


def _chunk(facts: PartitionFacts, ledger: _Map, first: int, after: int, weight: int) -> Chunk:
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
        stretches=stretches_between(ledger.between(first, after), first, after),
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
