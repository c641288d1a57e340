"""The judge of shadow groups, against brute force: whatever is wrong with a position, a map or a copy is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.kit.offset_map import OffsetMap

from twinlog.model.drills.shadow import ShadowVerdict, Window, judge_shadow
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.ledger.translation import Span
from twinlog.model.names import TopicPartition


class Record(NamedTuple):
    offset: int
    value: bytes | None
    key: bytes | None = b"k"
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp_ms: int = 1


@dataclass(frozen=True)
class History:
    """Both logs and the truth about them: pairs of offsets."""

    source: list[Record]
    target: list[Record]
    pairs: list[tuple[int, int]]
    source_next: int
    target_next: int

    def map(self, shift: int = 0) -> OffsetMap:
        runs = RunMap()
        for source, target in self.pairs:
            runs.add(Run(source, target + shift, 1))
        return OffsetMap(Span(0, 0, self.source_next, self.target_next + shift), runs)

    def place(self, committed: int) -> int:
        """Where a group at `committed` must go on."""
        return next((target for source, target in self.pairs if source >= committed), self.target_next)

    def judge(
        self,
        committed: int,
        started: int,
        mapped: OffsetMap | None = None,
        target: Sequence[Record] | None = None,
        *,
        compacted: bool = False,
    ) -> ShadowVerdict:
        place = TopicPartition("orders", 0)
        left = Window(committed, self.source_next, [r for r in self.source if r.offset >= committed])
        there = self.target if target is None else target
        read = Window(started, self.target_next, [r for r in there if r.offset >= started])
        verdict = ShadowVerdict("g", place, place, committed, started)
        return judge_shadow(verdict, left, read, mapped or self.map(), compacted=compacted)


# Each step: a record that is copied, one that is not (aborted), a marker on the source, a marker on the target.
steps = st.lists(st.sampled_from(["copied", "copied", "copied", "left", "marker", "fence"]), max_size=60)


def history(script: list[str]) -> History:
    found = History([], [], [], 0, 0)
    source_next = target_next = 0
    for number, step in enumerate(script):
        content = f"record {number}".encode()
        if step in {"copied", "left"}:
            found.source.append(Record(source_next, content))
        if step == "copied":
            found.target.append(Record(target_next, content))
            found.pairs.append((source_next, target_next))
            target_next += 1
        if step == "fence":
            target_next += 1
        else:
            source_next += 1
    return History(found.source, found.target, found.pairs, source_next, target_next)


@pytest.mark.proves("R5")
@given(steps, st.integers(0, 60))
def test_the_right_place_passes_whatever_the_history(script: list[str], committed: int) -> None:
    past = history(script)
    committed = min(committed, past.source_next)
    verdict = past.judge(committed, past.place(committed))
    assert verdict.passed, verdict.says()
    assert verdict.compared == sum(source >= committed for source, _ in past.pairs)
    assert verdict.left_out == sum(r.offset >= committed for r in past.source) - verdict.compared


@given(steps, st.integers(0, 60), st.integers(1, 5))
def test_a_place_too_late_skips_by_name(script: list[str], committed: int, late: int) -> None:
    past = history(script)
    committed = min(committed, past.source_next)
    started = past.place(committed) + late
    lost = [source for source, target in past.pairs if source >= committed and target < started]
    verdict = past.judge(committed, started)
    assert verdict.skipped == lost
    assert verdict.passed == (not lost)


@given(steps, st.integers(0, 60), st.integers(1, 5))
def test_a_place_too_early_reads_again_by_name(script: list[str], committed: int, early: int) -> None:
    past = history(script)
    committed = min(committed, past.source_next)
    started = max(0, past.place(committed) - early)
    again = [source for source, target in past.pairs if source < committed and target >= started]
    verdict = past.judge(committed, started)
    assert verdict.read_twice == again
    assert verdict.passed == (not again)


@given(steps, st.integers(0, 59))
def test_a_copy_that_differs_is_found(script: list[str], which: int) -> None:
    past = history(script)
    assume(past.target)
    which %= len(past.target)
    wrong = [r._replace(value=b"other") if n == which else r for n, r in enumerate(past.target)]
    assert past.judge(0, past.place(0), target=wrong).different == [past.pairs[which][0]]


@given(steps, st.integers(0, 59))
def test_a_copy_that_is_missing_is_found_unless_the_topic_is_compacted(script: list[str], which: int) -> None:
    past = history(script)
    assume(past.target)
    which %= len(past.target)
    gone = [r for n, r in enumerate(past.target) if n != which]
    assert past.judge(0, past.place(0), target=gone).missing == [past.pairs[which][0]]
    assert past.judge(0, past.place(0), target=gone, compacted=True).passed


@given(steps)
def test_a_map_that_lies_is_found(script: list[str]) -> None:
    past = history(script)
    assume(len(past.target) > 1)
    assert not past.judge(0, past.place(0) + 1, past.map(shift=1)).passed


def test_the_sentence_names_what_would_happen() -> None:
    past = history(["copied"] * 5)
    assert past.judge(2, 2).says() == "g: orders-0: continues at orders-0@2; 3 records compared"
    assert "would skip 1 (first at source offset 2)" in past.judge(2, 3).says()
    assert "would read again 1 (first at source offset 1)" in past.judge(2, 1).says()
