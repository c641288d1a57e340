"""What Java's toString makes of a value: StringConverter and FileStreamSink write it. Expressions, on the driver."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.records import Shape
from twinlog.pipelines.schemas import Schema


def text_form(column: Column, shape: Shape) -> Column:
    """The value as text; null stays null. Documents without a schema become their JSON text."""
    if shape.schema is not None:
        return _text(column, shape.schema)
    return column.cast("string") if shape.unread else F.to_json(column)


def _text(column: Column, schema: Schema) -> Column:
    match schema.type:
        case "struct":
            parts = [
                F.concat(F.lit(f"{field.name}="), _text(column.getField(field.name), field.schema))
                for field in schema.fields
            ]
            # Java leaves out fields that are null; concat_ws does the same.
            return F.when(F.isnotnull(column), F.concat(F.lit("Struct{"), F.concat_ws(",", *parts), F.lit("}")))
        case "array" if schema.values is not None:
            values = schema.values
            items = F.transform(column, lambda item: F.coalesce(_text(item, values), F.lit("null")))
            return F.concat(F.lit("["), F.array_join(items, ", "), F.lit("]"))
        case "map" if schema.keys is not None and schema.values is not None:
            keys, values = schema.keys, schema.values
            pairs = F.transform(
                F.map_entries(column),
                lambda entry: F.concat(
                    _text(entry.getField("key"), keys),
                    F.lit("="),
                    F.coalesce(_text(entry.getField("value"), values), F.lit("null")),
                ),
            )
            return F.concat(F.lit("{"), F.array_join(pairs, ", "), F.lit("}"))
        case "bytes" if not schema.is_decimal:
            return F.base64(column)
        case _:
            return column.cast("string")
