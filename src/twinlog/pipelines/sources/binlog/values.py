"""Arrow columns of raw values: of the log, and of the texts that a SELECT answers. Pure.

Values come as whole lists. Times are packed numbers in the log; they are taken apart by Arrow's kernels.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.schemas import TIME, TIMESTAMP, Schema
from twinlog.pipelines.sources.binlog.charsets import codec_of
from twinlog.pipelines.sources.binlog.columns import BINARIES, GEOMETRIES, INTEGERS, TEXTS, Column
from twinlog.pipelines.sources.binlog.json_binary import json_text
from twinlog.pipelines.sources.binlog.settings import BinlogSettings

Make = Callable[[Sequence[Any]], Any]
_LONG: Final = pa.int64()
_DAY_US: Final = 86_400_000_000
_WHOLE: Final = {"io.debezium.time.Timestamp", TIMESTAMP, TIME}
"""Schemas that hold milliseconds."""


def log_maker(column: Column, schema: Schema, s: BinlogSettings) -> Make:
    """A function from the raw values of the log."""
    kind, want = column.kind, arrow_type(schema)
    if kind == "date":
        return _filled(schema, lambda raw: _days(pa.array(raw, _LONG)).cast(want))
    if kind in {"datetime", "timestamp", "time"}:
        unpack = _UNPACKED[kind]
        shown = _moment(column, schema, padded=True)
        return _filled(schema, lambda raw: shown(unpack(pa.array(raw, _LONG), column.size)))
    if kind == "year":
        return lambda raw: pa.array([None if value is None else value and value + 1900 for value in raw], want)
    if kind == "decimal":
        return _decimals(column, schema)
    if kind in {"enum", "set"}:
        return _listed(column)
    if kind == "json":
        return lambda raw: pa.array([None if value is None else json_text(value) for value in raw], want)
    if kind in BINARIES:
        return _bytes(column, s)
    if kind in TEXTS:
        return _text(column)
    return _common(column, schema)


def logged_moments(column: Column, raw: Sequence[Any]) -> list[int | None]:
    """Days or microseconds of raw values of the log; None for dates such as 0000-00-00."""
    packed = pa.array(raw, _LONG)
    made = _days(packed) if column.kind == "date" else _UNPACKED[column.kind](packed, column.size)
    values: list[int | None] = made.to_pylist()
    return values


def text_maker(column: Column, schema: Schema, s: BinlogSettings) -> Make:
    """A function from the texts of a SELECT, whose columns are written as `selected` says."""
    kind, want = column.kind, arrow_type(schema)
    if kind == "date":
        return _filled(schema, lambda raw: _numbers(raw).cast(want))
    if kind in {"datetime", "timestamp", "time"}:
        shown = _moment(column, schema, padded=False)
        return _filled(schema, lambda raw: shown(_numbers(raw)))
    if kind in BINARIES:
        return _bytes(column, s)
    if kind == "bit":
        common = _common(column, schema)
        return lambda raw: common([None if value is None else int(value) for value in raw])
    if kind in GEOMETRIES:
        return _common(column, schema)
    if kind in INTEGERS or kind in {"year", "float", "double", "decimal"}:
        return lambda raw: pa.array(raw, pa.binary()).cast(pa.string()).cast(want)
    return lambda raw: pa.array(raw, pa.binary()).cast(pa.string())


def selected(column: Column, schema: Schema) -> str:
    """The column in a SELECT, in a form that Arrow reads."""
    name = "`" + column.name.replace("`", "``") + "`"
    match column.kind:
        case "date":
            return f"TO_DAYS({name}) - 719528"
        case "datetime" | "timestamp":
            return f"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {name})"
        case "time":
            micros = f"MICROSECOND({name})"
            # The seconds of MariaDB have a fraction, those of MySQL have none.
            return f"TRUNCATE(TIME_TO_SEC({name}), 0) * 1000000 + IF({name} < '00:00:00', -{micros}, {micros})"
        case "float":
            return f"{name} + 0e0"  # its own text has six digits only
        case "bit":
            return f"{name} + 0"
        case "bigint" if column.unsigned and schema.type == "int64":
            return f"CAST({name} AS SIGNED)"
    return name


def _numbers(raw: Sequence[Any]) -> Any:
    """Whole numbers of texts; `12.000000` is one, too."""
    return (
        pa.array([None if value is None else value.partition(b".")[0] for value in raw], pa.binary())
        .cast(pa.string())
        .cast(_LONG)
    )


def _common(column: Column, schema: Schema) -> Make:
    kind, want = column.kind, arrow_type(schema)
    if kind == "bit":
        if schema.type == "boolean":
            return lambda raw: pa.array([None if value is None else bool(value) for value in raw], want)
        size = (column.size + 7) // 8
        return lambda raw: pa.array([None if value is None else value.to_bytes(size, "little") for value in raw], want)
    if kind in GEOMETRIES:
        return lambda raw: pa.array([None if value is None else _geometry(value, kind) for value in raw], want)
    if kind == "bigint" and column.unsigned and schema.type == "int64":
        return lambda raw: pa.array(raw, pa.uint64()).view(_LONG)
    if schema.is_decimal:
        return lambda raw: pa.array([None if value is None else Decimal(value) for value in raw], want)
    return lambda raw: pa.array(raw, want)


def _filled(schema: Schema, make: Make) -> Make:
    """Dates such as 0000-00-00 are null; where null is forbidden, they are the beginning of time."""
    if schema.optional:
        return make
    nothing = "1970-01-01T00:00:00Z" if schema.type == "string" else 0
    return lambda raw: pc.fill_null(make(raw), nothing)


def _days(packed: Any) -> Any:
    return _civil(
        pc.shift_right(packed, 9), pc.bit_wise_and(pc.shift_right(packed, 5), 15), pc.bit_wise_and(packed, 31)
    )


def _civil(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970 of dates; null where a part is zero."""
    early = pc.less_equal(month, pa.scalar(2))
    year_ = pc.subtract(year, early.cast(_LONG))
    era = pc.divide(year_, 400)
    of_era = pc.subtract(year_, pc.multiply(era, 400))
    shifted = pc.add(month, pc.if_else(early, 9, -3))
    of_year = pc.add(pc.divide(pc.add(pc.multiply(shifted, 153), 2), 5), pc.subtract(day, 1))
    leap = pc.subtract(pc.divide(of_era, 4), pc.divide(of_era, 100))
    days = pc.add(pc.add(pc.multiply(of_era, 365), leap), of_year)
    epoch_days = pc.subtract(pc.add(pc.multiply(era, 146097), days), 719468)
    real = pc.and_(pc.greater(month, pa.scalar(0)), pc.greater(day, pa.scalar(0)))
    return pc.if_else(real, epoch_days, pa.scalar(None, _LONG))


