"""Answers that are made once for all who ask, until something new was seen. Runs in the service's loop.

A hundred readers a second ask for what changes every two seconds. The first of them has it made, in a thread; whoever
asks meanwhile waits for the same, and all later ones get it from here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

KEPT_SECONDS: Final = 1.0
"""Ages in an answer may be that much too small."""
_MOST: Final = 32
"""Answers that are kept at the same time: what is asked for differently each time must not fill the memory (R11)."""


@dataclass(frozen=True)
class _Kept:
    turn: int
    at: float
    answer: asyncio.Future[bytes]


@dataclass
class Shelf:
    """Answers by what was asked for. `turn` rises with everything that is seen."""

    turn: Callable[[], int]
    _kept: dict[Hashable, _Kept] = field(default_factory=dict)

    async def get(self, asked: Hashable, make: Callable[[], bytes]) -> bytes:
        """The answer, made now or a moment ago. Raises what `make` raises, and keeps no failure."""
        turn, now = self.turn(), time.monotonic()
        kept = self._kept.get(asked)
        if kept is None or kept.turn != turn or now - kept.at > KEPT_SECONDS:
            if len(self._kept) >= _MOST:
                self._kept.clear()
            kept = self._kept[asked] = _Kept(turn, now, asyncio.ensure_future(asyncio.to_thread(make)))
        try:
            # Shielded: one reader that goes away must not take the answer from the others.
            return await asyncio.shield(kept.answer)
        except Exception:
            if self._kept.get(asked) is kept:
                del self._kept[asked]
            raise
