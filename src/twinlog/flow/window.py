"""How much may be under way on one line: as much as it carries within a round trip, twice over. Pure.

A line of 80 ms that carries 100 MB/s has 8 MB inside. Who sends less and waits for the answer leaves it empty part of
the time; who sends much more only makes a queue before it. Both are measured while data flows:

    round trip   the quickest answer so far: no line answers faster than it can, a busy one answers later
    rate         bytes answered between the sending of a request and its answer, the best of the last seconds

Twice the product lets the rate double with each round trip until it grows no more. A short line (a millisecond or two)
comes out at less than the few requests that are always allowed, so there the window changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

FEW: Final = 5
"""Requests that are always allowed. It is also how many batches of a producer a broker remembers per partition."""
_GAIN: Final = 2.0
_REMEMBERED_S: Final = 5.0


class Departure(NamedTuple):
    """One request as it leaves."""

    at: float
    size: int
    answered_before: int


@dataclass
class Window:
    """One line, one direction."""

    round_trip_s: float = float("inf")
    requests: int = 0
    held: int = 0  # bytes under way
    _answered: int = 0
    _best: float = 0.0
    _best_before: float = 0.0
    _turned_at: float = float("-inf")

    @property
    def bytes(self) -> int:
        """What the line wants to hold; 0 as long as nothing is known."""
        rate = max(self._best, self._best_before)
        return int(_GAIN * rate * self.round_trip_s) if rate else 0

    @property
    def is_open(self) -> bool:
        """Whether one more request may leave."""
        return self.requests < FEW or self.held < self.bytes

    def depart(self, now: float, size: int) -> Departure:
        """A request leaves."""
        self.requests += 1
        self.held += size
        return Departure(now, size, self._answered)

    def answer(self, departure: Departure, now: float, size: int | None = None) -> None:
        """It was answered; `size`: of the answer, where that is what fills the line."""
        self._leave(departure)
        self._answered += departure.size if size is None else size
        took = max(1e-6, now - departure.at)
        self.round_trip_s = min(self.round_trip_s, took)
        if now - self._turned_at >= _REMEMBERED_S:
            self._best_before, self._best, self._turned_at = self._best, 0.0, now
        self._best = max(self._best, (self._answered - departure.answered_before) / took)

    def fail(self, departure: Departure) -> None:
        """It will never be answered."""
        self._leave(departure)

    def _leave(self, departure: Departure) -> None:
        self.requests -= 1
        self.held -= departure.size
