"""TimestampConverter: times as text, numbers or Connect's Date, Time and Timestamp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.expressions import path, variant_null
from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.schemas import DATE, TIME, TIMESTAMP, Field, Schema
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.pipelines.transforms.sides import KAFKA, Sided, changed_struct, is_object, kind_of, needs_object

_DAY_MS: Final = 86_400_000
_PRECISIONS: Final = {"seconds": 1_000, "milliseconds": 1, "microseconds": -1_000, "nanoseconds": -1_000_000}
_SCHEMAS: Final = {
    "string": Schema("string"),
    "unix": Schema("int64"),
    "date": Schema("int32", name=DATE, version=1),
    "time": Schema("int32", name=TIME, version=1),
    "timestamp": Schema("int64", name=TIMESTAMP, version=1),
}
_UNPARSED: Final = "Could not parse timestamp: value "


@setting
class TimestampConverterSettings:
    """Keys of TimestampConverter."""

    field: str = Setting("field", "the field; empty: the whole value", "")
    target: str = Setting("target.type", "what to make", choices=("string", "unix", "Date", "Time", "Timestamp"))
    format: str = Setting("format", "letters of SimpleDateFormat, for text", "")
    precision: str = Setting("unix.precision", "of numbers", "milliseconds", choices=tuple(_PRECISIONS))
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


class _TimestampConverter(Sided):
    settings = TimestampConverterSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(TimestampConverterSettings, config)
        if self.s.target == "string" and not self.s.format:
            raise SettingsRefused([Finding("format", "must be set when target.type is string")])
        self.members = (self.s.field,) if self.s.field else ()

    def apply(self, record: RecordColumns) -> RecordColumns:
        if self.s.field:
            record = needs_object(record, self.side, "converting timestamp formats")
        column, schema = record.part(self.side), record.shape(self.side).schema
        if schema is None:
            return self._documents(record, column)
        if not self.s.field:
            millis, failed = self._millis(column, schema)
            after = self._schema(optional=schema.optional)
            record = record.with_part(self.side, self._made(millis), Shape(after))
            return record.refused_when(failed, _UNPARSED)
        if schema.type != "struct":
            return record
        failures: list[Column] = []

        def change(field: Field, its: Column) -> tuple[Field, Column]:
            if field.name != self.s.field:
                return field, its
            millis, failed = self._millis(its, field.schema)
            failures.append(failed)
            return Field(field.name, self._schema(optional=field.schema.optional)), self._made(millis)

        made, after = changed_struct(column, schema, change)
        record = record.with_part(self.side, made, Shape(after))
        return record.refused_when(failures[0], _UNPARSED) if failures else record

    def _schema(self, *, optional: bool) -> Schema:
        wanted = _SCHEMAS[self.s.target]
        return Schema(wanted.type, optional, wanted.name, wanted.version)

    def _millis(self, column: Column, schema: Schema) -> tuple[Column, Column]:
        """Milliseconds since 1970 of any of the five forms, and where there is none."""
        there = F.isnotnull(column)
        match (schema.name, schema.type):
            case (name, "int32") if name == DATE:
                return column.cast("bigint") * _DAY_MS, F.lit(False)
            case (name, _) if name in {TIME, TIMESTAMP}:
                return column.cast("bigint"), F.lit(False)
            case (_, "int64"):
                return self._of_unix(column), F.lit(False)
            case (_, "string"):
                parsed = self._of_text(column)
                return parsed, there & F.isnull(parsed)
            case _:
                return F.lit(None).cast("bigint"), there

    def _of_unix(self, column: Column) -> Column:
        factor = _PRECISIONS[self.s.precision]
        return column * factor if factor > 0 else _towards_zero(column, -factor)

    def _of_text(self, column: Column) -> Column:
        if not self.s.format:
            return F.lit(None).cast("bigint")
        return F.unix_millis(F.try_to_timestamp(column, F.lit(self.s.format)))

    def _made(self, millis: Column) -> Column:
        match self.s.target:
            case "string":
                return F.date_format(F.timestamp_millis(millis), self.s.format)
            case "unix":
                factor = _PRECISIONS[self.s.precision]
                return _towards_zero(millis, factor) if factor > 0 else millis * -factor
            case "date":
                return F.floor(millis / _DAY_MS).cast("int")
            case "time":
                return F.pmod(millis, F.lit(_DAY_MS)).cast("int")
            case _:
                return millis

    def _documents(self, record: RecordColumns, column: Column) -> RecordColumns:
        part = F.try_variant_get(column, path(self.s.field), "variant") if self.s.field else column
        its = record.kinds.get(self.s.field, kind_of(part))
        of_text = self._of_text(F.try_variant_get(part, "$", "string"))
        of_number = self._of_unix(F.try_variant_get(part, "$", "bigint"))
        millis = F.when(its == "STRING", of_text).when(its == "BIGINT", of_number)
        failed = F.isnotnull(its) & (its != "VOID") & F.isnull(millis)
        made = self._made(millis).cast("variant")
        if not self.s.field:
            return record.with_part(self.side, made).refused_when(failed, _UNPARSED)
        there = is_object(record, self.side)
        put = F.variant_set(column, path(self.s.field), F.coalesce(made, variant_null()))
        record = record.with_part(self.side, F.when(there, put).otherwise(column), keeps_object=True)
        return record.refused_when(there & F.coalesce(failed, F.lit(False)), _UNPARSED)


def _towards_zero(column: Column, divisor: int) -> Column:
    """Division of Java's longs."""
    return ((column - column % divisor) / divisor).cast("bigint")


class TimestampConverterKey(_TimestampConverter):
    """TimestampConverter on keys."""

    also, side = (f"{KAFKA}.TimestampConverter$Key",), "key"


class TimestampConverterValue(_TimestampConverter):
    """TimestampConverter on values."""

    also, side = (f"{KAFKA}.TimestampConverter$Value",), "value"
