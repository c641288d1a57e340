"""Gap watch: numbers that are missing among those read, because their transaction is not committed yet. Pure.

    read so far   1 2 . 4 5          3 is a gap: asked for again until it comes, or until nobody can bring it any more

Sequences give numbers out before a transaction commits, so a smaller number may appear after a larger one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_MOST: Final = 1000
"""More missing numbers than this are no gaps: the column grows in larger steps."""


@dataclass(frozen=True)
class Gaps:
    """Missing numbers, each with the time (ms) at which it was missed first, by the clock of the database."""

    since: Mapping[int, int]

    @classmethod
    def parse(cls, text: str | None) -> Gaps:
        pairs = (pair.split("@") for pair in (text or "").split(",") if pair)
        return cls({int(number): int(at) for number, at in pairs})

    def __str__(self) -> str:
        return ",".join(f"{number}@{at}" for number, at in sorted(self.since.items()))

    @property
    def numbers(self) -> list[int]:
        return sorted(self.since)

    def after(self, low: int | None, read: Iterable[int], now_ms: int) -> Gaps:
        """Gaps behind `low` after these numbers were read in order; numbers that came are no gaps any more."""
        came = set(read)
        since = {number: at for number, at in self.since.items() if number not in came}
        new = sorted(number for number in came if low is None or number > low)
        if new:
            # Nothing was read yet: numbers begin at 1, unless the first one says otherwise.
            start = low if low is not None else 0 if new[0] <= _MOST else new[0]
            span = range(start + 1, new[-1])
            if len(span) - len(new) < _MOST and len(since) < _MOST:
                since |= {number: now_ms for number in span if number not in came}
        return Gaps(dict(list(since.items())[:_MOST]))

    def without_old(self, now_ms: int, watch_ms: int, oldest_open_ms: int | None) -> Gaps:
        """Without gaps that nobody can fill: missed long ago, and every open transaction began later."""
        limit = now_ms - watch_ms
        kept = {
            number: at
            for number, at in self.since.items()
            if at > limit or (oldest_open_ms is not None and oldest_open_ms <= at)
        }
        return Gaps(kept)
