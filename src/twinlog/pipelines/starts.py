"""How many pipelines of this process begin an epoch at once. Runs in the service.

Spark waits ten seconds for a Python worker, and then gives the task up. When a hundred pipelines begin at the same time
on a few cores, no worker is ready in ten seconds. So an epoch waits for its turn, which lasts until all of its tasks
have called.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Final

_LOOK_S: Final = 0.2
LONGEST_S: Final = 30.0
"""A task that has not called by then gives its turn up: others must not wait for it for ever."""


class Starts:
    """Turns, `at_once` at a time."""

    def __init__(self, at_once: int) -> None:
        self._turns = threading.Semaphore(at_once)

    @contextlib.contextmanager
    def turn(self, stopping: threading.Event) -> Iterator[bool]:
        """Wait for a turn and hold it inside of the block. False: `stopping` came first."""
        held = False
        while not held and not stopping.is_set():
            held = self._turns.acquire(timeout=_LOOK_S)
        try:
            yield held
        finally:
            if held:
                self._turns.release()


STARTS: Final = Starts(max(4, 2 * (os.cpu_count() or 1)))
