"""How much a line wants to hold: a simulated line is filled, and not more than twice over."""

from __future__ import annotations

import heapq
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.flow.window import FEW, Departure, Window


def drive(window: Window, round_trip_s: float, bytes_per_s: float, request: int, seconds: float) -> tuple[float, int]:
    """Send whenever the window is open; returns the rate of the second half, and the most bytes under way in it."""
    now = free_at = 0.0
    answers: list[tuple[float, int, Departure]] = []
    numbers = itertools.count()
    carried, most = 0, 0
    while now < seconds:
        while window.is_open:
            free_at = max(now, free_at) + request / bytes_per_s
            heapq.heappush(answers, (free_at + round_trip_s, next(numbers), window.depart(now, request)))
        now, _, departure = heapq.heappop(answers)
        window.answer(departure, now)
        if now > seconds / 2:
            carried += request
            most = max(most, window.held)
    return carried / (now - seconds / 2), most


@pytest.mark.proves("R11")
@given(
    st.sampled_from([0.02, 0.08, 0.2]),
    st.sampled_from([1e6, 12.5e6, 125e6, 400e6]),
    st.sampled_from([20_000, 100_000, 400_000]),
)
def test_a_long_line_is_filled_whatever_its_length_and_width(trip: float, width: float, request: int) -> None:
    seconds = 60 * trip + 500 * request / width
    rate, most = drive(Window(), trip, width, request, seconds)
    assert rate >= 0.9 * width
    held = trip * width
    assert most <= max(FEW * request, 2.3 * (held + FEW * request)), "a queue before the line helps nobody"


def test_a_short_line_gets_the_few_requests_that_are_always_allowed() -> None:
    window = Window()
    _, most = drive(window, 0.0005, 150e6, 300_000, 1.0)
    assert window.bytes < FEW * 300_000
    assert most <= FEW * 300_000


def test_a_rate_that_is_past_is_forgotten() -> None:
    window = Window()
    drive(window, 0.08, 100e6, 100_000, 4.0)
    assert window.bytes > 8_000_000
    for second in range(10, 30):
        departure = window.depart(float(second), 1000)
        window.answer(departure, second + 0.08)
    assert window.bytes < 10_000


@given(st.lists(st.tuples(st.integers(0, 10_000), st.booleans()), max_size=40))
def test_what_left_and_came_home_or_failed_is_not_under_way(sent: list[tuple[int, bool]]) -> None:
    window = Window()
    departures = [window.depart(float(at), size) for at, (size, _) in enumerate(sent)]
    for at, (departure, (_, answered)) in enumerate(zip(departures, sent, strict=True)):
        if answered:
            window.answer(departure, 100.0 + at)
        else:
            window.fail(departure)
    assert (window.requests, window.held) == (0, 0)
