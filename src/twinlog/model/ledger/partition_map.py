"""The whole offset map of one partition, as the ledger holds it: sealed parts and the open one. Pure.

    sealed parts (model.map_parts)                    the open part, in the state
    ├──────────┼──────────┼──────────┤map_first ├───────────────┤source_next

A map may have thousands of sealed parts. A question touches one or two of them, and only those are unpacked. The state
decides: a part that begins at or behind its `map_first` was sealed by somebody who did not come to note it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from twinlog.model.ledger.map_parts import Parts
from twinlog.model.ledger.packed_runs import edges_of, unpack
from twinlog.model.ledger.records import PartitionState
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.ledger.translation import Span, Translation, to_source, to_target


class PartitionMap:
    """Translates positions of one partition in both directions."""

    def __init__(self, state: PartitionState, sealed: Parts | None = None) -> None:
        """Sealed parts of other incarnations of the topic are left out."""
        self.span = Span(state.source_first, state.target_first, state.source_next, state.target_next)
        same = sealed is not None and sealed.incarnation == state.incarnation
        self._sealed = sealed.before(state.map_first) if sealed is not None and same else None
        self._packed = state.open_map
        self._edges = edges_of(state.open_map)

    @cached_property
    def _open(self) -> RunMap:
        return unpack(self._packed)

    def to_target(self, position: int) -> Translation:
        """Where a reader of the source at `position` continues in the copy."""
        return to_target(position, self.span, self.parts_from(position))

    def to_source(self, position: int) -> Translation:
        """Where a reader of the copy at `position` continues in the source."""
        return to_source(position, self.span, self.parts_from(position, by_target=True))

    def parts_from(self, offset: int = -1, *, by_target: bool = False) -> Iterator[RunMap]:
        """The parts in order, from the one that may hold the offset on; each is unpacked when it is asked for."""
        sealed, edges = self._sealed, self._edges
        in_open = edges is not None and offset >= (edges.first_target if by_target else edges.first_source)
        if sealed and not in_open:
            for index in range(sealed.holding(offset, by_target=by_target), len(sealed)):
                yield sealed.load(index)
        if edges is not None:
            yield self._open

    def run_at_target(self, offset: int) -> Run | None:
        """The first run that holds this offset of the target or lies behind it."""
        parts = self.parts_from(offset, by_target=True)
        return next((run for part in parts if (run := part.first_at_or_behind(offset, by_target=True))), None)

    def runs(self) -> Iterator[Run]:
        """Every run of the map, in order."""
        return (run for part in self.parts_from() for run in part)

    def edge(self, source: int) -> int:
        """The target offset behind the last record copied from before `source`: what follows belongs to what follows.

        A stranger between two copied records lies before the second one, so a window that begins there sees it.
        """
        if source <= self.span.source_first:
            return self.span.target_first
        if source >= self.span.source_next:
            return self.span.target_next
        if self._edges is not None and self._edges.first_source < source:
            return _behind_last(self._open, source)
        part = None
        if self._sealed:
            part = self._sealed.load(self._sealed.holding(source - 1, by_target=False))
        first = next(iter(part), None) if part is not None else None
        if part is None or first is None or first.source >= source:
            return self.span.target_first
        return _behind_last(part, source)


def _behind_last(part: RunMap, source: int) -> int:
    """The target offset behind the last record of a map before `source`; there must be one."""
    tail = part.tail
    if tail is not None and tail.source < source:
        return tail.target + min(tail.length, source - tail.source)
    stretch = part.stretches[bisect_left(part.stretches, source, key=lambda stretch: stretch.source) - 1]
    run = stretch.run(min(stretch.times - 1, (source - 1 - stretch.source) // stretch.source_step))
    return run.target + min(run.length, source - run.source)
