"""Expressions that several steps share: decimals as bytes, paths in variants, literals of a schema. On the driver."""

from __future__ import annotations

import base64
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.schemas import Schema, quoted

_LONG_BYTES: Final = 8


def path(name: str) -> str:
    """One field of a variant, whatever its name is."""
    return "$['" + name.replace("\\", "\\\\").replace("'", "\\'") + "']"


def variant_null() -> Column:
    """The JSON value null. Spark's NULL would make the whole document NULL."""
    return F.parse_json(F.lit("null"))


def any_of(conditions: list[Column]) -> Column:
    return reduce(lambda a, b: a | b, conditions, F.lit(False))


def typed_null(schema: Schema) -> Column:
    return F.lit(None).cast(schema.spark())


def literal(value: Any, schema: Schema) -> Column:
    """A value in its JSON form as a column of that schema."""
    if value is None:
        return typed_null(schema)
    if schema.is_decimal:
        if isinstance(value, str):
            unscaled = int.from_bytes(base64.b64decode(value), "big", signed=True)
            value = Decimal(unscaled).scaleb(-schema.scale)
        return F.lit(str(value)).cast(schema.spark())
    if schema.type == "bytes":
        data = base64.b64decode(value) if isinstance(value, str) else bytes(value)
        return F.unbase64(F.lit(base64.b64encode(data).decode()))
    if schema.type == "struct":
        return F.struct(*[literal(value.get(one.name), one.schema).alias(one.name) for one in schema.fields])
    if schema.type == "array" and schema.values is not None:
        return F.array(*[literal(one, schema.values) for one in value]).cast(schema.spark())
    if schema.type == "map" and schema.keys is not None and schema.values is not None:
        pairs = [part for k, v in value.items() for part in (literal(k, schema.keys), literal(v, schema.values))]
        return F.create_map(*pairs).cast(schema.spark())
    return F.lit(value).cast(schema.spark())


def decimal_of_bytes(column: Column, scale: int) -> Column:
    """Connect's Decimal: the unscaled number, big-endian, two's complement, up to eight bytes."""
    size = F.octet_length(column)
    unsigned = F.conv(F.hex(column), 16, 10).cast("decimal(38,0)")
    negative = F.substring(F.hex(column), 1, 1).isin("8", "9", "A", "B", "C", "D", "E", "F")
    span = F.element_at(
        F.array(*[F.lit(str(1 << (8 * n))).cast("decimal(38,0)") for n in range(1, _LONG_BYTES + 1)]), size
    )
    number = F.when(negative, unsigned - span).otherwise(unsigned).cast("decimal(38,0)")
    shifted = (number / F.lit(str(10**scale)).cast("decimal(38,0)")) if scale > 0 else number
    return F.when((size >= 1) & (size <= _LONG_BYTES), shifted.cast(f"decimal(38,{scale})"))


def bytes_of_decimal(column: Column, scale: int) -> Column:
    """The shortest big-endian two's complement of the unscaled number, as Java's BigInteger writes it."""
    unscaled = (column * F.lit(str(10**scale)).cast("decimal(38,0)")).cast("bigint")
    whole = F.lpad(F.hex(unscaled), 16, "0")
    choice = F.when(F.lit(False), F.lit(""))
    for size in range(1, _LONG_BYTES):
        low, high = -(1 << (8 * size - 1)), (1 << (8 * size - 1)) - 1
        choice = choice.when(unscaled.between(low, high), F.substring(whole, 17 - 2 * size, 2 * size))
    return F.unhex(choice.otherwise(whole))


def field_of(column: Column, name: str) -> Column:
    return column.getField(name)


def rebuilt(column: Column, fields: list[tuple[str, Column]]) -> Column:
    """A struct of these fields where the old one is; null stays null."""
    made = F.struct(*[one.alias(name) for name, one in fields]) if fields else F.struct()
    return F.when(F.isnotnull(column), made)


__all__ = [
    "any_of",
    "bytes_of_decimal",
    "decimal_of_bytes",
    "field_of",
    "literal",
    "path",
    "quoted",
    "rebuilt",
    "typed_null",
    "variant_null",
]
