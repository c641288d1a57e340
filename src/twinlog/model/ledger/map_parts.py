"""The sealed parts of one partition's offset map, in order: where each begins, and where its bytes are. Pure.

    first     0        900       1810       source offset at which a part begins (its key in the ledger)
    target    0        810       1629       target offset of its first record
    bytes   ─▶ [part]  ─▶ [part]  ─▶ [part]  in a `Store`: of a long history only these few numbers are in memory (R11)

Parts follow each other without a gap: the next one begins where the one before ends. An owner that died after it wrote
a part, and before it wrote the state that refers to it, leaves a part that its successor writes again, perhaps with
another end. So a part replaces every older one that begins within it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from twinlog.model.ledger.packed_runs import edges_of, unpack
from twinlog.model.ledger.records import SealedRuns
from twinlog.model.ledger.runs import RunMap


@lru_cache(maxsize=256)
def _unpacked(packed: bytes) -> RunMap:
    """Groups stand side by side: those that are asked for are asked for again. Some 70 KB each."""
    return unpack(packed)


class Store(Protocol):
    """Keeps the bytes of parts."""

    def put(self, data: bytes) -> int:
        """Keep some bytes; returns the place to find them again."""

    def get(self, place: int, size: int) -> bytes:
        """What was put there."""

    def release(self, size: int) -> None:
        """So many bytes are not wanted any more."""


@dataclass
class MemoryStore:
    """Bytes in memory: for few parts."""

    kept: list[bytes] = field(default_factory=list)

    def put(self, data: bytes) -> int:
        self.kept.append(data)
        return len(self.kept) - 1

    def get(self, place: int, size: int) -> bytes:  # noqa: ARG002  the place says all
        """What was put there."""
        return self.kept[place]

    def release(self, size: int) -> None:
        """Nothing: they go with the store."""


@dataclass(frozen=True)
class Parts:
    """Some parts of a map, as they were when somebody asked: what is added or dropped later does not change them."""

    incarnation: str
    store: Store
    firsts: array[int]
    targets: array[int]
    places: array[int]
    sizes: array[int]
    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low

    def __iter__(self) -> Iterator[RunMap]:
        return (self.load(index) for index in range(len(self)))

    def first(self, index: int) -> int:
        """The source offset at which a part begins."""
        return self.firsts[self.low + index]

    def target(self, index: int) -> int:
        """The target offset of its first record."""
        return self.targets[self.low + index]

    def data(self, index: int) -> bytes:
        at = self.low + index
        return self.store.get(self.places[at], self.sizes[at])

    def load(self, index: int) -> RunMap:
        """The part itself, for reading only."""
        return _unpacked(self.data(index))

    def before(self, first: int) -> Parts:
        """Those that begin before this source offset."""
        high = bisect_left(self.firsts, first, self.low, self.high)
        return Parts(self.incarnation, self.store, self.firsts, self.targets, self.places, self.sizes, self.low, high)

    def holding(self, offset: int, *, by_target: bool) -> int:
        """The last part that begins at or before the offset; the first one when all begin behind it."""
        begins = self.targets if by_target else self.firsts
        return max(0, bisect_right(begins, offset, self.low, self.high) - 1 - self.low)


@dataclass
class PartIndex:
    """The parts of one partition while the ledger is followed."""

    store: Store = field(default_factory=MemoryStore)
    incarnation: str = ""
    _firsts: array[int] = field(default_factory=lambda: array("q"))
    _targets: array[int] = field(default_factory=lambda: array("q"))
    _places: array[int] = field(default_factory=lambda: array("q"))
    _sizes: array[int] = field(default_factory=lambda: array("q"))
    _low: int = 0  # parts before this one are dropped

    def parts(self) -> Parts:
        """As they are now. The columns are shared: they are only ever appended to, or replaced."""
        columns = (self._firsts, self._targets, self._places, self._sizes)
        return Parts(self.incarnation, self.store, *columns, self._low, len(self._firsts))

    def frozen(self) -> PartIndex:
        """A copy that later parts do not change."""
        firsts, targets, places, sizes = (column[self._low :] for column in self._columns())
        return PartIndex(self.store, self.incarnation, firsts, targets, places, sizes)

    def __len__(self) -> int:
        return len(self._firsts) - self._low

    def add(self, part: SealedRuns) -> list[int]:
        """Add a part; returns the beginnings of those that it replaces, its own key not among them.

        A part of another incarnation replaces all: the log is read in order, so it is the newer one.
        """
        edges = edges_of(part.packed)
        if edges is None:
            return []
        begin, end = self._low, len(self._firsts)
        if part.incarnation == self.incarnation:
            begin = bisect_left(self._firsts, part.first, self._low)
            end = bisect_left(self._firsts, part.next, begin)
        self.incarnation = part.incarnation
        replaced = [first for first in self._firsts[begin:end] if first != part.first]
        row = (part.first, edges.first_target, self.store.put(part.packed), len(part.packed))
        if begin == len(self._firsts):
            for column, number in zip(self._columns(), row, strict=True):
                column.append(number)
        else:
            self._replace(begin, end, row)
        return replaced

    def drop(self, first: int) -> None:
        """Forget the part that begins there."""
        at = bisect_left(self._firsts, first, self._low)
        if at == len(self._firsts) or self._firsts[at] != first:
            return
        if at == self._low and 2 * (at + 1) < len(self._firsts):  # the oldest go one by one: only the beginning moves
            self.store.release(self._sizes[at])
            self._low += 1
        else:
            self._replace(at, at + 1)

    def move_to(self, store: Store) -> None:
        """Keep the bytes elsewhere."""
        parts = self.parts()
        self._places = array("q", (store.put(parts.data(index)) for index in range(len(parts))))
        self._firsts, self._targets, self._sizes = (
            column[self._low :] for column in (self._firsts, self._targets, self._sizes)
        )
        self.store, self._low = store, 0

    def _columns(self) -> tuple[array[int], array[int], array[int], array[int]]:
        return self._firsts, self._targets, self._places, self._sizes

    def _replace(self, begin: int, end: int, row: tuple[int, ...] | None = None) -> None:
        """Put a row, or nothing, in the place of some. Whoever holds `Parts` keeps the old columns."""
        self.store.release(sum(self._sizes[begin:end]))
        rows = [array("q", [number]) for number in row] if row else [array("q")] * 4
        self._firsts, self._targets, self._places, self._sizes = (
            column[self._low : begin] + new + column[end:] for column, new in zip(self._columns(), rows, strict=True)
        )
        self._low = 0
