"""Whether somebody who writes again and again still does, by our own clock. Pure.

The times in records are those of other hosts, and their clocks lie. What counts is that the record changes while we
look. Only the first look has nothing to compare with: there the time in the record is taken as a hint, unless it lies
in the future.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

AHEAD_MS: Final = 2_000
"""Clocks that differ by less are taken as equal."""


@dataclass
class Pulse:
    """The last change of one record."""

    _known: Hashable = None
    _since: float = 0.0  # our monotonic clock when the record was first seen as it is
    _before: float | None = None  # how old it was then; None is unknown

    def hear(self, record: Hashable, stamped_ms: int, now_ms: int, monotonic_s: float) -> None:
        """See the record, as often as one likes."""
        if record == self._known:
            return
        first_look = self._known is None
        hint = (now_ms - stamped_ms) / 1000 if stamped_ms <= now_ms + AHEAD_MS else None
        self._known, self._since = record, monotonic_s
        self._before = (None if hint is None else max(0.0, hint)) if first_look else 0.0

    def unmoved_s(self, monotonic_s: float) -> float:
        """For how long it did not change while we looked."""
        return monotonic_s - self._since

    def age_s(self, monotonic_s: float) -> float | None:
        """How old the record is; None while only a clock that is ahead of ours speaks of it."""
        return None if self._before is None else self._before + self.unmoved_s(monotonic_s)

    def give_up(self, age_s: float) -> None:
        """Take the record for this old: it was watched for long enough, and did not change."""
        self._before = age_s
