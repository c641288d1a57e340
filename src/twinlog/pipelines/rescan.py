"""Looks for what came since an epoch was planned: tables, files, topics, partitions. Runs on the driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable
from typing import TypeAlias

Things: TypeAlias = Collection[Hashable]


class Rescan:
    """What an epoch was planned for, and when to look again."""

    def __init__(self, every_ms: int, now_s: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_ms / 1000
        self._now_s = now_s
        self._planned: frozenset[Hashable] | None = None
        self._looked_s = 0.0

    def planned(self, things: Things) -> None:
        """An epoch begins with these."""
        self._planned, self._looked_s = frozenset(things), self._now_s()

    def finds(self, look: Callable[[], Things]) -> bool:
        """Whether other things are there now; looks only when it is time to."""
        if self._planned is None or self._now_s() - self._looked_s < self._every_s:
            return False
        self._looked_s = self._now_s()
        return frozenset(look()) != self._planned
