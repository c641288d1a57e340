"""The exact offset map: runs of records that lie side by side on both clusters. Pure.

    source   100 101 102 103  ·   ·  106 107        · = never copied: aborted, compacted away, a marker
    target    40  41  42  43     44   45
             └──── run ─────┘  hole └─ run ┘        Run(100, 40, 4), Run(106, 44, 2)

While records come without holes the last run only grows. Regular holes (one marker behind each transaction) are folded:
a `Stretch` says "`times` runs of `length`, each `source_step` / `target_step` behind the one before", so a million
one-record transactions are one stretch and not a million runs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Run(NamedTuple):
    """`length` records: source offset source+i is target offset target+i."""

    source: int
    target: int
    length: int

    @property
    def source_end(self) -> int:
        """The first source offset behind the run."""
        return self.source + self.length

    @property
    def target_end(self) -> int:
        """The first target offset behind the run."""
        return self.target + self.length


class Stretch(NamedTuple):
    """`times` runs of equal length at equal distances."""

    source: int
    target: int
    length: int
    source_step: int
    target_step: int
    times: int

    def run(self, index: int) -> Run:
        """The index-th run of the stretch."""
        return Run(self.source + index * self.source_step, self.target + index * self.target_step, self.length)

    def fold(self, run: Run) -> Stretch | None:
        """This stretch with one more run, when the run continues its pattern."""
        if run.length != self.length:
            return None
        if self.times == 1:
            return self._replace(source_step=run.source - self.source, target_step=run.target - self.target, times=2)
        return self._replace(times=self.times + 1) if run == self.run(self.times) else None

    def first_run_ending_behind(self, offset: int, *, by_target: bool) -> Run:
        """The first run of the stretch with a record at or behind `offset`; the last one when there is none."""
        start, step = (self.target, self.target_step) if by_target else (self.source, self.source_step)
        if self.times == 1 or offset < start + self.length:
            return self.run(0)
        index = (offset - start - self.length) // step + 1
        return self.run(min(index, self.times - 1))


@dataclass
class RunMap:
    """Runs in source order (which is target order too: a mirror keeps the order, R3)."""

    stretches: list[Stretch] = field(default_factory=list)
    tail: Run | None = None

    def add(self, run: Run) -> None:
        """Append a run that lies behind everything here."""
        tail = self.tail
        if tail is None:
            self.tail = run
            return
        if run.source < tail.source_end or run.target < tail.target_end:
            raise ValueError(f"{run} does not lie behind {tail}")
        if run.source == tail.source_end and run.target == tail.target_end:
            self.tail = Run(tail.source, tail.target, tail.length + run.length)
            return
        self._fold(tail)
        self.tail = run

    def _fold(self, run: Run) -> None:
        if self.stretches:
            folded = self.stretches[-1].fold(run)
            if folded is not None:
                self.stretches[-1] = folded
                return
        self.stretches.append(Stretch(*run, run.length, run.length, 1))

    def __len__(self) -> int:
        return len(self.stretches) + (self.tail is not None)

    def __iter__(self) -> Iterator[Run]:
        for stretch in self.stretches:
            yield from (stretch.run(index) for index in range(stretch.times))
        if self.tail is not None:
            yield self.tail

    def first_at_or_behind(self, offset: int, *, by_target: bool = False) -> Run | None:
        """The first run that holds `offset` or lies wholly behind it; None when all lie before it."""
        side = 1 if by_target else 0
        index = bisect_right(self.stretches, offset, key=lambda stretch: stretch[side]) - 1
        if index >= 0:
            run = self.stretches[index].first_run_ending_behind(offset, by_target=by_target)
            if offset < run[side] + run.length:
                return run
        if index + 1 < len(self.stretches):
            return self.stretches[index + 1].run(0)
        if self.tail is not None and offset < self.tail[side] + self.tail.length:
            return self.tail
        return None

    def before(self, offset: int) -> RunMap:
        """The part of the map before a source offset."""
        part = RunMap()
        for run in self:
            if run.source >= offset:
                break
            part.add(Run(run.source, run.target, min(run.length, offset - run.source)))
        return part

    def records(self) -> int:
        """How many records the map knows."""
        return sum(s.length * s.times for s in self.stretches) + (self.tail.length if self.tail else 0)

    def as_stretches(self) -> list[Stretch]:
        """The whole map, the tail as its last stretch; what `of` reads."""
        if self.tail is None:
            return self.stretches
        return [*self.stretches, Stretch(*self.tail, self.tail.length, self.tail.length, 1)]

    @classmethod
    def of(cls, stretches: list[Stretch]) -> RunMap:
        """The map of some stretches; the last one, if it is a single run, may still grow."""
        if not stretches or stretches[-1].times != 1:
            return cls(stretches)
        return cls(stretches[:-1], stretches[-1].run(0))


def uncovered(runs: Iterable[Run], first: int, end: int) -> list[tuple[int, int]]:
    """Target offsets within first..end-1 that no run covers, as [from, to): what others wrote, and markers."""
    gaps: list[tuple[int, int]] = []
    reached = first
    for run in runs:
        if run.target > reached:
            gaps.append((reached, min(run.target, end)))
        reached = max(reached, run.target_end)
        if reached >= end:
            break
    if reached < end:
        gaps.append((reached, end))
    return [gap for gap in gaps if gap[0] < gap[1]]
