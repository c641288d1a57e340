"""Columns of MySQL and MariaDB, as a table's definition and as the log has them, and their Connect schemas. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from twinlog.pipelines.schemas import DATE, DECIMAL, PRECISION, SCALE, TIME, TIMESTAMP, Field, Schema, TypeName
from twinlog.pipelines.sources.binlog import table_map as log
from twinlog.pipelines.sources.binlog.settings import BinlogSettings
from twinlog.pipelines.sources.debezium.envelope import ENUM

ENUM_SET: Final = "io.debezium.data.EnumSet"
BITS: Final = "io.debezium.data.Bits"
MICRO_TIME: Final = "io.debezium.time.MicroTime"
MICRO_TIMESTAMP: Final = "io.debezium.time.MicroTimestamp"
ZONED: Final = "io.debezium.time.ZonedTimestamp"
_MOST_DIGITS: Final = 38
_KINDS: Final = {
    log.TINY: "tinyint", log.SHORT: "smallint", log.INT24: "mediumint", log.LONG: "int", log.LONGLONG: "bigint",
    log.FLOAT: "float", log.DOUBLE: "double", log.NEWDECIMAL: "decimal", log.DATE: "date", log.YEAR: "year",
    log.TIME2: "time", log.DATETIME2: "datetime", log.TIMESTAMP2: "timestamp", log.BIT: "bit", log.ENUM: "enum",
    log.SET: "set", log.JSON: "json", log.GEOMETRY: "geometry",
}  # fmt: skip
_CODES: Final = {name: kind for kind, name in _KINDS.items()}
_SIGNED: Final[dict[str, TypeName]] = {
    "tinyint": "int16", "smallint": "int16", "mediumint": "int32", "int": "int32", "bigint": "int64",
}  # fmt: skip
_UNSIGNED: Final[dict[str, TypeName]] = {
    "tinyint": "int16", "smallint": "int32", "mediumint": "int32", "int": "int64", "bigint": "int64",
}  # fmt: skip
INTEGERS: Final = frozenset(_SIGNED)
BINARIES: Final = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
TEXTS: Final = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
GEOMETRIES: Final = frozenset({"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring",
                               "multipolygon", "geometrycollection", "geomcollection"})  # fmt: skip
_BLOBS: Final = {"tiny": 1, "": 2, "medium": 3, "long": 4}
KNOWN: Final = INTEGERS | BINARIES | TEXTS | GEOMETRIES | frozenset(
    {"float", "double", "decimal", "date", "year", "time", "datetime", "timestamp", "bit", "enum", "set", "json"}
)  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    kind: str
    nullable: bool
    unsigned: bool = False
    size: int = 0  # bytes of a text, digits of a decimal, bits, digits of a second
    scale: int = 0
    values: tuple[str, ...] = ()
    charset: str = ""
    in_key: bool = False
    default: str | None = None


def column_of(
    name: str, column_type: str, *, nullable: bool, octets: int | None, charset: str | None, in_key: bool,
    default: str | None,
) -> Column:  # fmt: skip
    """A column of `information_schema`; `column_type` is such as `decimal(10,2) unsigned`."""
    text = column_type.lower()
    kind = re.split(r"[ (]", text, maxsplit=1)[0]
    inside = text.partition("(")[2].rpartition(")")[0]
    numbers = [int(digits) for digits in re.findall(r"\d+", inside)] if kind not in {"enum", "set"} else []
    size, scale = [*numbers, 0, 0][:2]
    if kind in {"tinyint", "smallint", "mediumint", "int", "bigint", "year"}:
        size = 0
    if kind in TEXTS | BINARIES:
        size = octets or 0
    kind = {"integer": "int", "numeric": "decimal", "geomcollection": "geometrycollection"}.get(kind, kind)
    values = _values(column_type) if kind in {"enum", "set"} else ()
    return Column(
        name, kind, nullable, "unsigned" in text.rpartition(")")[2] or text.endswith(" unsigned"), size, scale, values,
        charset or "", in_key, default,
    )  # fmt: skip


def _values(column_type: str) -> tuple[str, ...]:
    return tuple(value.replace("''", "'") for value in re.findall(r"'((?:[^']|'')*)'", column_type))


def same_layout(column: Column, logged: log.LogColumn) -> bool:
    """Whether a column of a table's definition is the one that the log has."""
    if column.nullable != logged.nullable:
        return False
    code, meta = _layout(column)
    if code is None:
        return logged.kind in {log.STRING, log.VARCHAR, log.BLOB}
    same = code == logged.kind and meta in {None, logged.meta}
    if logged.name:
        unsigned = column.kind not in INTEGERS or column.unsigned == logged.unsigned
        binary = logged.collation is None or column.kind not in TEXTS | BINARIES or (
            (logged.collation == log.BINARY) == (column.kind in BINARIES))  # fmt: skip
        return same and unsigned and binary and column.name == logged.name
    return same


