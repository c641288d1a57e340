"""Whether a process that writes a record regularly still does, by the observer's own clock. Pure.

The times in records are those of other hosts, and their clocks lie. What counts is that the record changes while we
look. Only the first look has nothing to compare with: there the time in the record is taken as a hint, unless it lies
in the future. A hint that calls the record old is doubtful until the record was watched: that clock may be behind ours.
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
    _hinted: bool = False  # that age is only what the time in the record says

    def hear(self, record: Hashable, stamped_ms: int, now_ms: int, monotonic_s: float) -> None:
        """See the record, as often as one likes."""
        if record == self._known:
            return
        first_look = self._known is None
        hint = (now_ms - stamped_ms) / 1000 if stamped_ms <= now_ms + AHEAD_MS else None
        self._known, self._since = record, monotonic_s
        self._before = (None if hint is None else max(0.0, hint)) if first_look else 0.0
        self._hinted = first_look

    def unmoved_s(self, monotonic_s: float) -> float:
        """For how long it did not change while we looked."""
        return monotonic_s - self._since

    def age_s(self, monotonic_s: float) -> float | None:
        """How old the record is; None while only a clock that is ahead of ours speaks of it."""
        return None if self._before is None else self._before + self.unmoved_s(monotonic_s)

    def doubtful(self, monotonic_s: float, old_s: float, watched_s: float) -> bool:
        """Whether it is old by the time in the record only, and was not watched for so long yet."""
        age = self.age_s(monotonic_s)
        return self._hinted and age is not None and age > old_s and self.unmoved_s(monotonic_s) < watched_s

    def give_up(self, age_s: float) -> None:
        """Take the record for this old: it was watched for long enough, and did not change."""
        self._before = age_s
