"""MaskField: the zero of its type, or a replacement, instead of a field's value."""

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
from twinlog.pipelines.settings import Setting, read_settings, setting
from twinlog.pipelines.transforms.cast import cast_column
from twinlog.pipelines.transforms.sides import KAFKA, Sided, changed_struct, is_object, kind_of, needs_object

pc: Any = pyarrow.compute
_UNABLE: Final = "Unable to mask value"


@setting
class MaskFieldSettings:
    """Keys of MaskField."""

    fields: tuple[str, ...] = Setting("fields", "fields to mask")
    replacement: str = Setting("replacement", "instead of the zero of the type", "")
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


class _MaskField(Sided):
    settings = MaskFieldSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        s = read_settings(MaskFieldSettings, config)
        self.fields = self.members = s.fields
        self.replacement = s.replacement if config.get("replacement") else None

    def apply(self, record: RecordColumns) -> RecordColumns:
        record = needs_object(record, self.side, "mask fields", null_passes=False)
        column, schema = record.part(self.side), record.shape(self.side).schema
        if schema is None:
            return self._documents(record, column)
        if schema.type != "struct":
            return record
        failures: list[Column] = []

        def change(field: Field, its: Column) -> tuple[Field, Column]:
            if field.name not in self.fields:
                return field, its
            masked, failed = self._typed(field.schema)
            failures.append(F.isnotnull(its) & failed)
            return field, F.when(F.isnotnull(its), masked)

        made, after = changed_struct(column, schema, change)
        record = record.with_part(self.side, made, Shape(after))
        return record.refused_when(any_of(failures), _UNABLE) if failures else record

    def _typed(self, schema: Schema) -> tuple[Column, Column]:
        kind = schema.spark()
        if self.replacement is not None:
            if schema.type in {"struct", "array", "map", "boolean"} or (
                schema.type == "bytes" and not schema.is_decimal
            ):
                return F.lit(None).cast(kind), F.lit(True)
            if schema.is_decimal:
                return F.lit(self.replacement).cast(kind), F.isnull(F.lit(self.replacement).cast(kind))
            return cast_column(F.lit(self.replacement), Schema("string"), schema.type)
        match schema.type:
            case "string":
                return F.lit(""), F.lit(False)
            case "boolean":
                return F.lit(False), F.lit(False)
            case "array":
                return F.array().cast(kind), F.lit(False)
            case "map":
                return F.create_map().cast(kind), F.lit(False)
            case _ if schema.type in NUMBERS or schema.is_decimal:
                return F.lit(0).cast(kind), F.lit(False)
            case _:
                return F.lit(None).cast(kind), F.lit(True)

    def _documents(self, record: RecordColumns, column: Column) -> RecordColumns:
        made, failures = column, []
        for name in self.fields:
            part = F.try_variant_get(column, path(name), "variant")
            masked, failed = self._of_document(record.kinds.get(name, kind_of(part)))
            failures.append(failed)
            made = F.variant_set(made, path(name), F.coalesce(masked, variant_null()))
        there = is_object(record, self.side)
        failed = there & any_of(failures)
        made = F.when(there & ~failed, made).otherwise(column)
        return record.with_part(self.side, made, keeps_object=True).refused_when(failed, _UNABLE)

    def on_columns(self, members: Members) -> Members:
        for name in self.fields:
            column, numbers = members.there(name), members.numbers.get(name)
            if numbers is not None and pc.any(pc.invert(pc.match_substring_regex(numbers, "[.e]"))).as_py():
                raise Unfit(f"the member {name} holds numbers of two types")
            masked = self._constant(column.type)
            if not isinstance(column, pa.Scalar) and column.null_count:
                masked = pc.if_else(pc.is_valid(column), masked, None)
            members = members.with_column(name, masked, is_plain=self.replacement is None)
        return members

    def _constant(self, kind: pa.DataType) -> Any:
        """What a column of this type becomes. Raises Unfit."""
        if pa.types.is_null(kind):
            return pa.scalar(None, pa.string())
        if pa.types.is_string(kind):
            return pa.scalar(self.replacement or "", pa.string())
        if self.replacement is not None:
            raise Unfit("a replacement is put in the place of what is no text")
        if pa.types.is_boolean(kind) or pa.types.is_int64(kind) or pa.types.is_float64(kind):
            return pa.scalar(0).cast(kind)
        raise Unfit(f"no zero of {kind}")

    def _of_document(self, its: Column) -> tuple[Column, Column]:
        is_double = its.startswith("DECIMAL") | (its == "DOUBLE")
        whole, text = its == "BIGINT", its == "STRING"

        def json(literal: str) -> Column:
            return F.parse_json(F.lit(literal))

        if self.replacement is None:
            zero = F.when(whole, json("0")).when(text, json('""')).when(its == "BOOLEAN", json("false"))
            zero = zero.when(is_double, F.lit(0.0).cast("variant")).when(its.startswith("ARRAY"), json("[]"))
            return zero.when(its.startswith("OBJECT"), json("{}")), F.lit(False)
        as_long, not_long = cast_column(F.lit(self.replacement), Schema("string"), "int64")
        as_double, not_double = cast_column(F.lit(self.replacement), Schema("string"), "double")
        made = F.when(whole, as_long.cast("variant")).when(is_double, as_double.cast("variant"))
        made = made.when(text, F.lit(self.replacement).cast("variant"))
        other = F.isnotnull(its) & ~(whole | is_double | text | (its == "VOID"))
        failed = (whole & not_long) | (is_double & not_double) | other
        return made, F.coalesce(failed, F.lit(False))


class MaskFieldKey(_MaskField):
    """MaskField on keys."""

    also, side = (f"{KAFKA}.MaskField$Key",), "key"


class MaskFieldValue(_MaskField):
    """MaskField on values."""

    also, side = (f"{KAFKA}.MaskField$Value",), "value"