def _layout(column: Column) -> tuple[int | None, int | None]:
    kind, size = column.kind, column.size
    if kind in {"char", "binary"}:
        return log.STRING, size
    if kind in {"varchar", "varbinary"}:
        return log.VARCHAR, size
    if kind in TEXTS | BINARIES:
        return log.BLOB, _BLOBS[re.sub("text|blob", "", kind)]
    if kind == "decimal":
        return log.NEWDECIMAL, size | column.scale << 8
    if kind == "bit":
        return log.BIT, size // 8 << 8 | size % 8
    if kind in {"time", "datetime", "timestamp"}:
        return _CODES[kind], size
    if kind == "enum":
        return log.ENUM, 1 if len(column.values) < 256 else 2
    if kind == "set":
        return log.SET, next(size for size in (1, 2, 3, 4, 8) if len(column.values) <= size * 8)
    if kind in GEOMETRIES:
        return log.GEOMETRY, None
    return _CODES.get(kind), None


def logged_column(in_log: log.LogColumn, charset: str, *, in_key: bool) -> Column:
    """A column that the log alone describes; its names are there."""
    kind, size, scale = _KINDS.get(in_log.kind, ""), 0, 0
    binary = in_log.collation == log.BINARY
    if in_log.kind == log.STRING:
        kind, size = "binary" if binary else "char", in_log.meta
    elif in_log.kind in {log.VARCHAR, log.VAR_STRING}:
        kind, size = "varbinary" if binary else "varchar", in_log.meta
    elif in_log.kind == log.BLOB:
        kind = {part: size for size, part in _BLOBS.items()}[in_log.meta] + ("blob" if binary else "text")
    elif in_log.kind == log.NEWDECIMAL:
        size, scale = in_log.meta & 255, in_log.meta >> 8
    elif in_log.kind == log.BIT:
        size = (in_log.meta >> 8) * 8 + (in_log.meta & 255)
    elif in_log.kind in {log.TIME2, log.DATETIME2, log.TIMESTAMP2}:
        size = in_log.meta
    values = tuple(value.decode(errors="replace") for value in in_log.values)
    named = kind or f"kind {in_log.kind}"
    return Column(in_log.name, named, in_log.nullable, in_log.unsigned, size, scale, values, charset, in_key)


def column_schema(column: Column, s: BinlogSettings) -> Schema:
    """The schema that Debezium gives the column."""
    return replace(_schema(column, s), optional=column.nullable)


def _schema(column: Column, s: BinlogSettings) -> Schema:
    kind = column.kind
    if kind in INTEGERS:
        if kind == "bigint" and column.unsigned and s.bigints == "precise":
            return _decimal(20, 0)
        return Schema((_UNSIGNED if column.unsigned else _SIGNED)[kind])
    if kind == "decimal":
        if s.decimals != "precise":
            return Schema("double" if s.decimals == "double" else "string")
        # Decimals of Spark have 38 digits at most. A text keeps every digit of a longer one.
        return Schema("string") if column.size > _MOST_DIGITS else _decimal(column.size, column.scale)
    if kind in {"float", "double"}:
        return Schema("float" if kind == "float" and not column.scale and column.size <= 24 else "double")
    if kind in BINARIES:
        return Schema("bytes" if s.binary == "bytes" else "string")
    if kind == "bit":
        if column.size <= 1:
            return Schema("boolean")
        return Schema("bytes", name=BITS, version=1, parameters=(("length", str(column.size)),))
    if kind in {"enum", "set"}:
        named = ENUM if kind == "enum" else ENUM_SET
        return Schema("string", name=named, version=1, parameters=(("allowed", ",".join(column.values)),))
    if kind in GEOMETRIES:
        return _geometry(kind)
    if kind == "year":
        return Schema("int32", name="io.debezium.time.Year", version=1)
    if kind == "json":
        return Schema("string", name="io.debezium.data.Json", version=1)
    return _time(column, s) or Schema("string")


def _time(column: Column, s: BinlogSettings) -> Schema | None:
    connect = s.times == "connect"
    match column.kind:
        case "date":
            return Schema("int32", name=DATE if connect else "io.debezium.time.Date", version=1)
        case "time":
            return Schema("int32", name=TIME, version=1) if connect else Schema("int64", name=MICRO_TIME, version=1)
        case "datetime":
            if connect:
                return Schema("int64", name=TIMESTAMP, version=1)
            coarse = column.size <= 3
            return Schema("int64", name="io.debezium.time.Timestamp" if coarse else MICRO_TIMESTAMP, version=1)
        case "timestamp":
            return Schema("string", name=ZONED, version=1)
    return None


def _decimal(precision: int, scale: int) -> Schema:
    return Schema("bytes", name=DECIMAL, version=1, parameters=((SCALE, str(scale)), (PRECISION, str(precision))))


def _geometry(kind: str) -> Schema:
    srid = Field("srid", Schema("int32", optional=True))
    if kind == "point":
        place = (Field("x", Schema("double")), Field("y", Schema("double")))
        fields = (*place, Field("wkb", Schema("bytes", optional=True)), srid)
        return Schema("struct", name="io.debezium.data.geometry.Point", version=1, fields=fields)
    return Schema("struct", name="io.debezium.data.geometry.Geometry", version=1,
                  fields=(Field("wkb", Schema("bytes")), srid))  # fmt: skip
