"""Orders to a running link: limits by time of day, paused topics, and a pace that keeps the limit on average."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.control import Control, Pace, Window, control_of, parse_schedule
from twinlog.model.names import TopicPartition

_PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b", "c-1"]), st.integers(0, 3))
_WINDOWS = st.builds(Window, st.integers(0, 700), st.integers(701, 1440), st.integers(0, 10**9))
_CONTROLS = st.builds(
    Control, st.none() | st.integers(0, 10**12), st.lists(_WINDOWS, max_size=3).map(tuple),
    st.frozensets(st.sampled_from(["a", "b", "c-1"])), st.frozensets(_PARTITIONS), st.text(max_size=5), st.integers(0),
)  # fmt: skip


@given(_CONTROLS)
def test_the_ledger_keeps_an_order_as_it_is(control: Control):
    kept = control_of(control.body())
    assert kept == control
    assert (kept.by, kept.at_ms) == (control.by, control.at_ms)


def test_no_order_pauses_nothing_and_leaves_the_limit_to_the_file():
    assert control_of(None) == Control()
    assert Control().limit_at(0, 7) == 7
    assert Control(bytes_per_second=0).limit_at(0, 7) == 0


@pytest.mark.parametrize(
    ("minute", "limit"), [(8 * 60, 5), (17 * 60 + 59, 5), (18 * 60, 9), (23 * 60, 0), (60, 0), (6 * 60, 9)]
)
def test_windows_of_the_day_also_over_midnight(minute: int, limit: int):
    control = Control(9, parse_schedule("08:00-18:00=5; 22:00-06:00=0"))
    assert control.limit_at(minute * 60_000, 1) == limit


@pytest.mark.parametrize("text", ["8:00-9:00=1", "08:00-25:00=1", "08:00-08:00=1", "08:61-09:00=1", "x", "08:00-09:00"])
def test_a_wrong_timetable_is_refused(text: str):
    with pytest.raises(ValueError, match="`"):
        parse_schedule(text)


@given(_CONTROLS, _PARTITIONS)
def test_what_is_paused_is_resumed_by_the_same_words(control: Control, one: TopicPartition):
    assert control.with_paused([one.topic], []).paused(one)
    assert not control.with_paused([one.topic], []).with_resumed([one.topic], []).paused(one)
    alone = Control().with_paused([], [one])
    assert alone.paused(one)
    assert not alone.paused(TopicPartition(one.topic, one.partition + 1))
    assert alone.with_resumed([], [one]) == Control()


@given(st.integers(1000, 10**8), st.lists(st.integers(1, 10**7), min_size=5, max_size=40))
def test_over_any_time_the_limit_is_kept_up_to_one_answer(limit: int, answers: list[int]):
    pace, now, sent = Pace(), 100.0, 0
    pace.limit(limit, now)
    for size in answers:
        now += pace.wait_s(now)
        pace.spend(size, now)
        sent += size
        assert sent <= limit * (now - 100.0) + size + 1


def test_without_a_limit_nothing_waits():
    pace = Pace()
    pace.spend(10**12, 0.0)
    assert pace.wait_s(0.0) == 0
    assert pace.fetch_bytes(1) is None


def test_a_limit_that_is_lifted_lets_everything_through_at_once():
    pace = Pace()
    pace.limit(1000, 0.0)
    pace.spend(10**6, 0.0)
    assert pace.wait_s(0.0) == pytest.approx(1000, rel=0.01)
    pace.limit(0, 1.0)
    assert pace.wait_s(1.0) == 0


def test_after_a_pause_there_is_no_burst():
    pace = Pace()
    pace.limit(1000, 0.0)
    pace.spend(0, 0.0)
    pace.spend(3000, 3600.0)
    assert pace.wait_s(3600.0) == pytest.approx(2.0)
