"""A pace keeps the limits of bytes and of records on average, whatever the answers are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.pace import Limits, Pace

_ANSWERS = st.lists(st.tuples(st.integers(1, 10**7), st.integers(1, 10**5)), min_size=5, max_size=40)


@given(st.integers(1000, 10**8), st.integers(10, 10**6), _ANSWERS)
def test_over_any_time_both_limits_are_kept_up_to_one_answer(
    size_limit: int, limit: int, answers: list[tuple[int, int]]
):
    pace, now, sent, records = Pace(), 100.0, 0, 0
    pace.limit(Limits(size_limit, limit), now)
    for size, count in answers:
        now += pace.wait_s(now)
        pace.spend(size, count, now)
        sent, records = sent + size, records + count
        assert sent <= size_limit * (now - 100.0) + size + 1
        assert records <= limit * (now - 100.0) + count + 1


def test_without_a_limit_nothing_waits():
    pace = Pace()
    pace.spend(10**12, 10**9, 0.0)
    assert pace.wait_s(0.0) == 0
    assert pace.fetch_bytes(1) is None


def test_a_limit_that_is_lifted_lets_everything_through_at_once():
    pace = Pace()
    pace.limit(Limits(1000, 0), 0.0)
    pace.spend(10**6, 1, 0.0)
    assert pace.wait_s(0.0) == pytest.approx(1000, rel=0.01)
    pace.limit(Limits(), 1.0)
    assert pace.wait_s(1.0) == 0


def test_after_a_pause_there_is_no_burst():
    pace = Pace()
    pace.limit(Limits(1000, 0), 0.0)
    pace.spend(0, 0, 0.0)
    pace.spend(3000, 1, 3600.0)
    assert pace.wait_s(3600.0) == pytest.approx(2.0)


def test_a_limit_of_records_asks_for_as_many_bytes_as_records_of_that_size_take():
    pace = Pace()
    pace.limit(Limits(0, 1000), 0.0)
    assert pace.fetch_bytes(1) == 16_384, "the size of a record is not known yet"
    pace.spend(10_000_000, 1000, 0.0)
    assert pace.fetch_bytes(1) == 2_500_000