def _fraction(packed: Any, precision: int) -> tuple[Any, Any]:
    """The whole part of a packed time, and its microseconds."""
    size = (precision + 1) // 2
    if not size:
        return packed, 0
    part = pc.bit_wise_and(packed, (1 << 8 * size) - 1)
    return pc.shift_right(packed, 8 * size), pc.multiply(part, (0, 10_000, 100, 1)[size])


def _datetime_us(packed: Any, precision: int) -> Any:
    whole, micros = _fraction(packed, precision)
    months = pc.shift_right(whole, 22)
    year = pc.divide(months, 13)
    day = pc.bit_wise_and(pc.shift_right(whole, 17), 31)
    days = _civil(year, pc.subtract(months, pc.multiply(year, 13)), day)
    seconds = _clock(pc.bit_wise_and(pc.shift_right(whole, 12), 31), whole)
    return pc.add(pc.multiply(days, _DAY_US), pc.add(pc.multiply(seconds, 1_000_000), micros))


def _clock(hours: Any, whole: Any) -> Any:
    minutes, seconds = pc.bit_wise_and(pc.shift_right(whole, 6), 63), pc.bit_wise_and(whole, 63)
    return pc.add(pc.add(pc.multiply(hours, 3600), pc.multiply(minutes, 60)), seconds)


def _timestamp_us(packed: Any, precision: int) -> Any:
    seconds, micros = _fraction(packed, precision)
    made = pc.add(pc.multiply(seconds, 1_000_000), micros)
    return pc.if_else(pc.equal(made, pa.scalar(0)), pa.scalar(None, _LONG), made)


def _time_us(packed: Any, precision: int) -> Any:
    whole, micros = _fraction(pc.abs(packed), precision)
    size = pc.add(pc.multiply(_clock(pc.bit_wise_and(pc.shift_right(whole, 12), 1023), whole), 1_000_000), micros)
    return pc.if_else(pc.less(packed, pa.scalar(0)), pc.negate(size), size)


