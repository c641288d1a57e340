"""Connect's schemas and Arrow's types, both ways. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from twinlog.pipelines.schemas import DATE, DECIMAL, SCALE, TIMESTAMP, Field, Schema

_ARROW: Final[dict[str, Any]] = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}


def arrow_type(schema: Schema | None) -> Any:
    """The Arrow type that Spark uses for it. None is a string that is always null."""
    if schema is None:
        return pa.string()
    if schema.is_decimal:
        return pa.decimal128(38, schema.scale)
    if schema.type == "struct":
        return pa.struct([pa.field(field.name, arrow_type(field.schema)) for field in schema.fields])
    if schema.type == "array":
        return pa.list_(pa.field("element", arrow_type(schema.values)))
    if schema.type == "map":
        return pa.map_(arrow_type(schema.keys), arrow_type(schema.values))
    return _ARROW[schema.type]


def schema_of_arrow(schema: Any, names: Sequence[str]) -> Schema:
    """A struct of these columns; the one column `""` is a value by itself."""
    if list(names) == [""]:
        return _schema(schema.field(""))
    return Schema("struct", fields=tuple(Field(name, _schema(schema.field(name))) for name in names))


def _schema(arrow_field: Any) -> Schema:
    kind = arrow_field.type
    optional = bool(arrow_field.nullable)
    if pa.types.is_decimal(kind):
        return Schema("bytes", optional, name=DECIMAL, version=1, parameters=((SCALE, str(kind.scale)),))
    if pa.types.is_timestamp(kind):
        return Schema("int64", optional, name=TIMESTAMP, version=1)
    if pa.types.is_date(kind):
        return Schema("int32", optional, name=DATE, version=1)
    if pa.types.is_struct(kind):
        fields = tuple(Field(kind.field(n).name, _schema(kind.field(n))) for n in range(kind.num_fields))
        return Schema("struct", optional, fields=fields)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Schema("array", optional, values=_schema(kind.value_field))
    if pa.types.is_map(kind):
        return Schema("map", optional, keys=_schema(kind.key_field), values=_schema(kind.item_field))
    if pa.types.is_null(kind) or pa.types.is_large_string(kind):
        return Schema("string", optional=True)
    if pa.types.is_large_binary(kind):
        return Schema("bytes", optional)
    for name, mine in _ARROW.items():
        if kind == mine:
            return Schema(name, optional)  # type: ignore[arg-type]
    if pa.types.is_unsigned_integer(kind):
        return Schema("int64", optional)
    raise ValueError(f"{arrow_field.name}: records cannot hold the Arrow type {kind}")
