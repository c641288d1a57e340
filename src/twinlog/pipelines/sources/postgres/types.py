"""PostgreSQL's types: their Connect schemas as Debezium has them, and columns of their texts. Pure."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.schemas import DATE, DECIMAL, PRECISION, SCALE, TIME, TIMESTAMP, Schema
from twinlog.pipelines.sources.postgres.pgoutput import UNCHANGED
from twinlog.pipelines.sources.postgres.settings import PostgresSettings

Make = Callable[[Sequence[Any]], Any]
Convert = Callable[[str], Any]
_MICRO: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  columns without a zone have none
_DAYS: Final = date(1970, 1, 1)
_PLAIN: Final[dict[str, Schema]] = {
    "int2": Schema("int16"), "int4": Schema("int32"), "int8": Schema("int64"), "oid": Schema("int64"),
    "float4": Schema("float"), "float8": Schema("double"), "bool": Schema("boolean"),
    "text": Schema("string"), "varchar": Schema("string"), "bpchar": Schema("string"), "name": Schema("string"),
    "citext": Schema("string"), "inet": Schema("string"), "cidr": Schema("string"), "macaddr": Schema("string"),
    "uuid": Schema("string", name="io.debezium.data.Uuid", version=1),
    "json": Schema("string", name="io.debezium.data.Json", version=1),
    "jsonb": Schema("string", name="io.debezium.data.Json", version=1),
    "xml": Schema("string", name="io.debezium.data.Xml", version=1),
    "timestamptz": Schema("string", name="io.debezium.time.ZonedTimestamp", version=1),
    "timetz": Schema("string", name="io.debezium.time.ZonedTime", version=1),
}  # fmt: skip
_INTEGERS: Final = frozenset({"int2", "int4", "int8", "oid"})
_NO_SCALE: Final = -1
_MOST_DIGITS: Final = 38


def column_schema(kind: str, modifier: int, s: PostgresSettings, *, optional: bool) -> Schema:
    """The schema of a column. A type that is not known is its text."""
    return replace(_schema(kind, modifier, s), optional=optional)


def _schema(kind: str, modifier: int, s: PostgresSettings) -> Schema:
    if kind.startswith("_"):
        return Schema("array", values=replace(_schema(kind[1:], modifier, s), optional=True))
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "numeric":
        return _numeric(modifier, s)
    if kind == "bytea":
        return Schema("bytes" if s.binary == "bytes" else "string")
    is_connect = s.times == "connect"
    if kind == "date":
        return Schema("int32", name=DATE if is_connect else "io.debezium.time.Date", version=1)
    if kind == "timestamp":
        if is_connect:
            return Schema("int64", name=TIMESTAMP, version=1)
        whole = 0 <= modifier <= 3
        return Schema("int64", name=f"io.debezium.time.{'Timestamp' if whole else 'MicroTimestamp'}", version=1)
    if kind == "time":
        if is_connect:
            return Schema("int32", name=TIME, version=1)
        if 0 <= modifier <= 3 and s.times == "adaptive":
            return Schema("int32", name="io.debezium.time.Time", version=1)
        return Schema("int64", name="io.debezium.time.MicroTime", version=1)
    return Schema("string")


def _numeric(modifier: int, s: PostgresSettings) -> Schema:
    if s.decimals != "precise":
        return Schema("double" if s.decimals == "double" else "string")
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    if modifier == _NO_SCALE or precision > _MOST_DIGITS:
        # Debezium has a struct of scale and digits here. A text keeps every digit as well, and all sinks can take it.
        return Schema("string")
    return Schema("bytes", name=DECIMAL, version=1, parameters=((SCALE, str(scale)), (PRECISION, str(precision))))


def column_maker(kind: str, schema: Schema, s: PostgresSettings) -> Make:
    """A function from the texts of a column to its Arrow array."""
    want = arrow_type(schema)
    convert = _converter(kind, schema, s)
    stand_in = _stand_in(schema, s)
    zero = None if schema.optional else _zero(schema)

    def make(texts: Sequence[Any]) -> Any:
        if kind in _INTEGERS and not any(text is UNCHANGED for text in texts):
            filled = texts if zero is None else [str(zero) if text is None else text for text in texts]
            return pa.array(filled, pa.string()).cast(want)
        values = [zero if t is None else stand_in if t is UNCHANGED else convert(t) for t in texts]
        return pa.array(values, want)

    return make


def _zero(schema: Schema) -> Any:
    """What Debezium writes for a column that must not be null, of a deleted row of which only the key is known."""
    if schema.is_decimal:
        return Decimal(0)
    return {"string": "", "bytes": b"", "boolean": False, "array": [], "float": 0.0, "double": 0.0}.get(schema.type, 0)


def _stand_in(schema: Schema, s: PostgresSettings) -> Any:
    if schema.type == "string":
        return s.unavailable
    if schema.type == "bytes" and not schema.is_decimal:
        return s.unavailable.encode()
    if schema.type == "array" and schema.values is not None:
        return [_stand_in(schema.values, s)]
    return None if schema.optional else _zero(schema)


def _converter(kind: str, schema: Schema, s: PostgresSettings) -> Convert:
    if kind.startswith("_") and schema.values is not None:
        inner = _converter(kind[1:], schema.values, s)
        return lambda text: [None if item is None else inner(item) for item in array_items(text)]
    if schema.is_decimal:
        return _decimal
    if kind in _INTEGERS:
        return int
    if kind in {"float4", "float8"} or (kind == "numeric" and schema.type == "double"):
        return float
    if kind == "bool":
        return lambda text: text in {"t", "true"}  # the stream's form, and the one of ::text
    if kind == "bytea":
        return _bytes_form(s)
    if kind == "date":
        return lambda text: (_day(text) - _DAYS).days
    if kind == "timestamp":
        divisor = 1 if schema.name == "io.debezium.time.MicroTimestamp" else 1000
        return lambda text: _micros(text) // divisor
    if kind == "time":
        divisor = 1 if schema.name == "io.debezium.time.MicroTime" else 1000
        return lambda text: _time(text) // divisor
    if kind == "timestamptz":
        return zoned
    return str


def _decimal(text: str) -> Decimal:
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError(f"a column of type numeric holds {text}, which is no decimal; decimal.handling.mode=double")
    return value


def _bytes_form(s: PostgresSettings) -> Convert:
    if s.binary == "hex":
        return lambda text: text[2:]
    if s.binary == "base64":
        return lambda text: base64.b64encode(bytes.fromhex(text[2:])).decode()
    return lambda text: bytes.fromhex(text[2:])


def _day(text: str) -> date:
    if text in {"infinity", "-infinity"}:
        return date.max if text == "infinity" else date.min
    return date.min if text.endswith(" BC") else date.fromisoformat(text)


def _micros(text: str) -> int:
    if text in {"infinity", "-infinity"}:  # Debezium's numbers
        return 9223372036825200000 if text == "infinity" else -9223372036832400000
    if text.endswith(" BC"):
        return -9223372036832400000
    return (datetime.fromisoformat(text) - _EPOCH) // _MICRO


def _time(text: str) -> int:
    if text.startswith("24"):
        return 86_400_000_000
    hours, minutes, seconds = text.split(":")
    whole, _, part = seconds.partition(".")
    return ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 1_000_000 + int(part.ljust(6, "0") or 0)


def zoned(text: str) -> str:
    """`2026-01-02 03:04:05.6+00` as `2026-01-02T03:04:05.600000Z`, as Debezium writes it."""
    if text in {"infinity", "-infinity"} or text.endswith(" BC"):
        return text
    at = datetime.fromisoformat(text).astimezone(UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def array_items(text: str) -> list[str | None]:
    """The items of `{a,"b c",NULL}`; arrays of arrays become one list."""
    items: list[str | None] = []
    at, size = 0, len(text)
    while at < size:
        letter = text[at]
        if letter == '"':
            at += 1
            part = []
            while text[at] != '"':
                at += text[at] == "\\"
                part.append(text[at])
                at += 1
            items.append("".join(part))
            at += 1
        elif letter in "{},":
            at += 1
        else:
            end = at
            while text[end] not in ",}":
                end += 1
            items.append(None if text[at:end] == "NULL" else text[at:end])
            at = end
    return items
