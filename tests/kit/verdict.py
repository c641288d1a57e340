"""What the judge says: counts, and the first differences of each kind with their offsets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

_SHOWN_PER_KIND = 5


class Kind(Enum):
    """A way to break a promise; the value names the promise and the deed."""

    LOST = "R1 lost"
    DUPLICATED = "R2 duplicated"
    FOREIGN = "R2 not from the source"
    REORDERED = "R3 out of order"
    CHANGED = "R4 changed"
    ABORTED = "R4 aborted on the source"

    @property
    def promise(self) -> str:
        """The promise that it breaks."""
        return self.value.split()[0]


@dataclass(frozen=True, slots=True)
class Difference:
    """One record that breaks a promise. Offsets are None on the side that does not have it."""

    kind: Kind
    where: str
    source_offset: int | None
    target_offset: int | None
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind.value}: source {self.source_offset}, target {self.target_offset}: {self.what}"


@dataclass(slots=True)
class Verdict:
    """The judgement over one or more partitions. `counts` is complete; `differences` holds the first of each kind."""

    source_records: int = 0
    target_records: int = 0
    counts: Counter[Kind] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every promise was kept."""
        return not self.counts

    @property
    def broken(self) -> set[str]:
        """The promises that were not kept."""
        return {kind.promise for kind in self.counts}

    def add(self, difference: Difference) -> None:
        """Put one more on record."""
        self.counts[difference.kind] += 1
        if self.counts[difference.kind] <= _SHOWN_PER_KIND:
            self.differences.append(difference)

    def __iadd__(self, other: Verdict) -> Self:
        self.source_records += other.source_records
        self.target_records += other.target_records
        self.counts += other.counts
        self.differences += other.differences
        return self

    def __str__(self) -> str:
        head = f"{self.source_records} records on the source, {self.target_records} on the target"
        if self.ok:
            return f"{head}: equal, once and in order"
        kinds = ", ".join(f"{count} {kind.value}" for kind, count in self.counts.items())
        return "\n  ".join([f"{head}: {kinds}", *map(str, self.differences)])
