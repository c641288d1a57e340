"""Keeps a task within its part of the pipeline's limits. Runs in Python workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from twinlog.model.pace import Limits, Pace

_AT_ONCE_S: Final = 0.25
"""So much of a second's records is taken at once: more would be one burst and a long pause."""
_FIRST: Final = 100
"""Records taken at once while nobody knows how large they are."""
_LOOK_S: Final = 0.05


class Throttle:
    """Limits of one task; without a limit it does nothing."""

    def __init__(self, limits: Limits, tasks: int, now_s: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits.share(1 / max(1, tasks))
        self._pace = Pace()
        self._now_s = now_s
        self._rows = self._size = 0
        self._pace.limit(self._limits, now_s())
        self.is_on = any(limits)

    def most(self, rows: int) -> int:
        """How many of so many records may be taken at once."""
        by_count, by_size = self._limits.records_per_second, self._limits.bytes_per_second
        if by_count:
            rows = min(rows, round(by_count * _AT_ONCE_S))
        if by_size:
            rows = min(rows, round(by_size * _AT_ONCE_S * self._rows / self._size) if self._size else _FIRST)
        return max(1, rows)

    def spend(self, rows: int, size: int) -> None:
        """Count what was read."""
        if self.is_on:
            self._rows, self._size = self._rows + rows, self._size + size
            self._pace.spend(size, rows, self._now_s())

    @property
    def wait_s(self) -> float:
        """How long nothing may be read."""
        return self._pace.wait_s(self._now_s()) if self.is_on else 0.0

    def pause(self, stop: Callable[[], bool]) -> bool:
        """Wait until more may be read, or until `stop()`; returns the latter."""
        while not stop():
            left = self.wait_s
            if not left:
                return False
            time.sleep(min(_LOOK_S, left))
        return True
