"""Back-off: how long to wait before the next attempt. Pure; the caller sleeps.

backoff = Backoff(first_s=0.05, longest_s=2.0)
while not done:
    await asyncio.sleep(backoff.next_s())     0.05, 0.1, 0.2 … 2.0, 2.0
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Backoff:
    """Pauses that grow by a factor up to a limit. `reset` after a success."""

    first_s: float = 0.05
    longest_s: float = 2.0
    factor: float = 2.0
    _coming_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._coming_s = self.first_s

    def next_s(self) -> float:
        """The pause before the next attempt. The one after it is longer."""
        pause_s = self._coming_s
        self._coming_s = min(pause_s * self.factor, self.longest_s)
        return pause_s

    def reset(self) -> None:
        """Start again with the shortest pause."""
        self._coming_s = self.first_s
