"""What limits cost: when a link will have caught up, over a timetable too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.health.catch_up import Load, limit_cost
from twinlog.model.ledger.control import Control, FileLimits, parse_schedule
from twinlog.model.pace import Limits

NOON_MS = 12 * 3_600_000


def cost(load: Load, control: Control | None = None, of_file: FileLimits | None = None):
    return limit_cost(control or Control(), of_file or FileLimits(), load, NOON_MS)


def test_a_limit_above_what_arrives_catches_up_with_the_difference():
    found = cost(Load(90_000, 100, None, 1000), Control(bytes_per_second=400_000))
    assert found.caught_up_s == pytest.approx(300)
    assert found.falls_behind_per_second == 0


def test_of_two_limits_the_lower_one_counts():
    found = cost(Load(90_000, 100, None, 1000), Control(bytes_per_second=400_000, records_per_second=150))
    assert found.caught_up_s == pytest.approx(1800)


def test_a_limit_below_what_arrives_never_catches_up_and_says_by_how_much():
    found = cost(Load(90_000, 100, None, 1000), Control(records_per_second=60))
    assert found.caught_up_s is None
    assert found.falls_behind_per_second == 40
    assert "falls behind by 40 records a second" in found.says


def test_the_timetable_counts_full_speed_at_night_catches_up_at_night():
    night = Control(records_per_second=50, schedule=parse_schedule("22:00-06:00=10000 records"))
    found = cost(Load(0, 100, None, 1000), night)
    assert found.caught_up_s == pytest.approx(10 * 3600 + 36_000 * 50 / 9900, rel=0.01)
    assert "while this limit holds" in found.says


def test_what_is_unknown_is_not_guessed():
    assert cost(Load(None, None, None, None)).caught_up_s is None
    found = cost(Load(90_000, 100, None, 1000))
    assert found.caught_up_s is None
    assert "full speed was not seen" in found.says


def test_a_link_in_step_has_caught_up_also_without_a_limit():
    assert cost(Load(40, 100, None, 1000)).caught_up_s == 0
    assert cost(Load(0, 100, None, 1000), Control(records_per_second=100)).caught_up_s == 0


@given(
    st.integers(0, 10**7), st.integers(0, 5000), st.integers(1, 10_000), st.integers(0, 10_000), st.integers(0, 1439)
)
def test_a_higher_limit_never_takes_longer(left: int, arriving: int, low: int, more: int, end: int):
    load = Load(left, arriving, None, 1)
    window = parse_schedule(f"{end // 60:02}:{end % 60:02}-24:00=none") if end else ()
    of_file = FileLimits(Limits(0, low), window)
    lower = limit_cost(Control(records_per_second=low, schedule=window), of_file, load, NOON_MS)
    higher = limit_cost(Control(records_per_second=low + more, schedule=window), of_file, load, NOON_MS)
    if lower.caught_up_s is not None and higher.caught_up_s is not None:
        assert higher.caught_up_s <= lower.caught_up_s + 60
