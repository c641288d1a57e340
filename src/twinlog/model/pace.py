"""Keeps a rate on average: bytes and records of a link, whichever limit is reached first. Pure.

Debt is allowed, because the size of an answer is known only when it is there; what goes over the limit is waited for
before more is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

_LEAST_FETCH: Final = 16_384
_FETCH_S: Final = 0.25
_NEW_SHARE: Final = 0.2
"""How much the last answer counts in the mean size of a record."""


class Limits(NamedTuple):
    """Most bytes and most records a second; 0 is no limit."""

    bytes_per_second: float = 0
    records_per_second: float = 0

    def share(self, part: float) -> Limits:
        """Return the part that one of several tasks has."""
        return Limits(self.bytes_per_second * part, self.records_per_second * part)


NO_LIMITS: Final = Limits()


@dataclass
class Bucket:
    """One rate; 0 is none."""

    per_second: float = 0.0
    _credit: float = 0.0
    _at_s: float | None = None

    def limit(self, per_second: float, now_s: float) -> None:
        """Change the rate; debts stay."""
        self._earn(now_s)
        self.per_second = per_second
        self._credit = min(self._credit, per_second)

    def spend(self, amount: float, now_s: float) -> None:
        """Count what came."""
        if self.per_second > 0:
            self._earn(now_s)
            self._credit -= amount

    def wait_s(self, now_s: float) -> float:
        """How long nothing may be asked for."""
        if self.per_second <= 0:
            return 0.0
        self._earn(now_s)
        return max(0.0, -self._credit / self.per_second)

    def _earn(self, now_s: float) -> None:
        if self._at_s is not None:
            # At most one second's worth is saved up: after a pause there is no burst.
            earned = (now_s - self._at_s) * self.per_second
            self._credit = min(self.per_second, self._credit + earned)
        self._at_s = now_s


@dataclass
class Pace:
    """Bytes and records of one task."""

    limits: Limits = field(default_factory=Limits)
    _bytes: Bucket = field(default_factory=Bucket)
    _records: Bucket = field(default_factory=Bucket)
    _record_bytes: float | None = None  # mean size; unknown before the first answer

    def limit(self, limits: Limits, now_s: float) -> None:
        """Change the limits; debts stay."""
        self.limits = limits
        self._bytes.limit(limits.bytes_per_second, now_s)
        self._records.limit(limits.records_per_second, now_s)

    def spend(self, size: int, records: int, now_s: float) -> None:
        """Subtract the bytes and records of a fetch answer from what may be read."""
        self._bytes.spend(size, now_s)
        self._records.spend(records, now_s)
        if size and records:
            mean = size / records
            known = mean if self._record_bytes is None else self._record_bytes
            self._record_bytes = known + (mean - known) * _NEW_SHARE

    def wait_s(self, now_s: float) -> float:
        """How long nothing may be asked for."""
        return max(self._bytes.wait_s(now_s), self._records.wait_s(now_s))

    def fetch_bytes(self, streams: int) -> int | None:
        """How much one of so many streams should ask for at once; None without a limit."""
        rates = [self.limits.bytes_per_second] if self.limits.bytes_per_second > 0 else []
        if self.limits.records_per_second > 0:
            rates.append(self.limits.records_per_second * (self._record_bytes or 0.0))
        return max(_LEAST_FETCH, int(min(rates) * _FETCH_S / max(1, streams))) if rates else None
