"""Limits of a task: how much it takes at once, how long it waits, and that it hears the word to stop."""

from __future__ import annotations

import pytest

from twinlog.model.pace import Limits
from twinlog.pipelines.throttle import Throttle


class Clock:
    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def test_without_limits_nothing_waits() -> None:
    throttle = Throttle(Limits(), 3, Clock())
    throttle.spend(1_000_000, 1 << 40)
    assert (throttle.most(5000), throttle.wait_s, throttle.pause(lambda: False)) == (5000, 0.0, False)


def test_tasks_share_the_records_a_second() -> None:
    clock = Clock()
    throttle = Throttle(Limits(records_per_second=400), 2, clock)
    taken = 0
    for _ in range(1000):
        clock.s += 0.01
        if throttle.wait_s == 0:
            some = throttle.most(5000)
            assert some == 50
            taken += some
            throttle.spend(some, 10)
    assert taken == pytest.approx(200 * 10, rel=0.15)


def test_bytes_are_limited_by_the_size_that_records_have() -> None:
    clock = Clock()
    throttle = Throttle(Limits(bytes_per_second=10_000), 1, clock)
    assert throttle.most(5000) == 100
    throttle.spend(100, 100_000)
    assert throttle.most(5000) == 2, "a quarter of a second's bytes, by the mean size"
    assert throttle.wait_s == pytest.approx(10, rel=0.2)


def test_the_word_to_stop_ends_the_pause() -> None:
    throttle = Throttle(Limits(records_per_second=1), 1)
    throttle.spend(1000, 0)
    answers = iter([False, True])
    assert throttle.pause(lambda: next(answers)) is True
