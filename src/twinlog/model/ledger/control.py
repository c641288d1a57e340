"""What an operator ordered for a running link: a limit of bytes, a timetable of limits, paused topics. Pure.

The order is one note in the ledger, so it survives restarts of the engine, and every task hears it within a second.
Times of the timetable are UTC; a window that ends before it begins goes over midnight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from twinlog.model.names import TopicPartition

CONTROL: Final = "control"
WISH: Final = "wish"
_DAY_MIN: Final = 24 * 60
_WINDOW: Final = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)\s*=\s*(\d+)")
SCHEDULE_ALLOWED: Final = "HH:MM-HH:MM=BYTES in UTC, several separated by `;`; 0 is no limit"


class Window(NamedTuple):
    """From one minute of the day until another, such a limit; 0 is no limit."""

    first_min: int
    end_min: int
    bytes_per_second: int

    def holds(self, minute: int) -> bool:
        """Whether a minute of the day lies in it."""
        if self.first_min <= self.end_min:
            return self.first_min <= minute < self.end_min
        return minute >= self.first_min or minute < self.end_min

    def __str__(self) -> str:
        ends = (f"{minute // 60:02}:{minute % 60:02}" for minute in (self.first_min, self.end_min))
        return f"{'-'.join(ends)}={self.bytes_per_second}"


def parse_schedule(text: str) -> tuple[Window, ...]:
    """Read a timetable. Raises ValueError with what is wrong."""
    windows: list[Window] = []
    for part in filter(None, (one.strip() for one in text.split(";"))):
        match = _WINDOW.fullmatch(part)
        if match is None:
            raise ValueError(f"`{part}` is none of {SCHEDULE_ALLOWED}")
        from_h, from_m, to_h, to_m, limit = map(int, match.groups())
        first, end = from_h * 60 + from_m, to_h * 60 + to_m
        if max(from_m, to_m) > 59 or first >= _DAY_MIN or end > _DAY_MIN or first == end:
            raise ValueError(f"`{part}`: no such time of day, or an empty window")
        windows.append(Window(first, end, limit))
    return tuple(windows)


@dataclass(frozen=True)
class Control:
    """The order. `bytes_per_second` None: the settings file decides; 0: no limit."""

    bytes_per_second: int | None = None
    schedule: tuple[Window, ...] = ()
    topics: frozenset[str] = frozenset()
    partitions: frozenset[TopicPartition] = frozenset()
    by: str = field(default="", compare=False)
    at_ms: int = field(default=0, compare=False)

    def paused(self, partition: TopicPartition) -> bool:
        """Whether an operator paused it, or its topic."""
        return partition.topic in self.topics or partition in self.partitions

    def limit_at(self, now_ms: int, otherwise: int) -> int:
        """Return the limit at this time in bytes a second, 0 for none; `otherwise` is that of the settings."""
        minute = now_ms // 60_000 % _DAY_MIN
        for window in self.schedule:
            if window.holds(minute):
                return window.bytes_per_second
        return otherwise if self.bytes_per_second is None else self.bytes_per_second

    def with_paused(self, topics: Iterable[str], partitions: Iterable[TopicPartition]) -> Control:
        """Return the order with more paused."""
        return replace(self, topics=self.topics | {*topics}, partitions=self.partitions | {*partitions})

    def with_resumed(self, topics: Iterable[str], partitions: Iterable[TopicPartition]) -> Control:
        """Return the order with less paused; a topic takes its partitions along."""
        gone = {*topics}
        left = frozenset(p for p in self.partitions - {*partitions} if p.topic not in gone)
        return replace(self, topics=self.topics - gone, partitions=left)

    @property
    def held(self) -> tuple[str, ...]:
        """The names of what is paused."""
        return (*sorted(self.topics), *map(str, sorted(self.partitions)))

    def body(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        return {
            "bytes_per_second": self.bytes_per_second,
            "schedule": "; ".join(map(str, self.schedule)),
            "topics": sorted(self.topics),
            "partitions": [list(one) for one in sorted(self.partitions)],
            "by": self.by,
            "at_ms": self.at_ms,
        }


def control_of(body: Mapping[str, Any] | None) -> Control:
    """As the ledger kept it; nothing was ordered where there is no note."""
    if body is None:
        return Control()
    limit = body.get("bytes_per_second")
    return Control(
        None if limit is None else int(limit),
        parse_schedule(str(body.get("schedule", ""))),
        frozenset(map(str, body.get("topics", ()))),
        frozenset(TopicPartition(str(topic), int(number)) for topic, number in body.get("partitions", ())),
        str(body.get("by", "")),
        int(body.get("at_ms", 0)),
    )


@dataclass
class Pace:
    """Lets bytes through at a limited rate: what goes over it is waited for before more is asked for.

    Debt is allowed, because the size of an answer is known only when it is there; the average keeps the limit.
    """

    bytes_per_second: float = 0.0  # 0: no limit
    _credit: float = 0.0
    _at_s: float | None = None

    def limit(self, bytes_per_second: float, now_s: float) -> None:
        """Change the limit; debts stay, in bytes."""
        self._earn(now_s)
        self.bytes_per_second = bytes_per_second
        self._credit = min(self._credit, bytes_per_second)

    def spend(self, size: int, now_s: float) -> None:
        """Count bytes that came."""
        if self.bytes_per_second > 0:
            self._earn(now_s)
            self._credit -= size

    def wait_s(self, now_s: float) -> float:
        """How long nothing may be asked for."""
        if self.bytes_per_second <= 0:
            return 0.0
        self._earn(now_s)
        return max(0.0, -self._credit / self.bytes_per_second)

    def fetch_bytes(self, streams: int) -> int | None:
        """How much one of so many streams should ask for at once; None without a limit."""
        if self.bytes_per_second <= 0:
            return None
        return max(_LEAST_FETCH, int(self.bytes_per_second * _FETCH_S / max(1, streams)))

    def _earn(self, now_s: float) -> None:
        if self._at_s is not None:
            # At most one second's worth is saved up: after a pause there is no burst.
            earned = (now_s - self._at_s) * self.bytes_per_second
            self._credit = min(self.bytes_per_second, self._credit + earned)
        self._at_s = now_s


_LEAST_FETCH: Final = 16_384
_FETCH_S: Final = 0.25
