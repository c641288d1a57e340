"""Two tables compared: key ranges, comparable rows, what differs. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["missing", "extra", "different"]
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  columns without a time zone are in UTC
_DAY: Final = date(1970, 1, 1)


class KeyRange(NamedTuple):
    """Keys from `low` to `high`, both included. None: no bound."""

    low: int | None
    high: int | None


class Difference(NamedTuple):
    """One row that is not the same on both sides."""

    kind: Kind
    key: str
    source: str  # the columns that differ, with their values
    target: str


@dataclass(frozen=True)
class Comparison:
    """What a comparison found."""

    source_rows: int
    target_rows: int
    columns: tuple[str, ...]
    left_out: tuple[str, ...]  # columns that only one side has
    differences: list[Difference] = field(default_factory=list)

    def count(self, kind: Kind) -> int:
        return sum(1 for difference in self.differences if difference.kind == kind)


def ranges(low: int | None, high: int | None, parts: int) -> list[KeyRange]:
    """Ranges that cover every key, at most `parts` inner ones; keys outside of what was seen belong to the ends."""
    if low is None or high is None:
        return [KeyRange(None, None)]
    parts = max(1, min(parts, high - low + 1))
    bounds = [low + (high - low + 1) * number // parts for number in range(1, parts)]
    starts, ends = [None, *bounds], [*[bound - 1 for bound in bounds], None]
    return [KeyRange(start, end) for start, end in zip(starts, ends, strict=True)]


def comparable(value: Any) -> str | None:
    """A value in a form that is the same for every database: 1.50 and 1.5, true and 1, times as microseconds."""
    match value:
        case None:
            return None
        case bool():
            return str(int(value))
        case Decimal() | int():
            text = format(Decimal(value), "f")
            return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case bytes():
            return "0x" + value.hex()
        case datetime():
            return str((value.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1))
        case date():
            return str((value - _DAY).days)
        case time():
            return str(((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000)
        case _:
            return str(value)


Rows: TypeAlias = Mapping[str, tuple[str | None, ...]]


def rows_by_key(
    rows: Iterable[Mapping[str, Any]], key: str, columns: Sequence[str]
) -> dict[str, tuple[str | None, ...]]:
    """Rows in comparable form by their key. Raises ValueError where a key names several rows."""
    by_key: dict[str, tuple[str | None, ...]] = {}
    for row in rows:
        named = str(comparable(row[key]))
        if named in by_key:
            raise ValueError(f"{key}={named} names several rows; choose a column with --key that names one")
        by_key[named] = tuple(comparable(row[name]) for name in columns)
    return by_key


def digest(rows: Rows) -> str:
    """A hash of all rows, whatever their order."""
    total = 0
    for key, row in rows.items():
        total ^= int.from_bytes(hashlib.blake2b(repr((key, row)).encode(), digest_size=16).digest(), "big")
    return f"{total:032x}"


def differences(source: Rows, target: Rows, columns: Sequence[str]) -> list[Difference]:
    """Rows that are missing on the target, extra on it, or different."""
    differing = [Difference("missing", key, _shown(source[key], columns), "") for key in source.keys() - target.keys()]
    differing += [Difference("extra", key, "", _shown(target[key], columns)) for key in target.keys() - source.keys()]
    for key in source.keys() & target.keys():
        source_row, target_row = source[key], target[key]
        if source_row != target_row:
            at = [n for n, pair in enumerate(zip(source_row, target_row, strict=True)) if pair[0] != pair[1]]
            names = [columns[n] for n in at]
            shown = _shown([source_row[n] for n in at], names), _shown([target_row[n] for n in at], names)
            differing.append(Difference("different", key, *shown))
    return sorted(differing, key=lambda difference: (difference.kind, len(difference.key), difference.key))


def _shown(row: Sequence[str | None], columns: Sequence[str]) -> str:
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in zip(columns, row, strict=True))
