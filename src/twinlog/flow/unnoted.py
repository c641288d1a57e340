"""What an older owner wrote behind the ledger's position: found on the target, met again on the source. Pure of I/O.

The target tells how many records there are and what they hold. It does not tell which source offsets they came from,
and either cleaner may have removed some of them before the next owner looks:

    target, behind the position    a  b  .  d  e          . : removed on the target; sequence numbers tell that it was
    source, behind the position    a     c  d     f  g    b and e: removed on the source since they were copied

So the records of the source are followed through those of the target, in order:

- A record that equals one of the target lies there. Records of the target before it have left the source: they are
  passed.
- Record k of the target came from an offset of at least `position + k`. That limits where a record can lie. A record
  can only be new at an offset of at least `position + n` when n records were found.
- A record that equals none lies where the target removed one, if it cannot be new, or if a later record of the same
  fetch proves it: the cleaner removes older records of a key first, so the one that replaced it is there. Otherwise
  it is new, and all that is left of the target has left the source.
- Where two owners died one after the other, sequence numbers do not tell how many records of the first one the target
  removed. Missing target offsets are a hint (`add_hole`): nothing is counted by them, but a record may lie there.
- A record that is none of these was never on the source when it was copied: the source changed (LEDGER_DISAGREES).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple


class Writing(NamedTuple):
    """Who wrote a record, and the sequence number of the record behind it."""

    producer_id: int
    epoch: int
    sequence: int


class Place(NamedTuple):
    """Where a record lies on the target."""

    target: int
    writing: Writing | None  # None: unknown


class End(Enum):
    """How following the source ended."""

    OPEN = auto()  # all records lie on the target; more may follow
    NEW = auto()  # the next record is new
    ODD = auto()  # the next record is neither on the target nor new


class Met(NamedTuple):
    """The records at the front that lie on the target, and what comes behind them."""

    places: list[Place]
    end: End


class _Found(NamedTuple):
    target: int
    first: Writing  # its sequence number is that of the first record


@dataclass
class _Hole:
    before: int  # which record found
    target: int
    count: int


@dataclass
class Unnoted:
    """Records of the target, in order, of which the first ones are met or passed already."""

    position: int  # source offset behind the last record that the ledger knows
    met: int = 0
    deleted: int = 0  # so many at the front were deleted by the target's retention, not by its cleaner
    _batches: list[_Found] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _contents: list[int | None] = field(default_factory=list)
    _equal: dict[int, list[int]] = field(default_factory=dict)
    _blank: list[int] = field(default_factory=list)
    _holes: list[_Hole] = field(default_factory=list)

    def __len__(self) -> int:
        """How many are still to be met."""
        return len(self._contents) - self.met

    def add(self, target: int, contents: Sequence[int | None], first: Writing) -> None:
        """Records behind those known so far; None: the target removed that one."""
        if not contents:
            return
        begin = len(self._contents)
        self._batches.append(_Found(target, first))
        self._starts.append(begin)
        self._contents += contents
        for index, content in enumerate(contents, begin):
            if content is None:
                self._blank.append(index)
            else:
                self._equal.setdefault(content, []).append(index)

    def add_hole(self, target: int, target_next: int) -> None:
        """These offsets hold nothing: records of ours may have been there."""
        if target < target_next:
            self._holes.append(_Hole(len(self._contents), target, target_next - target))

    def fill_holes(self, count: int) -> list[tuple[int, int]]:
        """Take so many offsets out of the holes behind the last record found, the last ones first: records lay there.

        Returns where they lay, in order, as target offset and count; fewer than asked for where the holes are smaller.
        Batches of others may lie between them.
        """
        filled: list[tuple[int, int]] = []
        while count and self._holes and self._holes[-1].before == len(self._contents):
            hole = self._holes[-1]
            taken = min(count, hole.count)
            count, hole.count = count - taken, hole.count - taken
            filled.insert(0, (hole.target + hole.count, taken))
            if not hole.count:
                self._holes.pop()
        return filled

    def clear(self) -> None:
        """Nothing is left to be met."""
        self.met = len(self._contents)

    @property
    def least_next(self) -> int:
        """A source offset before which everything was copied: record k came from `position + k` or behind it."""
        return self.position + len(self._contents)

    @property
    def target_next(self) -> int:
        """The target offset behind all of them; -1 without any."""
        return self._place(len(self._contents) - 1).target + 1 if self._contents else -1

    @property
    def behind(self) -> Writing | None:
        """Who wrote the last record found, and the sequence number behind it; None without any."""
        return self._place(len(self._contents) - 1).writing if self._contents else None

    def meet(self, records: Sequence[tuple[int, int]]) -> Met:
        """Follow some records of the source, given as offset and content."""
        places: list[Place] = []
        proof = self._last_proof(records)
        for index, (offset, content) in enumerate(records):
            if not len(self):
                return Met(places, End.NEW)
            place = self._find(content, offset, proof[1] if index < proof[0] else -1)
            if place is not None:
                places.append(place)
            elif self._may_be_new(offset):
                self.clear()
                return Met(places, End.NEW)
            else:
                return Met(places, End.ODD)
        return Met(places, End.OPEN)

    def _may_be_new(self, offset: int) -> bool:
        return offset - self.position >= len(self._contents)

    def _last_proof(self, records: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The last of these records that equals one of the target: everything before it was copied."""
        for index in range(len(records) - 1, -1, -1):
            places = self._equal.get(records[index][1])
            if places is not None and places[-1] >= self.met:
                return index, places[-1]
        return -1, -1

    def _find(self, content: int, offset: int, proof: int) -> Place | None:
        """Where a record lies. `proof` is a later record of the target that was met, -1 without one."""
        furthest = offset - self.position
        equal = _first_from(self._equal.get(content, []), self.met)
        if equal is not None and equal <= furthest:
            return self._take(equal)
        is_old = proof >= 0 or not self._may_be_new(offset)
        blank = _first_from(self._blank, self.met)
        if blank is not None and blank > furthest:
            blank = None
        if is_old and (hole := self._hole(proof if blank is None else blank)) is not None:
            self.met, hole.target, hole.count = hole.before, hole.target + 1, hole.count - 1
            return Place(hole.target - 1, None)
        if blank is not None and (blank < max(self.deleted, proof) or not self._may_be_new(offset)):
            return self._take(blank)
        return None

    def _hole(self, furthest: int) -> _Hole | None:
        """The first hole behind what is met and before a record."""
        last = furthest if furthest >= 0 else len(self._contents)
        return next((hole for hole in self._holes if hole.count and self.met <= hole.before <= last), None)

    def _take(self, index: int) -> Place:
        self.met = index + 1
        return self._place(index)

    def _place(self, index: int) -> Place:
        at = bisect_right(self._starts, index) - 1
        batch, behind = self._batches[at], index - self._starts[at]
        sequence = (batch.first.sequence + behind + 1) & 0x7FFFFFFF
        return Place(batch.target + behind, batch.first._replace(sequence=sequence))


def _first_from(indexes: Sequence[int], least: int) -> int | None:
    at = bisect_left(indexes, least)
    return indexes[at] if at < len(indexes) else None
