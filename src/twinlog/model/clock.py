"""The wall clock, as a value that tests can replace.

Whoever needs the time of day takes a `Clock`; `SYSTEM_CLOCK` is the one of this machine.
"""

from __future__ import annotations

import time
from typing import Final, Protocol


class Clock(Protocol):
    """Tells the time since 1970."""

    def now_ms(self) -> int:
        """Milliseconds since 1970: Kafka's unit."""

    def now_us(self) -> int:
        """Microseconds since 1970: for durations between two processes."""

    def now_ns(self) -> int:
        """Nanoseconds since 1970: OpenTelemetry's unit."""

    def now_s(self) -> float:
        """Seconds since 1970: the unit of tokens and files."""


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def now_us(self) -> int:
        """Microseconds since 1970."""
        return time.time_ns() // 1_000

    def now_ns(self) -> int:
        """Nanoseconds since 1970."""
        return time.time_ns()

    def now_s(self) -> float:
        """Seconds since 1970."""
        return time.time()


SYSTEM_CLOCK: Final = SystemClock()
