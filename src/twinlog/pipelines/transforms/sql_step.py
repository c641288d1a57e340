"""Sql: a transform written in Spark's SQL. Made on the driver.

    transforms.t.type=Sql
    transforms.t.select=value.id, upper(value.name) AS name, value.price * 1.19 AS gross
    transforms.t.where=value.price > 0

`key`, `value`, `topic`, `partition`, `offset`, `timestamp` (milliseconds) and `headers` can be named. A value without a
schema is a variant: `variant_get(value, '$.name', 'string')`. What `select` makes has a schema. Records
without a value stay so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, DecimalType, StructType, TimestampNTZType, TimestampType, VariantType

from twinlog.pipelines.plan import SIDES
from twinlog.pipelines.records import PlanRefused, RecordColumns, Shape, Side
from twinlog.pipelines.schemas import DATE, DECIMAL, SCALE, TIMESTAMP, Field, Schema
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.spark.session import active_session

_SHARED: Final = (
    "topic string, partition int, offset bigint, timestamp bigint, headers array<struct<key: string, value: binary>>"
)
_PLAIN: Final = {
    "boolean": "boolean", "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "float": "float",
    "double": "double", "string": "string", "binary": "bytes",
}  # fmt: skip


@setting
class SqlSettings:
    """Keys of Sql."""

    select: str = Setting("select", "the new value: expressions with names, as after SELECT", "")
    key: str = Setting("key.select", "the new key: expressions with names, as after SELECT", "")
    where: str = Setting("where", "records for which this is not true are left out", "")


class Sql:
    """A step in SQL."""

    also: ClassVar = ("io.twinlog.transforms.Sql",)
    settings: ClassVar = SqlSettings
    sides: ClassVar = ("key", "value")

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(SqlSettings, config)
        if not (self.s.select or self.s.key or self.s.where):
            raise SettingsRefused([Finding("select", "a Sql step needs select, key.select or where")])

    def apply(self, record: RecordColumns) -> RecordColumns:
        after = record
        for side, text in zip(SIDES, (self.s.key, self.s.select), strict=True):
            if text:
                after = self._selected(record, after, side, text)
        if self.s.where:
            self._type(record, self.s.where, "where")
            keep = _over(record, f"({self.s.where})")
            after = replace(after, drop=~F.coalesce(keep.cast("boolean"), F.lit(False)))
        return after

    def _selected(self, record: RecordColumns, after: RecordColumns, side: Side, text: str) -> RecordColumns:
        kind = self._type(record, f"struct({text})", "select")
        if not isinstance(kind, StructType):
            raise PlanRefused(f"select: {text}: is no list of expressions")
        made = _over(record, f"struct({text})")
        fields, columns = [], []
        for field in kind.fields:
            fields.append(Field(field.name, replace(schema_of(field.dataType, field.name), optional=True)))
            columns.append(_physical(made.getField(field.name), field.dataType).alias(field.name))
        schema = Schema("struct", fields=tuple(fields))
        there = F.isnotnull(record.value) if side == "value" else F.lit(True)
        return after.with_part(side, F.when(there, F.struct(*columns)), Shape(schema))

    def _type(self, record: RecordColumns, text: str, where: str) -> DataType:
        """The type of an expression. Raises PlanRefused with Spark's reason."""
        own = ", ".join(f"{side} {_spark(record, side)}" for side in SIDES)
        try:
            frame = active_session().createDataFrame([], f"{own}, {_SHARED}")
            return frame.selectExpr(f"{text} AS v").schema["v"].dataType
        except PySparkException as error:
            reason = str(error).strip().split("\n")[0]
            raise PlanRefused(f"{where}: {reason}") from error


def _spark(record: RecordColumns, side: Side) -> str:
    schema = record.shape(side).schema
    return "variant" if schema is None else schema.spark()


def _over(record: RecordColumns, text: str) -> Column:
    """An expression in which `key` and `value` stand for the columns of the record, as parameters of lambdas."""
    key, value = (_name(record.part(side)) for side in SIDES)
    inner = f"element_at(transform(array({value}), value -> {text}), 1)"
    return F.expr(f"element_at(transform(array({key}), key -> {inner}), 1)")


def _name(column: Any) -> str:
    """The name of a column of the plan."""
    return f"`{column._jc.toString()}`"  # noqa: SLF001  pyspark has no other way


def schema_of(kind: DataType, name: str) -> Schema:
    """The Connect schema of a Spark type. Raises PlanRefused."""
    if isinstance(kind, DecimalType):
        return Schema("bytes", name=DECIMAL, version=1, parameters=((SCALE, str(kind.scale)),))
    if isinstance(kind, TimestampType | TimestampNTZType):
        return Schema("int64", name=TIMESTAMP, version=1)
    if isinstance(kind, DateType):
        return Schema("int32", name=DATE, version=1)
    if isinstance(kind, VariantType):
        raise PlanRefused(f"select: {name} is still a variant; use variant_get with a type")
    if isinstance(kind, StructType):
        fields = tuple(
            Field(field.name, replace(_inner(field.dataType, field.name), optional=True)) for field in kind.fields
        )
        return Schema("struct", fields=fields)
    inner: Any = kind
    if kind.typeName() == "array":
        return Schema("array", values=replace(_inner(inner.elementType, name), optional=True))
    if kind.typeName() == "map":
        values = replace(_inner(inner.valueType, name), optional=True)
        return Schema("map", keys=_inner(inner.keyType, name), values=values)
    plain = _PLAIN.get(kind.simpleString())
    if plain is None:
        raise PlanRefused(f"select: {name} has the type {kind.simpleString()}, which records cannot hold; use CAST")
    return Schema(plain)  # type: ignore[arg-type]


def _inner(kind: DataType, name: str) -> Schema:
    if isinstance(kind, DateType | TimestampType | TimestampNTZType | DecimalType):
        raise PlanRefused(f"select: {name} holds a {kind.simpleString()} inside; use CAST to a number or a string")
    return schema_of(kind, name)


def _physical(column: Column, kind: DataType) -> Column:
    if isinstance(kind, TimestampType | TimestampNTZType):
        return F.unix_millis(column.cast("timestamp"))
    if isinstance(kind, DateType):
        return F.unix_date(column)
    if isinstance(kind, DecimalType):
        return column.cast(f"decimal(38,{kind.scale})")
    return column
