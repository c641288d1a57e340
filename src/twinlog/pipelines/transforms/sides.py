"""What transforms of keys or values share: looking into structs and documents. On the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.expressions import path, rebuilt, variant_null
from twinlog.pipelines.records import RecordColumns, Side
from twinlog.pipelines.schemas import Field, Schema

KAFKA: Final = "org.apache.kafka.connect.transforms"


class Sided:
    """A transform of the key or of the value. Subclasses say which."""

    side: ClassVar[Side]

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.side,)


def is_object(record: RecordColumns, side: Side) -> Column:
    """Whether a document is an object; false for null."""
    if side in record.objects:
        return record.objects[side]
    return F.coalesce(F.schema_of_variant(record.part(side)).startswith("OBJECT"), F.lit(False))


def kind_of(column: Column) -> Column:
    """Spark's name for the type of a document's part: BIGINT, STRING, OBJECT<…>, VOID; null where nothing is."""
    return F.schema_of_variant(column)


def part(column: Column, name: str) -> Column:
    """One member of a document; null when it is absent, the JSON value null when it is null."""
    return F.try_variant_get(column, path(name), "variant")


def with_member(column: Column, name: str, value: Column) -> Column:
    return F.variant_set(column, path(name), F.coalesce(value, variant_null()))


def needs_object(record: RecordColumns, side: Side, purpose: str, *, null_passes: bool = True) -> RecordColumns:
    """Refuse what is neither a struct nor an object, in Kafka's words."""
    column, schema = record.part(side), record.shape(side).schema
    if schema is not None:
        if schema.type == "struct":
            return record
        message = f"Only Struct objects supported for [{purpose}], found: {_java(schema)}"
        return record.refused_when(F.isnotnull(column) if null_passes else F.lit(True), message)
    condition = F.isnotnull(column) & ~is_object(record, side)
    if not null_passes:
        condition |= F.isnull(column)
    return record.refused_when(condition, f"Only Map objects supported in absence of schema for [{purpose}], found: ")


_JAVA: Final = {
    "string": "java.lang.String", "int8": "java.lang.Byte", "int16": "java.lang.Short", "int32": "java.lang.Integer",
    "int64": "java.lang.Long", "float": "java.lang.Float", "double": "java.lang.Double",
    "boolean": "java.lang.Boolean", "bytes": "[B", "array": "java.util.ArrayList", "map": "java.util.HashMap",
}  # fmt: skip


def _java(schema: Schema) -> str:
    return _JAVA[schema.type]


def changed_struct(
    column: Column, schema: Schema, change: Callable[[Field, Column], tuple[Field, Column] | None]
) -> tuple[Column, Schema]:
    """A struct with each field changed, renamed or left out; null stays null."""
    fields: list[Field] = []
    columns: list[tuple[str, Column]] = []
    for field in schema.fields:
        made = change(field, column.getField(field.name))
        if made is not None:
            fields.append(made[0])
            columns.append((made[0].name, made[1]))
    return rebuilt(column, columns), schema.with_fields(fields)


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
