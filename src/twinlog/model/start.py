"""Where a link begins to read a partition that it has never copied. Pure; decided in the settings, used by planning."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

# Whole milliseconds from here: going through float seconds loses one now and then.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Earliest:
    """From the first record that the source still holds."""

    def __str__(self) -> str:
        return "earliest"


@dataclass(frozen=True)
class Latest:
    """Only what is written after the link saw the partition first."""

    def __str__(self) -> str:
        return "latest"


@dataclass(frozen=True)
class AtTime:
    """From the first record whose timestamp is not before this one (milliseconds since 1970, UTC)."""

    ms: int

    def __str__(self) -> str:
        return (_EPOCH + timedelta(milliseconds=self.ms)).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class AtGroup:
    """Where a consumer group of the source stands. A partition that it never read is read from its first record."""

    group: str

    def __str__(self) -> str:
        return f"{_GROUP}{self.group}"


StartFrom: TypeAlias = Earliest | Latest | AtTime | AtGroup

_GROUP = "group:"
STARTS_ALLOWED = (
    "earliest, latest, an ISO-8601 time such as 2026-01-31T08:00:00Z, milliseconds since 1970, "
    "or group:NAME for the offsets of a consumer group of the source"
)
# The last millisecond that datetime can show; beyond it `str(AtTime)` would fail long after the file was accepted.
_LAST_MS = 253_402_300_799_999


def parse_start(text: str) -> StartFrom:
    """Read what an operator writes; a time without zone is UTC, so that the file means the same on every machine."""
    word = text.strip()
    match word.lower():
        case "earliest":
            return Earliest()
        case "latest":
            return Latest()
    if word.lower().startswith(_GROUP) and word[len(_GROUP) :].strip():
        return AtGroup(word[len(_GROUP) :].strip())
    if word.isascii() and word.isdigit():
        # Ten digits are seconds by every human measure (2001..2286); as milliseconds they would mean January 1970.
        if len(word) <= 10 or int(word) > _LAST_MS:
            msg = f"{word} is not a time in milliseconds since 1970"
            raise ValueError(msg)
        return AtTime(int(word))
    moment = datetime.fromisoformat(word)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return AtTime((moment - _EPOCH) // timedelta(milliseconds=1))
