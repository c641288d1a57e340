"""Flatten: fields of nested structs and objects as fields of one level, with joined names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.expressions import rebuilt, variant_null
from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.schemas import Field, Schema
from twinlog.pipelines.settings import Setting, read_settings, setting
from twinlog.pipelines.transforms.sides import KAFKA, Sided, is_object, needs_object

_OBJECT: Final = "map<string, variant>"
_DEEPEST: Final = 8
"""Levels of a document without a schema: each is an expression of its own in the plan."""


@setting
class FlattenSettings:
    """Keys of Flatten."""

    delimiter: str = Setting("delimiter", "between the names", ".")


class _Flatten(Sided):
    settings = FlattenSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.delimiter = (
            config["delimiter"] if "delimiter" in config else read_settings(FlattenSettings, config).delimiter
        )

    def apply(self, record: RecordColumns) -> RecordColumns:
        record = needs_object(record, self.side, "flattening")
        column, schema = record.part(self.side), record.shape(self.side).schema
        if schema is None:
            return self._documents(record, column)
        if schema.type != "struct":
            return record
        fields, columns, refused = self._leaves("", column, schema, schema.optional)
        if refused:
            kind = refused.upper()
            message = f"Flatten transformation does not support {kind} for record with schemas (for field )."
            return record.refused_when(F.isnotnull(column), message)
        made = rebuilt(column, [(field.name, its) for field, its in zip(fields, columns, strict=True)])
        return record.with_part(self.side, made, Shape(schema.with_fields(fields)))

    def _leaves(
        self, prefix: str, column: Column, schema: Schema, optional: bool
    ) -> tuple[list[Field], list[Column], str]:
        fields: list[Field] = []
        columns: list[Column] = []
        for field in schema.fields:
            name = f"{prefix}{self.delimiter}{field.name}" if prefix else field.name
            its = column.getField(field.name)
            if field.schema.type == "struct":
                more, inner, refused = self._leaves(name, its, field.schema, optional or field.schema.optional)
                if refused:
                    return [], [], refused
                fields += more
                columns += inner
            elif field.schema.type == "map":
                return [], [], "map"
            else:
                fields.append(Field(name, replace(field.schema, optional=optional or field.schema.optional)))
                columns.append(its)
        return fields, columns, ""

    def _documents(self, record: RecordColumns, column: Column) -> RecordColumns:
        """One level after the other: objects among the entries are replaced by their own entries."""
        entries = F.map_entries(F.try_variant_get(column, "$", _OBJECT))
        for _ in range(_DEEPEST):
            entries = F.flatten(F.transform(entries, self._opened))
        deep = F.exists(entries, lambda entry: _members(entry).isNotNull())
        made = F.to_variant_object(
            F.map_from_entries(
                F.transform(
                    entries,
                    lambda entry: F.struct(
                        entry.getField("key").alias("key"),
                        F.coalesce(entry.getField("value"), variant_null()).alias("value"),
                    ),
                )
            )
        )
        record = record.refused_when(
            F.coalesce(deep, F.lit(False)), f"objects nested more than {_DEEPEST} levels deep cannot be flattened"
        )
        made = F.when(is_object(record, self.side), made).otherwise(column)
        return record.with_part(self.side, made, keeps_object=True)

    def _opened(self, entry: Column) -> Column:
        inner = F.transform(
            F.map_entries(_members(entry)),
            lambda child: F.struct(
                F.concat(entry.getField("key"), F.lit(self.delimiter), child.getField("key")).alias("key"),
                child.getField("value").alias("value"),
            ),
        )
        same = F.array(F.struct(entry.getField("key").alias("key"), entry.getField("value").alias("value")))
        return F.coalesce(inner, same)


def _members(entry: Column) -> Column:
    return F.try_variant_get(entry.getField("value"), "$", _OBJECT)


class FlattenKey(_Flatten):
    """Flatten on keys."""

    also, side = (f"{KAFKA}.Flatten$Key",), "key"


class FlattenValue(_Flatten):
    """Flatten on values."""

    also, side = (f"{KAFKA}.Flatten$Value",), "value"
