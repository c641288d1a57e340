"""Formats without a Spark expression: a function per Arrow batch, as a column. The function runs in Python workers.

A record that cannot be read or written gives a message instead of a value; the others of its batch are not concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.converters.wire_format import SERIALIZATION
from twinlog.pipelines.records import Decoded, Encoded, Problem
from twinlog.pipelines.schemas import Schema

Convert = Callable[[Any], Any]
_functions: Any = F  # its stubs do not know arrow_udf
_FAILED: Final[tuple[type[Exception], ...]] = (ValueError, TypeError, KeyError, IndexError, EOFError, OverflowError,
                                               AttributeError, StopIteration)  # fmt: skip
# What libraries raise for bytes that are not in their format. Anything else is our own mistake and ends the task.


def tried(values: Iterable[Any], convert: Convert) -> tuple[list[Any], list[str | None]]:
    """Each value through `convert`; the second list says what went wrong."""
    made: list[Any] = []
    errors: list[str | None] = []
    for value in values:
        error = result = None
        if value is not None:
            try:
                result = convert(value)
            except _FAILED as failure:
                error = f"{failure}" or type(failure).__name__
        made.append(result)
        errors.append(error)
    return made, errors


def decoded(column: Column, schema: Schema, make: Callable[[], Convert], what: str) -> Decoded:
    """A column of `schema` from bytes. `make` builds the function for one record, in the worker."""
    kind = arrow_type(schema)

    def batch(data: Any) -> Any:
        values, errors = tried(data.to_pylist(), make())
        return pa.StructArray.from_arrays(
            [pa.array(values, kind), pa.array(errors, pa.string())],
            fields=[pa.field("v", kind), pa.field("e", pa.string())],
        )

    batch.__annotations__ = {"data": pa.Array, "return": pa.Array}
    both = _functions.arrow_udf(batch, f"struct<v: {schema.spark()}, e: string>")(column)
    error = both.getField("e")
    return Decoded(both.getField("v"), (_problem(error, f"Failed to deserialize data to {what}: "),))


def encoded(column: Column, make: Callable[[], Convert], what: str) -> Encoded:
    """Bytes from a column."""

    def batch(data: Any) -> Any:
        values, errors = tried(data.to_pylist(), make())
        return pa.StructArray.from_arrays([pa.array(values, pa.binary()), pa.array(errors, pa.string())], ["v", "e"])

    batch.__annotations__ = {"data": pa.Array, "return": pa.Array}
    both = _functions.arrow_udf(batch, "struct<v: binary, e: string>")(column)
    return Encoded(both.getField("v"), (_problem(both.getField("e"), f"Error serializing {what} message: "),))


def _problem(error: Column, what: str) -> Problem:
    return Problem(F.isnotnull(error), F.concat(F.lit(what), error), SERIALIZATION)
