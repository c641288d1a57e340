"""The offset map and the translation of positions, against a plain dictionary of offsets."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.packed_runs import pack, unpack
from twinlog.model.ledger.runs import Run, RunMap, uncovered
from twinlog.model.ledger.translation import AtOrBefore, Exact, Span, Untranslatable, to_source, to_target

SOURCE, TARGET = 100, 40  # where the ledger begins


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Run], Span]:
    """Runs as a mirror notes them: regular holes are likely, so that folding is tried."""
    runs: list[Run] = []
    source, target = SOURCE, TARGET
    for _ in range(draw(st.integers(0, 4))):
        source_hole, target_hole = draw(st.sampled_from([0, 0, 1, 2])), draw(st.sampled_from([0, 0, 0, 1]))
        length = draw(st.integers(1, 4))
        for _ in range(draw(st.integers(1, 6))):
            runs.append(Run(source, target, length))
            source, target = source + length + source_hole, target + length + target_hole
    return runs, Span(SOURCE, TARGET, source, target)


def offsets_of(runs: list[Run]) -> dict[int, int]:
    return {run.source + i: run.target + i for run in runs for i in range(run.length)}


def mapped(runs: list[Run]) -> RunMap:
    result = RunMap()
    for run in runs:
        result.add(run)
    return result


@given(histories())
def test_the_map_holds_exactly_what_was_added(history: tuple[list[Run], Span]) -> None:
    runs, _ = history
    built = mapped(runs)
    assert offsets_of(list(built)) == offsets_of(runs)
    assert built.records() == len(offsets_of(runs))
    assert all(one.source_end <= two.source and one.target_end <= two.target for one, two in pairwise(built))


@given(histories())
def test_the_map_survives_packing_and_goes_on_growing(history: tuple[list[Run], Span]) -> None:
    runs, span = history
    built = mapped(runs)
    back = unpack(pack(built))
    assert back == built
    for grown in (built, back):
        grown.add(Run(span.source_next, span.target_next, 2))
    assert back == built


@pytest.mark.parametrize(
    ("runs", "kept"),
    [
        ([Run(0, 0, 1), Run(1, 1, 5), Run(6, 6, 1)], 1),
        ([Run(2 * i, i, 1) for i in range(10_000)], 2),
        ([Run(10 * i, 9 * i, 9 if i % 50 else 8) for i in range(1, 100)], 4),
    ],
    ids=["side by side", "one marker behind each record", "a break in the pattern"],
)
@pytest.mark.proves("R11")
def test_regular_holes_take_no_room(runs: list[Run], kept: int) -> None:
    assert len(mapped(runs)) <= kept


@pytest.mark.proves("R3")
@pytest.mark.parametrize("run", [Run(12, 30, 1), Run(30, 22, 1), Run(10, 20, 5), Run(0, 0, 3)])
def test_a_run_that_goes_back_is_refused(run: Run) -> None:
    built = mapped([Run(10, 20, 5)])
    with pytest.raises(ValueError, match="behind"):
        built.add(run)


def split(runs: list[Run], chunks: int) -> list[RunMap]:
    size = max(1, len(runs) // chunks)
    return [mapped(runs[i : i + size]) for i in range(0, len(runs), size)]


@pytest.mark.proves("R5")
@given(histories(), st.integers(1, 3), st.booleans())
def test_a_position_skips_nothing_unread_and_repeats_nothing(
    history: tuple[list[Run], Span], chunks: int, backwards: bool
) -> None:
    runs, span = history
    maps = split(runs, chunks)
    there = offsets_of(runs)
    first, end, far_end = span.source_first, span.source_next, span.target_next
    if backwards:
        there = {target: source for source, target in there.items()}
        first, end, far_end = span.target_first, span.target_next, span.source_next
    translate = to_source if backwards else to_target
    for position in range(first, end + 1):
        found = translate(position, span, maps)
        assert isinstance(found, Exact)
        unread = [far for near, far in there.items() if near >= position]
        read = [far for near, far in there.items() if near < position]
        assert all(far >= found.offset for far in unread)
        assert all(far < found.offset for far in read)
        assert found.offset == min(unread, default=far_end)


@pytest.mark.proves("R5", "R6")
@given(histories(), st.booleans())
def test_translations_never_go_back_while_positions_go_on(history: tuple[list[Run], Span], backwards: bool) -> None:
    runs, span = history
    translate = to_source if backwards else to_target
    found = [translate(position, span, [mapped(runs)]) for position in range(SOURCE, SOURCE + 90)]
    offsets = [one.offset for one in found if not isinstance(one, Untranslatable)]
    assert offsets == sorted(offsets)


@pytest.mark.proves("R5")
def test_outside_of_the_ledger_the_answer_says_so() -> None:
    span, maps = Span(100, 40, 110, 50), [mapped([Run(100, 40, 10)])]
    assert to_target(111, span, maps) == AtOrBefore(50)
    assert to_source(51, span, maps) == AtOrBefore(110)
    assert to_target(110, span, maps) == Exact(50)
    for answer in (to_target(99, span, maps), to_source(39, span, maps)):
        assert isinstance(answer, Untranslatable)
        assert "ledger begins" in answer.reason


@given(histories(), st.integers(TARGET - 2, TARGET + 60), st.integers(0, 60))
def test_what_no_run_covers_is_found(history: tuple[list[Run], Span], first: int, length: int) -> None:
    runs, _ = history
    covered = set(offsets_of(runs).values())
    gaps = uncovered(runs, first, first + length)
    found = [offset for begin, end in gaps for offset in range(begin, end)]
    assert found == [offset for offset in range(first, first + length) if offset not in covered]
    assert all(begin < end for begin, end in gaps)
