from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.health.movement import ENOUGH, Seen, movement, worst

lags = st.integers(1, 1000)


def windows(positions: list[int], left: list[int], alive: bool = True) -> list[Seen]:
    return [Seen(p, lag, alive) for p, lag in zip(positions, left, strict=True)]


@given(st.lists(st.builds(Seen, st.integers(0, 100), st.none() | st.integers(0, 100), st.booleans()), max_size=12))
def test_a_window_goes_back_exactly_when_a_position_does(window: list[Seen]):
    went_back = any(b.position < a.position for a, b in pairwise(window))
    assert (movement(window) == "REWIND") == went_back


@given(st.lists(st.tuples(st.integers(0, 50), lags), min_size=ENOUGH, max_size=10), st.booleans(), st.data())
def test_a_moment_without_lag_is_well(steps: list[tuple[int, int]], alive: bool, data: st.DataObject):
    window = windows(sorted(p for p, _ in steps), [lag for _, lag in steps], alive)
    place = data.draw(st.integers(0, len(window) - 1))
    window[place] = window[place]._replace(lag=0)
    assert movement(window) == "OK"


@given(st.integers(0, 100), st.lists(lags, min_size=ENOUGH, max_size=10))
def test_what_does_not_move_stalls_or_stops(position: int, left: list[int]):
    left.sort()
    assert movement(windows([position] * len(left), left)) == "STALL"
    assert movement(windows([position] * len(left), left, alive=False)) == "STOP"


def test_what_moves_but_never_catches_up_is_warned_of():
    assert movement(windows([1, 2, 3, 4], [5, 5, 6, 7])) == "WARNING"
    assert movement(windows([1, 2, 3, 4], [5, 4, 6, 7])) == "OK"


@given(st.lists(st.builds(Seen, st.just(5), st.none() | lags, st.just(False)), max_size=ENOUGH - 1))
def test_little_knowledge_accuses_nobody(window: list[Seen]):
    assert movement(window) == "OK"


def test_the_worst_counts():
    assert worst(["OK", "WARNING", "STOP", "STALL"]) == "STOP"
    assert worst([]) == "OK"
