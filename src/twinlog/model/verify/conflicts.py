"""What writing on both sides of a pair came to: keys with records of both sides close in time. Pure.

    sticky     all records of the key were written on one side
    conflict   two neighbouring records of a key, in order of time, from different sides, within the window

Neighbours are enough: where any two records of both sides are within the window, two neighbours between them are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Written:
    """Where and when one record was written."""

    side: str
    partition: int
    offset: int
    at_ms: int

    def __str__(self) -> str:
        return f"{self.side} {self.partition}@{self.offset}"


@dataclass(frozen=True)
class ConflictingKey:
    """A key that was written on both sides within the window."""

    topic: str
    key: str  # as text, as hexadecimal, or only a hash
    conflicts: int
    records: dict[str, int]  # by side
    gap_ms: int  # the shortest time between two records of both sides
    earlier: Written
    later: Written


@dataclass(frozen=True)
class TopicConflicts:
    """Keys of one topic that were written on both sides."""

    topic: str
    records: dict[str, int]  # by side; with a key
    without_key: int
    keys: int
    both_sides: int  # keys that are not sticky
    conflicting: int
    conflicts: int

    @property
    def not_sticky(self) -> float | None:
        """The share of keys that were written on both sides; None without keys."""
        return self.both_sides / self.keys if self.keys else None


@dataclass
class ConflictReport:
    """Both logs of a pair over a time."""

    link: str
    sides: tuple[str, str]
    from_ms: int
    to_ms: int
    window_ms: int
    topics: list[TopicConflicts] = field(default_factory=list)
    keys: list[ConflictingKey] = field(default_factory=list)  # the worst ones
    one_side: list[str] = field(default_factory=list)  # topics that exist on one side only
    troubles: list[str] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def conflicts(self) -> int:
        return sum(topic.conflicts for topic in self.topics)

    @property
    def not_sticky(self) -> float | None:
        """The share of keys of all topics that are not sticky; None without keys."""
        keys = sum(topic.keys for topic in self.topics)
        return sum(topic.both_sides for topic in self.topics) / keys if keys else None

    def verdict(self) -> str:
        """Say it in one sentence."""
        if self.troubles:
            return f"not known: {len(self.troubles)} of the partitions could not be read"
        keys, seconds = sum(topic.keys for topic in self.topics), self.window_ms / 1000
        if not keys:
            return "no record with a key was written in this time"
        if not self.conflicts:
            return f"no key was written on both sides within {seconds:g} s"
        clashing = sum(topic.conflicting for topic in self.topics)
        told = f"{clashing:,} of {keys:,} keys were written on both sides within {seconds:g} s"
        return f"{self.conflicts:,} conflict{'' if self.conflicts == 1 else 's'}: {told}"

    def as_json(self) -> dict[str, Any]:
        return {
            "link": self.link,
            "from_ms": self.from_ms,
            "to_ms": self.to_ms,
            "window_ms": self.window_ms,
            "verdict": self.verdict(),
            "conflicts": self.conflicts,
            "not_sticky": self.not_sticky,
            "topics": [vars(topic) | {"not_sticky": topic.not_sticky} for topic in self.topics],
            "keys": [vars(key) | {"earlier": vars(key.earlier), "later": vars(key.later)} for key in self.keys],
            "one_side_only": self.one_side,
            "troubles": self.troubles,
            "took_seconds": round(self.took_s, 1),
        }


def shown_key(key: bytes, whole: bool) -> str:
    """Return a key as people read it; `whole` tells that nothing was cut off."""
    try:
        text = key.decode()
        text = text if text.isprintable() else key.hex()
    except UnicodeDecodeError:
        text = key.hex()
    return text if whole else f"{text}…"
