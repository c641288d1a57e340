"""Waiting for a condition instead of sleeping: a failure says what was seen last."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_LOOK_AGAIN_S = 0.1


def wait_until(
    look: Callable[[], T], accept: Callable[[T], bool], *, within_s: float, what: str, every_s: float = _LOOK_AGAIN_S
) -> T:
    """Look until what is seen is acceptable, and return it."""
    deadline = time.monotonic() + within_s
    while True:
        seen = look()
        if accept(seen):
            return seen
        assert time.monotonic() < deadline, f"{what}: not within {within_s} s; last seen: {seen!r}"
        time.sleep(every_s)


async def until(holds: Callable[[], bool], *, within_s: float = 60.0) -> None:
    """In a loop: until something holds. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110  what is tested has no event for a test to wait for
            await asyncio.sleep(0.001)


async def rounds_of_the_loop(count: int = 50) -> None:
    """Let every task of the loop that can run do so many steps: what has not happened then does not happen."""
    for _ in range(count):
        await asyncio.sleep(0)
