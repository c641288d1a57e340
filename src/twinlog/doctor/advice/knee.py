"""Where more of a setting no longer pays: the knee of a measured curve. Pure.

The knee is the smallest value whose speed is within a tenth of the best one. Beyond it more costs processor and memory
and brings little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

ENOUGH: Final = 0.9
SHORT_S: Final = 2.0
"""A run that took less than this tells little: starting and ending weigh too much in it."""


@dataclass(frozen=True)
class SweepPoint:
    """One value of the setting, measured."""

    value: str
    records: int
    bytes: int
    seconds: float
    cpu_seconds: float | None
    whole: bool  # everything was copied within the time that a value has

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds if self.seconds > 0 else 0.0

    @property
    def bytes_per_second(self) -> float:
        """The speed in bytes."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def cpu_per_gb(self) -> float | None:
        """Seconds of processor for each gigabyte."""
        return None if self.cpu_seconds is None or not self.bytes else self.cpu_seconds / self.bytes * 1e9

    @property
    def remark(self) -> str:
        """What keeps the figure from being taken at its word."""
        if not self.records:
            return "nothing was copied within the time of a value"
        return "short: give it more bytes" if self.whole and self.seconds < SHORT_S else ""


@dataclass(frozen=True)
class Sweep:
    """A setting over its values."""

    link: str
    setting: str
    points: tuple[SweepPoint, ...]
    left_behind: tuple[str, ...] = ()  # what could not be deleted

    @property
    def best(self) -> SweepPoint | None:
        """The fastest one; None where nothing was copied."""
        moved = [point for point in self.points if point.records]
        return max(moved, key=lambda point: point.records_per_second, default=None)

    @property
    def knee(self) -> SweepPoint | None:
        """The first value that is nearly as fast as the best one."""
        return knee_of(self.points)

    def verdict(self) -> str:
        """Say it in one sentence."""
        knee, best = self.knee, self.best
        if knee is None or best is None:
            return "nothing was copied: there is no knee"
        said = f"{self.setting} = {knee.value}: {knee.records_per_second:,.0f} records/s"
        if knee is best:
            return f"{said} is the best of the values that were tried"
        share = knee.records_per_second / best.records_per_second
        return f"{said} is {share:.0%} of the best ({best.value}: {best.records_per_second:,.0f}); more brings little"

    def as_json(self) -> dict[str, Any]:
        points = []
        for point in self.points:
            rates = {"records_per_second": point.records_per_second, "bytes_per_second": point.bytes_per_second}
            points.append(asdict(point) | rates | {"cpu_seconds_per_gb": point.cpu_per_gb, "remark": point.remark})
        knee = None if self.knee is None else self.knee.value
        facts = {"link": self.link, "setting": self.setting, "knee": knee, "verdict": self.verdict()}
        return facts | {"points": points, "left_behind": list(self.left_behind)}


def knee_of(points: Sequence[SweepPoint]) -> SweepPoint | None:
    """Return the first point, in the order of values, that reaches nine tenths of the best; None without any."""
    best = max((point.records_per_second for point in points), default=0.0)
    return next((point for point in points if best and point.records_per_second >= ENOUGH * best), None)
