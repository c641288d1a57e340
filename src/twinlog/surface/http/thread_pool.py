"""Threads for what must not wait behind questions to clusters that are away. Few, with a short queue."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class TooBusyError(Exception):
    """The queue is full."""


class ThreadPool:
    """Work of one kind. A full queue refuses at once: whoever waits for long has left by then."""

    def __init__(self, name: str, threads: int, most_waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self._most = threads + most_waiting
        self._under_way = 0

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Do it in one of the threads. Raises TooBusyError."""
        if self._under_way >= self._most:
            raise TooBusyError
        self._under_way += 1
        future = self._threads.submit(work, *arguments)
        # Counted until it has ended, also when whoever asked has gone away.
        loop = asyncio.get_running_loop()

        def ended(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended before
                loop.call_soon_threadsafe(self._ended)

        future.add_done_callback(ended)
        return await asyncio.wrap_future(future)

    def _ended(self) -> None:
        self._under_way -= 1
