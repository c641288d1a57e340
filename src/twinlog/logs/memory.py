"""A log in the memory of one process, which always leads it: for a worker that keeps nothing (Connect's standalone)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from twinlog.logs.topic import KeyValue, LogRecord
from twinlog.model.clock import SYSTEM_CLOCK

State = TypeVar("State")


class MemoryLog(Generic[State]):
    """Offers what an elected log offers (elected.py)."""

    leads = True

    def __init__(
        self, start: State, apply: Callable[[State, LogRecord], State], on_elected: Callable[[], None]
    ) -> None:
        self.state = start
        self.position = 0
        self._apply = apply
        self._on_elected = on_elected

    def open(self) -> State:
        """This process leads at once."""
        self._on_elected()
        return self.state

    def lead(self, records: Sequence[KeyValue]) -> State:
        """As `append`."""
        return self.append(records)

    def append(self, records: Sequence[KeyValue]) -> State:
        """Keep records until the process ends."""
        for key, value in records:
            self.state = self._apply(self.state, LogRecord(self.position, SYSTEM_CLOCK.now_ms(), key, value))
            self.position += 1
        return self.state

    def announce(self, text: str) -> None:
        """Nobody listens."""

    def members(self) -> tuple[str, ...]:
        """There is no other process."""
        return ()

    def close(self) -> None:
        """Nothing is open."""
