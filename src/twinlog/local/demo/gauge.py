"""Rates, lag and latency out of counters that only grow. Sampled by the story several times a second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from twinlog.local.demo.load import PacedLoad
from twinlog.local.demo.tail import TargetTail

_RATE_WINDOW_S = 2.0
_LATENCY_WINDOW_S = 5.0
_HISTORY = 240


@dataclass(frozen=True)
class Reading:
    """What the instruments show at one moment. A latency of None: nothing arrived lately."""

    produced: int = 0
    arrived: int = 0
    lag: int = 0
    source_rate: float = 0.0
    target_rate: float = 0.0
    p50_ms: float | None = None
    p99_ms: float | None = None
    source_rates: tuple[float, ...] = ()
    target_rates: tuple[float, ...] = ()
    lags: tuple[float, ...] = ()


class Gauge:
    """Reads the load and the tail. Histories have one point a second, the newest last."""

    def __init__(self, load: PacedLoad, tail: TargetTail) -> None:
        """Nothing is sampled yet."""
        self._load = load
        self._tail = tail
        self._samples: deque[tuple[float, int, int]] = deque()
        self._points: deque[tuple[float, float, int]] = deque(maxlen=_HISTORY)
        self._next_point = 0.0

    def read(self) -> Reading:
        """Take a sample and return what it means together with the earlier ones."""
        now = time.monotonic()
        produced, arrived = sum(self._load.acknowledged.values()), self._tail.arrived
        lag = self.lag
        self._samples.append((now, produced, arrived))
        while now - self._samples[0][0] > _RATE_WINDOW_S:
            self._samples.popleft()
        then, produced_then, arrived_then = self._samples[0]
        elapsed = max(now - then, 0.001)
        source_rate = (produced - produced_then) / elapsed
        target_rate = (arrived - arrived_then) / elapsed
        if now >= self._next_point:
            self._next_point = now + 1.0
            self._points.append((source_rate, target_rate, lag))
        latencies = self._tail.latencies_ms(now - _LATENCY_WINDOW_S)
        return Reading(
            produced,
            arrived,
            lag,
            source_rate,
            target_rate,
            quantile(latencies, 0.5),
            quantile(latencies, 0.99),
            tuple(point[0] for point in self._points),
            tuple(point[1] for point in self._points),
            tuple(float(point[2]) for point in self._points),
        )

    @property
    def lag(self) -> int:
        """Records the source has acknowledged and no consumer of the target has seen yet."""
        reached = self._tail.reached
        return sum(max(0, count - reached[partition]) for partition, count in self._load.acknowledged.items())


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the value below which that share of the sorted values lies; None when there are none."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None