_UNPACKED: Final = {"datetime": _datetime_us, "timestamp": _timestamp_us, "time": _time_us}


def _moment(column: Column, schema: Schema, *, padded: bool) -> Callable[[Any], Any]:
    """Microseconds in the form that the schema has."""
    if column.kind == "timestamp":
        return lambda micros: zoned(micros, column.size, padded=padded)
    want = arrow_type(schema)
    if schema.name in _WHOLE:
        return lambda micros: pc.divide(micros, 1000).cast(want)
    return lambda micros: micros


def zoned(micros: Any, precision: int, *, padded: bool = False) -> Any:
    """`2026-01-02T03:04:05.6Z`, with at most as many digits as the column has, and no zeros at the end.

    Debezium keeps the zeros of a time that it reads from the log: `padded`.
    """
    whole = pc.strftime(micros.cast(pa.timestamp("us")).cast(pa.timestamp("s"), safe=False), "%Y-%m-%dT%H:%M:%S")
    if not precision:
        return pc.binary_join_element_wise(whole, "Z", "")
    part = pc.subtract(micros, pc.multiply(pc.divide(micros, 1_000_000), 1_000_000))
    digits = pc.utf8_slice_codeunits(pc.utf8_lpad(part.cast(pa.string()), 6, "0"), 0, precision)
    text = pc.binary_join_element_wise(whole, ".", digits, "")
    if padded:
        return pc.binary_join_element_wise(text, "Z", "")
    return pc.binary_join_element_wise(pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), "."), "Z", "")


def _decimals(column: Column, schema: Schema) -> Make:
    """Numbers without their point, as decimals: the same bytes under another type."""
    whole = pa.decimal128(38, 0)
    scaled = pa.decimal128(38, column.scale)

    def make(raw: Sequence[Any]) -> Any:
        if column.size <= 18:
            numbers = pa.array(raw, _LONG).cast(whole)
        else:
            numbers = pa.array([None if value is None else Decimal(value) for value in raw], whole)
        return pa.Array.from_buffers(scaled, len(numbers), numbers.buffers(), numbers.null_count)

    if schema.is_decimal:
        return make
    if schema.type == "double":
        return lambda raw: make(raw).cast(pa.float64())
    point = column.scale
    return lambda raw: pa.array(
        [None if value is None else str(Decimal(value).scaleb(-point)) for value in raw], pa.string()
    )


def _listed(column: Column) -> Make:
    values = column.values
    if column.kind == "enum":
        shown = ("", *values)
        return lambda raw: pa.array([None if value is None else shown[value] for value in raw], pa.string())

    def of_set(mask: int) -> str:
        return ",".join(value for n, value in enumerate(values) if mask >> n & 1)

    return lambda raw: pa.array([None if value is None else of_set(value) for value in raw], pa.string())


def _text(column: Column) -> Make:
    codec = codec_of(column.charset)
    if codec is None:
        return lambda raw: pa.array(raw, pa.binary()).cast(pa.string())
    return lambda raw: pa.array([None if value is None else value.decode(codec) for value in raw], pa.string())


def _bytes(column: Column, s: BinlogSettings) -> Make:
    size = column.size if column.kind == "binary" else 0  # the log leaves zeros at the end out
    if s.binary == "bytes":
        if not size:
            return lambda raw: pa.array(raw, pa.binary())
        return lambda raw: pa.array([None if value is None else value.ljust(size, b"\0") for value in raw], pa.binary())
    shown: Callable[[bytes], str] = bytes.hex if s.binary == "hex" else _base64(s.binary)
    return lambda raw: pa.array(
        [None if value is None else shown(value.ljust(size, b"\0")) for value in raw], pa.string()
    )


def _base64(form: str) -> Callable[[bytes], str]:
    code = base64.urlsafe_b64encode if form == "base64-url-safe" else base64.b64encode
    return lambda raw: code(raw).decode()


def _geometry(raw: bytes, kind: str) -> dict[str, Any]:
    """A number of the reference system, then the well-known bytes."""
    srid, wkb = int.from_bytes(raw[:4], "little") or None, raw[4:]
    if kind != "point":
        return {"wkb": wkb, "srid": srid}
    x, y = struct.unpack("<dd" if wkb[0] else ">dd", wkb[5:21])
    return {"x": x, "y": y, "wkb": wkb, "srid": srid}


__all__ = ["Make", "log_maker", "logged_moments", "selected", "text_maker", "zoned"]
