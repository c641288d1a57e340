"""Would a group that starts on the target skip a record, or read one twice? Judged record by record. Pure.

    source   … C-1 │ C  C+1  ·  C+3 …      C: what the group committed on the source, its next record to read
    target   … T-1 │ T  T+1  T+2 …         T: where its shadow starts on the target

Records are paired by the offset map and compared by content, so that a wrong map is found as well as a wrong place:
a target record from T on whose source lies before C is read twice; a source record from C on whose copy lies before T
is skipped; a pair that is not equal means that the map lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from twinlog.model.ledger.translation import Exact, Translation
from twinlog.model.names import TopicPartition


class Content(Protocol):
    """A record as a client sees it."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp_ms(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Any: ...


class Translates(Protocol):
    """The offset map of the partition."""

    def to_target(self, position: int) -> Translation: ...
    def to_source(self, position: int) -> Translation: ...


@dataclass(frozen=True)
class Window:
    """Offsets first..next-1 of one side, and the records that are there."""

    first: int
    next: int
    records: Sequence[Content]


@dataclass
class ShadowVerdict:
    """What a shadow of one group found in one partition."""

    group: str
    source: TopicPartition
    target: TopicPartition
    committed: int
    started: int
    compared: int = 0
    skipped: list[int] = field(default_factory=list)  # source offsets
    read_twice: list[int] = field(default_factory=list)
    different: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)  # of a pair only one record is there
    left_out: int = 0  # source records that the map says were never copied
    foreign: int = 0  # target records that the map does not know

    @property
    def passed(self) -> bool:
        """Whether the group would continue exactly where it stopped."""
        return not (self.skipped or self.read_twice or self.different or self.missing)

    def says(self) -> str:
        place = f"{self.group}: {self.source}"
        if self.passed:
            return f"{place}: continues at {self.target}@{self.started}; {self.compared:,} records compared"
        problems = (
            ("would skip", self.skipped),
            ("would read again", self.read_twice),
            ("finds other records for", self.different),
            ("does not find both records for", self.missing),
        )
        told = [f"{what} {len(at):,} (first at source offset {at[0]})" for what, at in problems if at]
        return f"{place}: starting at {self.target}@{self.started} it {', '.join(told)}"


def judge_shadow(
    verdict: ShadowVerdict,
    source: Window,
    target: Window,
    mapped: Translates,
    *,
    compacted: bool = False,
    at_the_end: bool = False,
) -> ShadowVerdict:
    """Compare what is left to read on the source with what the shadow read on the target.

    In a compacted topic either side may have lost a record of a pair; elsewhere that is a finding. `at_the_end`: the
    group was ahead of the copy, so its place was the end of the copy. What lies from there on was copied after the
    positions were translated; after a failover it would not be there, so reading it is not reading it again.
    """
    at_source = {record.offset: record for record in source.records}
    at_target = {record.offset: record for record in target.records}
    pairs: dict[int, int] = {}
    for offset in at_source:
        place = copy_of(offset, mapped)
        if place is None:
            verdict.left_out += 1
        elif place < verdict.started:
            verdict.skipped.append(offset)
        elif place < target.next:
            pairs[offset] = place
    for place in at_target:
        origin = origin_of(place, mapped)
        if origin is None:
            verdict.foreign += 1
        elif origin < verdict.committed:
            if not at_the_end:
                verdict.read_twice.append(origin)
        elif origin < source.next:
            pairs[origin] = place
    _compare(verdict, pairs, at_source, at_target, compacted=compacted)
    return verdict


def _compare(
    verdict: ShadowVerdict,
    pairs: Mapping[int, int],
    at_source: Mapping[int, Content],
    at_target: Mapping[int, Content],
    *,
    compacted: bool,
) -> None:
    for offset, place in sorted(pairs.items()):
        record, other = at_source.get(offset), at_target.get(place)
        if record is None or other is None:
            if not compacted:
                verdict.missing.append(offset)
            continue
        verdict.compared += 1
        if _content(record) != _content(other):
            verdict.different.append(offset)


def _content(record: Content) -> tuple[Any, ...]:
    return record.key, record.value, tuple(record.headers or ()), record.timestamp_ms


def copy_of(offset: int, mapped: Translates) -> int | None:
    """Where the copy of one source record lies; None when it was not copied (the next record's place follows then)."""
    here, behind = mapped.to_target(offset), mapped.to_target(offset + 1)
    if isinstance(here, Exact) and isinstance(behind, Exact) and behind.offset > here.offset:
        return here.offset
    return None


def origin_of(place: int, mapped: Translates) -> int | None:
    """Which source record a target record is the copy of; None when it is nobody's."""
    here, behind = mapped.to_source(place), mapped.to_source(place + 1)
    if isinstance(here, Exact) and isinstance(behind, Exact) and behind.offset > here.offset:
        return here.offset
    return None
