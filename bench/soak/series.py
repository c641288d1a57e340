"""Whether a figure that was read again and again has grown. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

SPREADS = 2.0
SMALL_SHARE = 0.03


@dataclass(frozen=True)
class Trend:
    """A line through the readings."""

    middle: float
    growth: float  # over the time of the readings
    spread: float  # of the readings around the line

    @property
    def allowed(self) -> float:
        return max(SPREADS * self.spread, SMALL_SHARE * self.middle)

    @property
    def is_flat(self) -> bool:
        return self.growth <= self.allowed


def trend(times: Sequence[float], values: Sequence[float]) -> Trend:
    """The straight line that fits best. Raises ValueError for less than ten readings, which show nothing."""
    if len(values) < 10:
        raise ValueError(f"{len(values)} readings are too few for a trend")
    slope, intercept = statistics.linear_regression(times, values)
    rest = [value - (intercept + slope * at) for at, value in zip(times, values, strict=True)]
    return Trend(statistics.mean(values), slope * (times[-1] - times[0]), statistics.pstdev(rest))
