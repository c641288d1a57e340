"""Asking several addresses until one answers. Runs in any asyncio loop.

    first   ├──────────────── no answer ────────────────┤
    second          ├──────────────── no answer ────────────────┤
    third                   ├── answers

An address behind a line that drops packets says nothing at all. The next one is asked after a moment, while the first
may still answer: a cluster of which nobody answers is told of as soon as one address would be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from twinlog.errors import BrokerAway

T = TypeVar("T")

NEXT_AFTER_S: Final = 0.5


class NobodyAnswers(Exception):
    """All attempts failed; `problems` has one sentence for each."""

    def __init__(self, problems: list[str]) -> None:
        """Keep the problems in the order of the attempts."""
        super().__init__("; ".join(problems))
        self.problems = problems


async def first_to_answer(attempts: Mapping[str, Callable[[], Awaitable[T]]], next_after_s: float = NEXT_AFTER_S) -> T:
    """What the first attempt that succeeds returns; the others are given up.

    Raises NobodyAnswers. An error that is not about being away (a login that is refused) is raised at once.
    """
    waiting = list(attempts)
    running: dict[asyncio.Future[T], str] = {}
    problems: dict[str, str] = {}
    try:
        while waiting or running:
            if waiting:
                name = waiting.pop(0)
                running[asyncio.ensure_future(attempts[name]())] = name
            done, _ = await asyncio.wait(
                running, timeout=next_after_s if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            names = {task: running.pop(task) for task in done}
            for task, name in names.items():
                error = task.exception()
                if error is None:
                    return task.result()
                if not isinstance(error, BrokerAway):
                    raise error
                problems[name] = f"{name}: {error.reason}"
        raise NobodyAnswers([problems[name] for name in attempts])
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
