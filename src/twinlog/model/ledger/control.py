"""What an operator ordered for a running link: limits, a timetable of limits, topics first, paused topics. Pure.

The order is one note in the ledger, so it survives restarts of the engine, and every task hears it within a second.
Times of the timetable are UTC; a window that ends before it begins goes over midnight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from twinlog.model.names import TopicPartition
from twinlog.model.pace import Limits
from twinlog.model.selection import Patterns

CONTROL: Final = "control"
WISH: Final = "wish"
_DAY_MIN: Final = 24 * 60
_WINDOW: Final = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)\s*=\s*(.+)")
_AMOUNT: Final = re.compile(r"(\d+)(?:\s*(bytes|records))?")
SCHEDULE_ALLOWED: Final = (
    "HH:MM-HH:MM=LIMIT in UTC, several separated by `;`; LIMIT is `5000000` (bytes a second), `2000 records`, "
    "`5000000 bytes, 2000 records`, or `none`"
)


class Window(NamedTuple):
    """From one minute of the day until another, such limits; 0 is none. A rate that is None is as outside of it."""

    first_min: int
    end_min: int
    bytes_per_second: int | None = None
    records_per_second: int | None = None

    def holds(self, minute: int) -> bool:
        """Whether a minute of the day lies in it."""
        if self.first_min <= self.end_min:
            return self.first_min <= minute < self.end_min
        return minute >= self.first_min or minute < self.end_min

    def over(self, outside: Limits) -> Limits:
        """Return the limits within it."""
        return Limits(
            outside.bytes_per_second if self.bytes_per_second is None else self.bytes_per_second,
            outside.records_per_second if self.records_per_second is None else self.records_per_second,
        )

    def __str__(self) -> str:
        ends = (f"{minute // 60:02}:{minute % 60:02}" for minute in (self.first_min, self.end_min))
        rates = [] if self.bytes_per_second is None else [f"{self.bytes_per_second} bytes"]
        if self.records_per_second is not None:
            rates.append(f"{self.records_per_second} records")
        lifted = (self.bytes_per_second, self.records_per_second) == (0, 0)
        return f"{'-'.join(ends)}={'none' if lifted else ', '.join(rates)}"


def parse_schedule(text: str) -> tuple[Window, ...]:
    """Read a timetable. Raises ValueError with what is wrong."""
    windows: list[Window] = []
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        match = _WINDOW.fullmatch(part)
        if match is None:
            raise ValueError(f"`{part}` is none of {SCHEDULE_ALLOWED}")
        from_h, from_m, to_h, to_m = map(int, match.groups()[:4])
        first, end = from_h * 60 + from_m, to_h * 60 + to_m
        if max(from_m, to_m) > 59 or first >= _DAY_MIN or end > _DAY_MIN or first == end:
            raise ValueError(f"`{part}`: no such time of day, or an empty window")
        windows.append(Window(first, end, *_rates(part, match.group(5))))
    return tuple(windows)


def _rates(part: str, text: str) -> tuple[int | None, int | None]:
    """Read the limits of one window. A bare 0 lifts both: that is what `full speed at night` means."""
    if text.strip() in {"none", "0"}:
        return 0, 0
    rates: dict[str, int] = {}
    for amount in text.split(","):
        match = _AMOUNT.fullmatch(amount.strip())
        unit = None if match is None else match.group(2) or "bytes"
        if match is None or unit is None or unit in rates:
            raise ValueError(f"`{part}` is none of {SCHEDULE_ALLOWED}")
        rates[unit] = int(match.group(1))
    return rates.get("bytes"), rates.get("records")


@dataclass(frozen=True)
class FileLimits:
    """What the settings file says, for as long as nothing else is ordered."""

    limits: Limits = field(default_factory=Limits)
    schedule: tuple[Window, ...] = ()
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class Control:
    """The order. A limit or list that is None: the settings file decides; a limit of 0 is none."""

    bytes_per_second: int | None = None
    schedule: tuple[Window, ...] = ()
    topics: frozenset[str] = frozenset()
    partitions: frozenset[TopicPartition] = frozenset()
    by: str = field(default="", compare=False)
    at_ms: int = field(default=0, compare=False)
    records_per_second: int | None = None
    first: tuple[str, ...] | None = None  # expressions over topics that are copied before all others

    def paused(self, partition: TopicPartition) -> bool:
        """Whether an operator paused it, or its topic."""
        return partition.topic in self.topics or partition in self.partitions

    def limits_at(self, now_ms: int, of_file: FileLimits) -> Limits:
        """Return the limits at this time."""
        ordered = self.schedule or (self.bytes_per_second, self.records_per_second) != (None, None)
        outside = Window(0, 0, self.bytes_per_second, self.records_per_second).over(of_file.limits)
        minute = now_ms // 60_000 % _DAY_MIN
        for window in self.schedule if ordered else of_file.schedule:
            if window.holds(minute):
                return window.over(outside)
        return outside

    def first_of(self, of_file: FileLimits) -> Patterns:
        """Return the expressions over topics that are copied first."""
        return Patterns(of_file.first if self.first is None else self.first)

    def same_reading(self, other: Control) -> bool:
        """Whether the same partitions are read, in the same lanes: then no new plan is needed."""
        return (self.topics, self.partitions, self.first) == (other.topics, other.partitions, other.first)

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
            "records_per_second": self.records_per_second,
            "first": None if self.first is None else list(self.first),
            "schedule": "; ".join(map(str, self.schedule)),
            "topics": sorted(self.topics),
            "partitions": [list(partition) for partition in sorted(self.partitions)],
            "by": self.by,
            "at_ms": self.at_ms,
        }


def control_of(body: Mapping[str, Any] | None) -> Control:
    """As the ledger kept it; nothing was ordered where there is no note."""
    if body is None:
        return Control()
    first = body.get("first")
    return Control(
        _whole(body.get("bytes_per_second")),
        parse_schedule(str(body.get("schedule", ""))),
        frozenset(map(str, body.get("topics", ()))),
        frozenset(TopicPartition(str(topic), int(number)) for topic, number in body.get("partitions", ())),
        str(body.get("by", "")),
        int(body.get("at_ms", 0)),
        _whole(body.get("records_per_second")),
        None if first is None else tuple(map(str, first)),
    )


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
