"""The order of a table's keys: in statements, and of values from the log. Pure.

A key is kept as literals of SQL, one per column. A SELECT compares them with the table's columns; `ranks` and `rank`
compare them with the raw values of the log. Texts have an order that only the server knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from twinlog.pipelines.sources.binlog.catalogue import Stream
from twinlog.pipelines.sources.binlog.columns import BINARIES, INTEGERS, Column
from twinlog.pipelines.sources.binlog.values import logged_moments

_NUMBERS: Final = INTEGERS | {"bit", "enum", "set", "year"}
_FLOATS: Final = frozenset({"float", "double"})
_MOMENTS: Final = frozenset({"date", "datetime", "timestamp", "time"})
_NO_DATE: Final = -(1 << 62)
"""A date such as 0000-00-00 stands before all others."""


def keys_of(stream: Stream) -> list[Column]:
    return [stream.columns[stream.table.place(name)] for name in stream.table.key]


def described(stream: Stream) -> str:
    """Names and types of the key: a key that was altered has another order."""
    return "\x1f".join(f"{key.name} {key.kind}" for key in keys_of(stream))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _compared(column: Column) -> str:
    """The column where it is compared with a literal: lists of values are ordered by their numbers."""
    return f"{quoted(column.name)} + 0" if column.kind in {"enum", "set"} else quoted(column.name)


def literal(column: Column) -> str:
    """An expression that gives the column's value as SQL would write it."""
    name = quoted(column.name)
    if column.kind in {"bit", "enum", "set"}:
        return f"{name} + 0"
    if column.kind in _NUMBERS or column.kind == "decimal":
        return name
    if column.kind in _FLOATS:
        return f"{name} + 0e0"  # the text of a FLOAT has six digits only
    if column.kind in BINARIES:
        return f"CONCAT('x''', HEX({name}), '''')"
    return f"QUOTE({name})"


def behind(keys: Sequence[Column], after: Sequence[str]) -> str:
    """(a, b) > (1, 2), written so that the index is used."""
    names = [_compared(key) for key in keys]
    cases = []
    for n, name in enumerate(names):
        equal = [f"{other} = {value}" for other, value in zip(names[:n], after, strict=False)]
        cases.append("(" + " AND ".join([*equal, f"{name} > {after[n]}"]) + ")")
    return "(" + " OR ".join(cases) + ")"


def rank(column: Column, text: str) -> Any:
    """What a literal is compared as."""
    kind, inside = column.kind, text[1:-1]
    if kind in _NUMBERS:
        return int(text)
    if kind in _FLOATS:
        return float(text)
    if kind in BINARIES:
        return bytes.fromhex(text[2:-1])
    if kind == "decimal":
        return Decimal(text)
    if kind == "time":
        return _time(inside)
    if inside.startswith("0000-00"):
        return _NO_DATE
    if kind == "date":
        return (date.fromisoformat(inside) - date(1970, 1, 1)).days
    return (datetime.fromisoformat(inside) - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001


def ranks(column: Column, raw: Sequence[Any]) -> list[Any]:
    """What raw values of the log are compared as."""
    kind = column.kind
    if kind in _MOMENTS:
        return [_NO_DATE if value is None else value for value in logged_moments(column, raw)]
    if kind == "decimal":
        return [Decimal(value).scaleb(-column.scale) for value in raw]
    if kind == "year":
        return [value and value + 1900 for value in raw]
    if kind == "binary":
        return [value.ljust(column.size, b"\0") for value in raw]  # the log leaves zeros at the end out
    return list(raw)


def _time(text: str) -> int:
    """Microseconds of `-838:59:59.000000`."""
    whole, _, part = text.lstrip("-").partition(".")
    hours, minutes, seconds = (int(digits) for digits in whole.split(":"))
    micros = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int(part.ljust(6, "0"))
    return -micros if text.startswith("-") else micros
