"""Back-off: how long to wait before the next attempt. Pure; the caller sleeps.

backoff = Backoff(first_s=0.05, longest_s=2.0)
while not done:
await asyncio.sleep(backoff.next_s())     0.05, 0.1, 0.2 … 2.0, 2.0
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_ENOUGH: Final = 64
"""Growing so many times exceeds every limit; more would exceed what a float holds."""


@dataclass
class Backoff:
    """Pauses that grow by a factor up to a limit. `reset` after a success."""

    first_s: float = 0.05
    longest_s: float = 2.0
    factor: float = 2.0
    _failures: int = field(default=0, init=False)

    def next_s(self) -> float:
        """The pause before the next attempt. The one after it is longer."""
        self._failures += 1
        return self.after_s(self._failures)

    def after_s(self, failures: int) -> float:
        """The pause after so many failures in a row, the first one included."""
        return min(self.first_s * self.factor ** min(failures - 1, _ENOUGH), self.longest_s)

    def reset(self) -> None:
        """Start again with the shortest pause."""
        self._failures = 0
