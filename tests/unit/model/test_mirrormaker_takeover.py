"""Where MirrorMaker 2 stopped, whatever it noted, however often it crashed."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from twinlog.model.mirrormaker.takeover import (
    Continue,
    Differs,
    NeedsMore,
    Seen,
    Tails,
    Unchecked,
    choose_anchors,
    judge,
)


def log(contents, first=0):
    return [Seen(first + index, content) for index, content in enumerate(contents)]


def tails(last, source, target, *, source_start=None, source_whole=True, anchors=()):
    start = source_start if source_start is not None else source[0].offset if source else 0
    return Tails(last, source, start, source_whole, target, anchors)


def test_after_a_clean_stop_copying_goes_on_behind_the_noted_offset():
    assert judge(tails(9, log(range(20)), log(range(10)))) == Continue(10)


@pytest.mark.proves("R2")
def test_what_was_copied_but_not_noted_is_not_copied_again():
    verdict = judge(tails(4, log(range(20)), log(range(10))))
    assert isinstance(verdict, Continue)
    assert verdict.resume == 10
    assert "5 source offsets more" in verdict.remarks[0]


@pytest.mark.proves("R2")
def test_doubles_of_a_crash_behind_a_crash_are_seen_through():
    target = log([*range(50), *range(31, 36)])
    verdict = judge(tails(30, log(range(80)), target))
    assert isinstance(verdict, Continue)
    assert verdict.resume == 50
    assert any("more than once" in remark for remark in verdict.remarks)


@pytest.mark.proves("R1")
def test_equal_records_copied_twice_are_not_taken_for_later_ones():
    verdict = judge(tails(0, log([7] * 9), log([7] * 5), anchors=[(0, 0), (1, 3)]))
    assert isinstance(verdict, Continue)
    assert verdict.resume == 3


@pytest.mark.proves("R1")
def test_records_that_the_target_lost_are_copied_again():
    verdict = judge(tails(9, log(range(20)), log(range(6))))
    assert isinstance(verdict, Continue)
    assert verdict.resume == 6
    assert "6..9" in verdict.remarks[0]


@pytest.mark.proves("R7")
def test_another_record_at_the_end_is_refused():
    verdict = judge(tails(9, log(range(20)), log([*range(9), 999])))
    assert isinstance(verdict, Differs)
    assert "target offset 9" in verdict.problem


def test_a_record_that_the_source_deleted_cannot_be_checked():
    assert isinstance(judge(tails(9, log(range(10, 20), first=10), log(range(10)))), Unchecked)
    assert isinstance(judge(tails(9, [], log(range(10)), source_start=10)), Unchecked)


def test_an_emptied_target_cannot_be_checked():
    assert judge(tails(9, log(range(20)), [])) == Unchecked(10, "the target holds no record any more")


def test_where_the_source_forgot_the_older_half_the_rest_still_tells():
    verdict = judge(tails(4, log(range(8, 20), first=8), log(range(12))))
    assert isinstance(verdict, Continue)
    assert verdict.resume == 12


def test_equal_records_need_an_anchor():
    source, target = log([7] * 20), log([7] * 10, first=100)
    assert isinstance(judge(tails(4, source, target)), Differs)
    anchored = judge(tails(4, source, target, anchors=[(0, 100)]))
    assert isinstance(anchored, Continue)
    assert anchored.resume == 10


def test_an_anchor_that_points_at_another_record_is_refused():
    assert isinstance(judge(tails(9, log(range(20)), log(range(3, 10), first=3), anchors=[(4, 3)])), Differs)


def test_too_few_source_records_are_asked_for_again():
    assert isinstance(judge(tails(4, log(range(6)), log(range(10)), source_whole=False)), NeedsMore)
    assert isinstance(judge(tails(4, log(range(6)), log(range(7, 9)), source_whole=False)), NeedsMore)


def test_holes_of_compaction_on_either_side_are_no_difference():
    thinned = [Seen(n, n) for n in range(20) if n not in {3, 4, 7}]
    on_source = judge(tails(9, thinned, log(range(10))))
    on_target = judge(tails(9, log(range(20)), [seen for seen in thinned if seen.offset < 10]))
    assert isinstance(on_source, Continue)
    assert isinstance(on_target, Continue)
    assert (on_source.resume, on_target.resume) == (10, 10)


@pytest.mark.proves("R1", "R2")
@given(
    contents=st.lists(st.integers(0, 1), min_size=1, max_size=30),
    ends=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    data=st.data(),
)
def test_any_history_of_crashes_is_continued_exactly_behind_what_was_copied(contents, ends, data):
    """MirrorMaker 2 copies, notes some offset, crashes, begins behind the noted one again; records repeat a lot."""
    target: list[int] = []
    syncs: list[tuple[int, int]] = []
    high, last = 0, -1
    for wanted in ends:
        begin, end = last + 1, min(wanted, len(contents))
        assume(end > begin)
        syncs.append((begin, len(target)))  # the first record of every life gets a sync
        target += contents[begin:end]
        high, last = max(high, end), data.draw(st.integers(begin, end - 1), label="noted")
    anchors = choose_anchors(syncs, last, len(target), 1000)
    verdict = judge(tails(last, log(contents), log(target)[anchors[0][1] :], anchors=anchors))
    assert isinstance(verdict, Continue)
    assert verdict.resume == high


def test_an_anchor_near_the_noted_offset_is_enough_while_nothing_went_back():
    pairs = [(0, 0), (101, 101), (202, 202), (303, 303)]
    assert choose_anchors(pairs, 250, 350, 1000) == [(202, 202)]
    assert choose_anchors(pairs[2:], 150, 350, 1000) == [(202, 202)]
    assert choose_anchors(pairs, 250, 350, 100) == [(303, 303)]
    assert choose_anchors([], 250, 350, 1000) == []


def test_an_anchor_of_an_earlier_topic_of_that_name_is_passed_over():
    """The source topic was created anew: its first records follow the old ones on the target."""
    target = log([*range(500, 510), *range(10)])
    verdict = judge(tails(9, log(range(20)), target, anchors=[(0, 0), (0, 10)]))
    assert isinstance(verdict, Continue)
    assert verdict.resume == 10
