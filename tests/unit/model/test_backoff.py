"""Pauses between attempts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.backoff import Backoff

SECONDS = st.floats(0.001, 100, allow_nan=False)


@given(first=SECONDS, longest=SECONDS, factor=st.floats(1, 10), count=st.integers(1, 2_000))
def test_pauses_grow_up_to_the_limit_and_never_beyond(first: float, longest: float, factor: float, count: int) -> None:
    backoff = Backoff(first, longest, factor)
    pauses = [backoff.next_s() for _ in range(min(count, 100))]
    assert pauses[0] == min(first, longest)
    assert pauses == sorted(pauses)
    assert max(pauses) <= longest
    assert backoff.after_s(count) <= longest


@given(before=st.integers(0, 20))
def test_a_success_begins_with_the_shortest_pause_again(before: int) -> None:
    backoff = Backoff(0.5, 10.0)
    for _ in range(before):
        backoff.next_s()
    backoff.reset()
    assert [backoff.next_s() for _ in range(6)] == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0]
    assert [backoff.after_s(failures) for failures in range(1, 7)] == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0]
