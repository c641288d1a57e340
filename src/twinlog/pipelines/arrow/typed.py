"""JSON documents with a schema of Connect, as Arrow columns. Exact, or `Unfit`. Runs in Python workers.

What Arrow does not read as Connect's JsonConverter does is left to a plan of expressions: bytes, decimals, maps,
defaults, and every record that breaks its schema.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

from twinlog.pipelines.arrow.documents import Unfit, as_lines, read_lines
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.schemas import Schema

pc: Any = pyarrow.compute
_PAYLOAD: Final = "payload"
_SIMPLE: Final = frozenset({"boolean", "int8", "int16", "int32", "int64", "float", "double", "string"})


def is_simple(schema: Schema | None) -> bool:
    """Whether Arrow reads documents of this schema as JsonConverter does. The value must be a struct."""
    return schema is not None and schema.type == "struct" and _is_simple(schema)


def _is_simple(schema: Schema) -> bool:
    if schema.default is not None:
        return False
    if schema.type == "struct":
        return bool(schema.fields) and all(_is_simple(field.schema) for field in schema.fields)
    if schema.type == "array":
        return schema.values is not None and schema.values.type in _SIMPLE and _is_simple(schema.values)
    return schema.type in _SIMPLE


def structs(values: Any, schema: Schema) -> Any:
    """The payloads of `{"payload":…}` documents as structs; null stays null. Raises Unfit."""
    if values.null_count:
        there = pc.is_valid(values)
        places = pc.subtract(pc.cumulative_sum(there.cast(pa.int64())), 1)
        return structs(values.drop_null(), schema).take(pc.if_else(there, places, None))
    table = read_lines(as_lines(values), pa.schema([(_PAYLOAD, arrow_type(schema))]), "ignore")
    column = table.column(_PAYLOAD).combine_chunks()
    _check(column, schema, 0)
    return column


def _check(column: Any, schema: Schema, absent: int) -> None:
    """Raise Unfit where a value is missing that the schema wants, or where a number is none."""
    if not schema.optional and column.null_count > absent:
        raise Unfit(f"a required {schema.type} is missing")
    if schema.type in {"float", "double"} and not pc.all(pc.is_finite(column)).as_py():
        raise Unfit("a number is not finite")
    if schema.type == "struct":
        for field, its in zip(schema.fields, column.flatten(), strict=True):
            _check(its, field.schema, column.null_count)
    elif schema.type == "array" and schema.values is not None:
        _check(column.flatten(), schema.values, 0)
