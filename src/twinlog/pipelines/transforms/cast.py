"""Cast: change the type of fields, or of a whole key or value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute
from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.arrow.documents import Members, Unfit
from twinlog.pipelines.expressions import any_of, path, variant_null
from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.schemas import NUMBERS, Field, Schema
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.pipelines.transforms.sides import KAFKA, Sided, changed_struct, is_object, kind_of, needs_object

pc: Any = pyarrow.compute
_TYPES: Final = {
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "float32": "float", "float64": "double",
    "boolean": "boolean", "string": "string",
}  # fmt: skip
_WHOLE: Final = r"^[+-]?[0-9]+$"
_FLOATS: Final = r"^\s*[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)\s*$"
_WIDTHS: Final = {"int8": 1 << 7, "int16": 1 << 15, "int32": 1 << 31}
_FAILED: Final = "Cast transformation: "


@setting
class CastSettings:
    """Keys of Cast."""

    spec: tuple[str, ...] = Setting("spec", "field:type, comma separated, or one type for the whole value")
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


class _Cast(Sided):
    settings = CastSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        s = read_settings(CastSettings, config)
        self.whole: str | None = None
        self.fields: dict[str, str] = {}
        for entry in s.spec:
            name, colon, kind = entry.rpartition(":")
            if kind.strip().lower() not in _TYPES:
                raise SettingsRefused([Finding("spec", f"{entry!r}: the type must be one of {', '.join(_TYPES)}")])
            if colon:
                self.fields[name.strip()] = _TYPES[kind.strip().lower()]
            else:
                self.whole = _TYPES[kind.strip().lower()]
        if self.whole and self.fields:
            raise SettingsRefused(
                [Finding("spec", "a type for the whole value and types of fields exclude each other")]
            )

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(self.fields)

    def apply(self, record: RecordColumns) -> RecordColumns:
        column, schema = record.part(self.side), record.shape(self.side).schema
        if self.whole is not None:
            if schema is None:
                made, failed = _document_cast(column, self.whole)
                return record.with_part(self.side, made.cast("variant")).refused_when(failed, _FAILED)
            made, failed = cast_column(column, schema, self.whole)
            after = Schema(self.whole, schema.optional)  # type: ignore[arg-type]
            return record.with_part(self.side, made, Shape(after)).refused_when(failed, _FAILED)
        record = needs_object(record, self.side, "cast types")
        if schema is None:
            return self._documents(record, column)
        if schema.type != "struct":
            return record
        failures: list[Column] = []

        def change(field: Field, its: Column) -> tuple[Field, Column]:
            kind = self.fields.get(field.name)
            if kind is None:
                return field, its
            made, failed = cast_column(its, field.schema, kind)
            failures.append(failed)
            return Field(field.name, Schema(kind, field.schema.optional)), made  # type: ignore[arg-type]

        made, after = changed_struct(column, schema, change)
        return record.with_part(self.side, made, Shape(after)).refused_when(any_of(failures), _FAILED)

    def on_columns(self, members: Members) -> Members:
        if self.whole is not None:
            raise Unfit("documents become something else")
        for name, kind in self.fields.items():
            members = members.with_column(name, _column_cast(members.there(name), kind))
        return members

    def _documents(self, record: RecordColumns, column: Column) -> RecordColumns:
        made, failures = column, []
        for name, kind in self.fields.items():
            part = F.try_variant_get(column, path(name), "variant")
            value, failed = _document_cast(part, kind, record.kinds.get(name))
            made = F.variant_set(made, path(name), F.coalesce(value.cast("variant"), variant_null()))
            failures.append(failed)
        there = is_object(record, self.side)
        made = F.when(there & ~any_of(failures), made).otherwise(column)
        record = record.with_part(self.side, made, keeps_object=True)
        return record.refused_when(there & any_of(failures), _FAILED)


def cast_column(column: Column, schema: Schema, kind: str) -> tuple[Column, Column]:
    """A typed column cast as Java does, and where that fails."""
    there = F.isnotnull(column)
    spark = Schema(kind).spark()  # type: ignore[arg-type]
    if schema.type in {"struct", "array", "map"} or (
        schema.type == "bytes" and not schema.is_decimal and kind != "string"
    ):
        return F.lit(None).cast(spark), there
    if schema.type == "string":
        return _of_text(column, kind)
    if schema.type == "boolean":
        return (column.cast("string") if kind == "string" else column.cast("int").cast(spark)), F.lit(False)
    if schema.type == "bytes" and not schema.is_decimal:
        return F.base64(column), F.lit(False)
    if kind == "string":
        return column.cast("string"), F.lit(False)
    if kind == "boolean":
        return column.cast("bigint") != 0, F.lit(False)
    if schema.type in NUMBERS or schema.is_decimal:
        return column.cast(spark), F.lit(False)
    return F.lit(None).cast(spark), there


def _of_text(column: Column, kind: str) -> tuple[Column, Column]:
    there = F.isnotnull(column)
    if kind == "string":
        return column, F.lit(False)
    if kind == "boolean":
        return F.lower(column) == "true", F.lit(False)
    spark = Schema(kind).spark()  # type: ignore[arg-type]
    pattern = _FLOATS if kind in {"float", "double"} else _WHOLE
    made = F.when(column.rlike(pattern), F.trim(column).cast(spark))
    return made, there & F.isnull(made)


def _document_cast(part: Column, kind: str, known: Column | None = None) -> tuple[Column, Column]:
    """A part of a document cast as Java does: whole numbers are longs, all others doubles."""
    its = kind_of(part) if known is None else known
    text = F.try_variant_get(part, "$", "string")
    long = F.try_variant_get(part, "$", "bigint")
    double = F.try_variant_get(part, "$", "double")
    flag = F.try_variant_get(part, "$", "boolean")
    spark = Schema(kind).spark()  # type: ignore[arg-type]
    of_text, text_failed = _of_text(text, kind)
    is_text, is_long, is_flag = its == "STRING", its == "BIGINT", its == "BOOLEAN"
    is_double = its.startswith("DECIMAL") | (its == "DOUBLE") | (its == "FLOAT")
    if kind == "string":
        of_long, of_double, of_flag = long.cast("string"), double.cast("string"), flag.cast("string")
    elif kind == "boolean":
        of_long, of_double, of_flag = long != 0, double.cast("bigint") != 0, flag
    else:
        of_long, of_double, of_flag = long.cast(spark), double.cast(spark), flag.cast("int").cast(spark)
    made = F.when(is_text, of_text).when(is_long, of_long).when(is_double, of_double).when(is_flag, of_flag)
    known = is_text | is_long | is_double | is_flag | (its == "VOID")
    failed = F.isnotnull(part) & (~known | (is_text & text_failed))
    return made.cast(spark), F.coalesce(failed, F.lit(False))


def _column_cast(column: Any, kind: str) -> Any:
    """A column of documents cast as Java does. Raises Unfit where Java does it in its own way, or fails."""
    its = column.type
    if pa.types.is_string(its) and kind == "string":
        return column
    if isinstance(column, pa.Scalar):
        raise Unfit("a constant is cast")
    if pa.types.is_int64(its) and kind in _WIDTHS:
        ends = pc.min_max(column)
        if any(abs(end.as_py() or 0) >= _WIDTHS[kind] for end in (ends["min"], ends["max"])):
            raise Unfit(f"a number does not fit into {kind}")
        return column
    if pa.types.is_int64(its) or pa.types.is_boolean(its):
        made = {"string": pa.string(), "boolean": pa.bool_(), "double": pa.float64(), "int64": pa.int64()}
        if kind in made and not (pa.types.is_boolean(its) and kind == "double"):
            return column.cast(made[kind])
    raise Unfit(f"{its} becomes {kind}")


class CastKey(_Cast):
    """Cast on keys."""

    also, side = (f"{KAFKA}.Cast$Key",), "key"


class CastValue(_Cast):
    """Cast on values."""

    also, side = (f"{KAFKA}.Cast$Value",), "value"
