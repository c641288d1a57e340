"""What the Spark query of a link failed with. Pure; runs in the service's loop.

The engine starts a failed query again within seconds. Its next query runs, so without this the cause would be
reported for a moment only, however often it fails (R14): a full disk under the checkpoints, a JVM without memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from twinlog.model.backoff import Backoff

_FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 4.0
"""Shorter than an engine may be silent."""
SOUND_S: Final = 10.0
"""Longer than the longest pause before a new query: one that ran for so long has got over it."""


@dataclass
class QueryFailures:
    """The failures of a link's query, one after another."""

    _says: str = ""
    _at: float = float("-inf")
    _pause: float = 0.0
    _backoff: Backoff = field(default_factory=lambda: Backoff(_FIRST_PAUSE_S, LONGEST_PAUSE_S))

    def failed(self, says: str, now: float) -> float:
        """The query ended, or did not start; tells how long to wait before the next one."""
        in_a_row = now - self._at < SOUND_S + self._pause
        self._says, self._at = says, now
        if not in_a_row:
            self._backoff.reset()
        self._pause = self._backoff.next_s()
        return self._pause

    def trouble(self, now: float) -> str | None:
        """What the newest one was; None once a query runs well."""
        over = now - self._at >= SOUND_S + self._pause
        return None if over else f"the Spark query failed and is started again: {self._says}"
