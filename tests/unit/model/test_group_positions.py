"""Positions of groups: for any history nothing unread is skipped, nothing copied re-read, nothing goes back alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.mirrorhistory import HERE, KEY, THERE, History

from twinlog.model.groups.observed import GroupPosition, ListedGroup
from twinlog.model.groups.positions import Copied, GroupsNow, Remark, Told, standings, starts_wanted, translation_of
from twinlog.model.ledger.translation import AtOrBefore, Exact, Untranslatable
from twinlog.model.names import TopicPartition

EVENTS = st.one_of(
    st.tuples(st.just("produce"), st.lists(st.booleans(), min_size=1, max_size=12)),
    st.tuples(st.just("copy"), st.integers(1, 15)),
    st.tuples(st.just("commit"), st.floats(0, 1)),
    st.tuples(st.just("take over"), st.none()),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("source retention"), st.floats(0, 1)),
    st.tuples(st.just("target retention"), st.floats(0, 1)),
    st.tuples(st.just("members on the target"), st.booleans()),
    st.tuples(st.just("cycle"), st.none()),
)


def happen(history: History, what: str, how: Any) -> None:
    match what:
        case "produce":
            history.produce(how)
        case "copy":
            history.copy(how)
        case "commit":
            history.committed = round(how * len(history.source))
        case "take over":
            history.take_over()
        case "restart":
            history.restart()
        case "source retention":
            history.source_start = max(history.source_start, round(how * len(history.source)))
        case "target retention":
            history.target_start = max(history.target_start, round(how * len(history.target)))
        case "members on the target":
            history.active = how


@pytest.mark.proves("R5", "R6")
@settings(max_examples=400, deadline=None)
@given(origin=st.integers(0, 5), events=st.lists(EVENTS, max_size=60), rewinds=st.sampled_from(["follow", "hold"]))
def test_any_history_skips_nothing_unread_and_rereads_nothing_copied(origin: int, events: Any, rewinds: Any) -> None:
    history = History(origin)
    for what, how in [*events, ("cycle", None)]:
        happen(history, what, how)
        if what != "cycle" or history.committed is None:
            continue
        before, told_before, was_ours = history.on_target, history.told.get(KEY), history.written.get(KEY)
        standing = history.decide(rewinds)
        if history.missing():
            assert isinstance(standing.translation, Untranslatable)
            assert standing.write is None
            assert standing.checkpoint is None
            continue
        # R5: from this place a reader of the target gets exactly what the group has not read.
        assert standing.position is not None
        assert history.read_from(standing.position) == history.unread()
        assert history.target_start <= standing.position <= len(history.target)
        if standing.checkpoint is not None:
            assert standing.checkpoint.downstream == standing.position
            assert standing.checkpoint.metadata == "m"
        if standing.write is not None:
            assert standing.write.offset == standing.position
            assert not history.active
        # R6: back only when the group went back, and only from a place that we wrote.
        went_back = told_before is not None and history.committed < told_before.upstream
        if told_before is not None and standing.checkpoint is not None:
            assert standing.checkpoint.downstream > told_before.downstream or (went_back and rewinds == "follow")
        if before is not None and standing.write is not None and standing.write.offset < before:
            assert rewinds == "follow"
            assert before in {was_ours, told_before.downstream if told_before else None}
        # What nothing forbids is done, and done once.
        history.apply(standing)
        if standing.remark is Remark.AHEAD:
            assert before not in {None, was_ours if was_ours is not None else told_before and told_before.downstream}
        elif not history.active and rewinds == "follow":
            assert history.on_target == standing.position
        again = history.decide(rewinds)
        assert again.write is None
        assert again.checkpoint is None


@pytest.mark.proves("R6")
def test_a_rewind_is_followed_or_held_as_the_operator_wants() -> None:
    for rewinds, expected in (("follow", 3), ("hold", 8)):
        history = History()
        history.produce([True] * 10)
        history.copy(10)
        for history.committed in (8, 3):
            standing = history.decide(rewinds)  # type: ignore[arg-type]
            history.apply(standing)
        assert history.on_target == expected
        assert history.told[KEY].downstream == expected
        assert (standing.remark is Remark.HELD) == (rewinds == "hold")


@pytest.mark.proves("R6")
def test_a_group_that_moved_by_itself_on_the_target_is_not_moved_back() -> None:
    history = History()
    history.produce([True] * 10)
    history.copy(10)
    history.committed = 5
    history.apply(history.decide())
    history.on_target = 9  # it was switched over, read on, and stopped
    history.committed = 2
    standing = history.decide()
    assert standing.write is None
    assert standing.remark is Remark.AHEAD
    assert standing.re_read == 0


def test_a_rewind_whose_write_was_refused_is_written_at_the_next_cycle() -> None:
    history = History()
    history.produce([True] * 10)
    history.copy(10)
    history.committed = 8
    history.apply(history.decide())
    history.committed = 3
    assert history.decide().write == GroupPosition(3, "m")  # and the target does not take it
    assert history.decide().write == GroupPosition(3, "m")


def test_a_group_ahead_of_the_copy_stands_at_its_end_and_moves_on_with_it() -> None:
    history = History()
    history.produce([True] * 10)
    history.copy(4)
    history.committed = 9
    standing = history.decide()
    assert standing.translation == AtOrBefore(4)
    history.apply(standing)
    history.copy(6)
    assert history.decide().translation == Exact(9)
    assert history.decide().write == GroupPosition(9, "m")


def test_a_position_from_before_the_copy_is_translated_only_when_nothing_between_can_be_read() -> None:
    history = History(origin=5)
    history.produce([True] * 5)
    history.copy(5)
    history.committed = 2
    assert starts_wanted(GroupsNow({"g": {HERE: GroupPosition(2)}}, {HERE: history.copied()})) == {HERE}
    standing = history.decide()
    assert standing.remark is Remark.UNTRANSLATED
    assert standing.finding() == (
        "g: orders-0: offset 2 lies before 5, where the ledger begins; it copied nothing before"
    )
    history.source_start = 5
    assert history.decide().position == 0


def test_behind_the_beginning_of_the_ledger_the_last_checkpoint_counts_if_it_lies_before() -> None:
    history = History(origin=50)
    history.target = [*range(50)]  # another mirror copied these
    history.produce([True] * 10)
    history.copy(10)
    history.committed = 30
    history.told[KEY] = Told(20, 20)
    standing = history.decide()
    assert standing.translation == AtOrBefore(20)
    assert (standing.write, standing.checkpoint) == (GroupPosition(20, "m"), None)
    assert (standing.remark, standing.re_read) == (Remark.ROUGH, None)
    history.told[KEY] = Told(40, 40)
    assert history.decide().remark is Remark.UNTRANSLATED


def test_a_place_that_the_target_deleted_becomes_the_earliest_and_is_named() -> None:
    history = History()
    history.produce([True] * 10)
    history.copy(10)
    history.committed, history.target_start = 3, 6
    standing = history.decide()
    assert standing.write == GroupPosition(6, "m")
    assert standing.remark is Remark.MOVED_UP
    assert "deleted offsets 3..5" in str(standing.finding())


def test_what_was_told_of_an_older_topic_of_that_name_does_not_count() -> None:
    history = History()
    history.produce([True] * 10)
    history.copy(10)
    history.committed, history.on_target = 4, 900
    history.told[KEY] = Told(900, 900, "older")
    standing = history.decide("hold")
    assert standing.write == GroupPosition(4, "m")
    assert standing.checkpoint is not None
    assert standing.checkpoint.downstream == 4


def test_positions_in_another_incarnation_and_in_topics_that_are_not_mirrored_have_reasons() -> None:
    gone = Copied(THERE, "i", 0, 0, trouble="the topic was created anew on the source")
    assert translation_of(3, gone) == Untranslatable("the topic was created anew on the source")
    other = TopicPartition("private", 1)
    (standing,) = standings(GroupsNow({"g": {other: GroupPosition(1)}}, {}), "follow", writing=True)
    assert standing.why == "the topic is not mirrored by this link"
    assert standing.finding() is None
    assert standing.re_read is None


@pytest.mark.parametrize(
    ("state", "active"), [("Stable", True), ("Empty", False), ("Dead", False), ("Assigning", True)]
)
def test_a_group_with_members_is_active(state: str, active: bool) -> None:
    assert ListedGroup("g", "consumer", state).active is active
