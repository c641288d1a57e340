"""Orders to a running link: limits by time of day, topics that come first, paused topics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.control import Control, FileLimits, Window, control_of, parse_schedule
from twinlog.model.names import TopicPartition
from twinlog.model.pace import Limits

_PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b", "c-1"]), st.integers(0, 3))
_RATES = st.sampled_from([(5, None), (None, 7), (5, 7), (0, 0), (0, 7)])
_WINDOWS = st.builds(
    lambda first, end, rates: Window(first, end, *rates), st.integers(0, 700), st.integers(701, 1440), _RATES
)
_CONTROLS = st.builds(
    Control, st.none() | st.integers(0, 10**12), st.lists(_WINDOWS, max_size=3).map(tuple),
    st.frozensets(st.sampled_from(["a", "b", "c-1"])), st.frozensets(_PARTITIONS), st.text(max_size=5), st.integers(0),
    st.none() | st.integers(0, 10**12), st.none() | st.lists(st.sampled_from(["a", "b.*"]), max_size=2).map(tuple),
)  # fmt: skip


@given(_CONTROLS)
def test_the_ledger_keeps_an_order_as_it_is(control: Control):
    kept = control_of(control.body())
    assert kept == control
    assert (kept.by, kept.at_ms) == (control.by, control.at_ms)


def test_no_order_pauses_nothing_and_leaves_the_limits_to_the_file():
    of_file = FileLimits(Limits(7, 8), parse_schedule("00:00-01:00=1"), ("pay.*",))
    assert control_of(None) == Control()
    assert Control().limits_at(2 * 3_600_000, of_file) == Limits(7, 8)
    assert Control().limits_at(0, of_file) == Limits(1, 8)
    assert Control(bytes_per_second=0).limits_at(0, of_file) == Limits(0, 8), "an order replaces the file's timetable"
    assert Control(records_per_second=5).limits_at(0, of_file) == Limits(7, 5)
    assert Control().first_of(of_file).matches("payments")
    assert not Control(first=()).first_of(of_file).matches("payments")


@pytest.mark.parametrize(
    ("minute", "limits"),
    [(8 * 60, (5, 3)), (17 * 60 + 59, (5, 3)), (18 * 60, (9, 2)), (23 * 60, (0, 0)), (60, (0, 0)), (6 * 60, (9, 3))],
)
def test_windows_of_the_day_also_over_midnight(minute: int, limits: tuple[int, int]):
    windows = parse_schedule("08:00-18:00=5; 18:00-19:00=2 records; 22:00-06:00=none")
    control = Control(9, windows, records_per_second=3)
    assert control.limits_at(minute * 60_000, FileLimits(Limits(1, 1))) == limits


@pytest.mark.parametrize(
    "text",
    [
        "8:00-9:00=1",
        "08:00-25:00=1",
        "08:00-08:00=1",
        "08:61-09:00=1",
        "x",
        "08:00-09:00",
        "08:00-09:00=1 apples",
        "08:00-09:00=1, 2",
    ],
)
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
