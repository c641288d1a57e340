"""Columns with a schema of Connect as JSON texts, by Arrow's kernels. Runs in Python workers.

It writes what JsonConverter writes for the schemas that `is_printable` names. Bytes, decimals, maps, arrays and
defaults are left to Spark's expressions.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

from twinlog.pipelines.arrow.documents import number_texts
from twinlog.pipelines.schemas import INTEGERS, Schema

pc: Any = pyarrow.compute
_NULL: Final = "null"
_CONTROL: Final = r"[\x00-\x1f]"
_BESIDE_NUMBERS: Final = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def is_printable(schema: Schema) -> bool:
    """Whether columns of this schema become the same JSON as by an expression."""
    if schema.default is not None:
        return False  # a null is written as the default
    if schema.type == "struct":
        return bool(schema.fields) and all(is_printable(field.schema) for field in schema.fields)
    return schema.type in INTEGERS | {"float", "double", "boolean", "string"}


def json_texts(column: Any, schema: Schema) -> Any:
    """The JSON text of each value; null stays null."""
    if schema.type == "struct":
        return _objects(column, schema)
    if schema.type == "string":
        return pc.binary_join_element_wise('"', _escaped(column), '"', "")
    if schema.type in {"float", "double"}:
        return _numbers(column)
    return column.cast(pa.string())


def _objects(column: Any, schema: Schema) -> Any:
    parts: list[Any] = []
    for field, its in zip(schema.fields, column.flatten(), strict=True):
        head = json.dumps(field.name, ensure_ascii=False) + ":"
        parts += [("," if parts else "{") + head, pc.fill_null(json_texts(its, field.schema), _NULL)]
    made = pc.binary_join_element_wise(*parts, "}", "")
    return pc.if_else(pc.is_valid(column), made, None) if column.null_count else made


def _numbers(column: Any) -> Any:
    if pc.all(pc.is_finite(column)).as_py():
        return number_texts(column)
    texts = column.cast(pa.string())
    made = number_texts(pc.if_else(pc.is_finite(column), column, 0.0).cast(column.type))
    for text, written in _BESIDE_NUMBERS.items():
        made = pc.if_else(pc.equal(texts, text), written, made)
    return made


def _escaped(column: Any) -> Any:
    made = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
    if not pc.any(pc.match_substring_regex(made, _CONTROL)).as_py():
        return made
    for number in range(32):
        made = pc.replace_substring(made, chr(number), json.dumps(chr(number))[1:-1])
    return made
