"""The whole offset map of one partition, as the ledger holds it: sealed parts and the open one. Pure.

A map may have thousands of sealed parts; a question touches two of them, and only those are ever unpacked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

from twinlog.model.ledger import PartitionState, SealedRuns
from twinlog.model.runs import RunMap
from twinlog.model.translation import Span, Translation, to_source, to_target


class _Part(Protocol):
    @property
    def first(self) -> int: ...
    @property
    def runs(self) -> list[list[int]]: ...
    def run_map(self) -> RunMap: ...


class _OpenPart:
    """The newest part: it lies in the state and is unpacked once per state."""

    def __init__(self, state: PartitionState) -> None:
        self.first = state.map_first
        self.runs = state.runs

    @cached_property
    def _map(self) -> RunMap:
        return RunMap.from_json(self.runs)

    def run_map(self) -> RunMap:
        return self._map


class PartitionMap:
    """Translates positions of one partition in both directions."""

    def __init__(self, state: PartitionState, sealed: Iterable[SealedRuns] = ()) -> None:
        """Sealed parts of other incarnations of the topic are left out."""
        self.span = Span(state.source_first, state.target_first, state.source_next, state.target_next)
        parts: list[_Part] = [part for part in sealed if part.incarnation == state.incarnation and part.runs]
        if state.runs:
            parts.append(_OpenPart(state))
        # A part that was sealed a moment ago may still be in the state that was read before it.
        self._parts = sorted(parts, key=lambda part: part.runs[0][0])
        self._sources = [part.runs[0][0] for part in self._parts]
        self._targets = [part.runs[0][1] for part in self._parts]

    def to_target(self, position: int) -> Translation:
        """Where a reader of the source at `position` goes on in the copy."""
        return to_target(position, self.span, self._near(position, self._sources))

    def to_source(self, position: int) -> Translation:
        """Where a reader of the copy at `position` goes on in the source."""
        return to_source(position, self.span, self._near(position, self._targets))

    def _near(self, position: int, firsts: list[int]) -> list[RunMap]:
        """The part that may hold the position, and the one behind it for a position in the hole between both."""
        index = max(0, bisect_right(firsts, position) - 1)
        return [part.run_map() for part in self._parts[index : index + 2]]
