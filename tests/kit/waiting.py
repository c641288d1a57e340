"""Waiting for a condition instead of sleeping: a failure says what was seen last."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_LOOK_AGAIN_S = 0.1


def wait_until(look: Callable[[], T], accept: Callable[[T], bool], *, within_s: float, what: str) -> T:
    """Look until what is seen is acceptable, and return it."""
    deadline = time.monotonic() + within_s
    while True:
        seen = look()
        if accept(seen):
            return seen
        assert time.monotonic() < deadline, f"{what}: not within {within_s} s; last seen: {seen!r}"
        time.sleep(_LOOK_AGAIN_S)
