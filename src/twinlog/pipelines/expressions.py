"""Expressions that several steps share: decimals as bytes, paths in variants, literals of a schema. On the driver."""

from __future__ import annotations

import base64
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.schemas import Schema, quoted

_MOST_BYTES: Final = 16


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
        return F.struct(*[literal(value.get(field.name), field.schema).alias(field.name) for field in schema.fields])
    if schema.type == "array" and schema.values is not None:
        return F.array(*[literal(item, schema.values) for item in value]).cast(schema.spark())
    if schema.type == "map" and schema.keys is not None and schema.values is not None:
        pairs = [part for k, v in value.items() for part in (literal(k, schema.keys), literal(v, schema.values))]
        return F.create_map(*pairs).cast(schema.spark())
    return F.lit(value).cast(schema.spark())


def with_defaults(column: Column, schema: Schema) -> Column:
    """Fields without a value get the defaults of their schemas, as Connect's converters write them."""
    if not _has_defaults(schema):
        return column
    if schema.type == "struct":
        return rebuilt(
            column, [(field.name, _or_default(column.getField(field.name), field.schema)) for field in schema.fields]
        )
    items = schema.values
    if items is None:
        return column
    if schema.type == "array":
        return F.transform(column, lambda item: _or_default(item, items))
    return F.transform_values(column, lambda _, item: _or_default(item, items))


def _or_default(column: Column, schema: Schema) -> Column:
    value = with_defaults(column, schema)
    return value if schema.default is None else F.coalesce(value, literal(schema.default, schema))


def _has_defaults(schema: Schema) -> bool:
    inner = [field.schema for field in schema.fields] + ([] if schema.values is None else [schema.values])
    return any(part.default is not None or _has_defaults(part) for part in inner)


def decimal_of_bytes(column: Column, scale: int) -> Column:
    """Connect's Decimal: the unscaled number, big-endian, two's complement, up to sixteen bytes; else null."""
    digits = F.hex(column)
    filled = F.lpad(digits, 32, F.when(F.substring(digits, 1, 1) >= "8", "F").otherwise("0"))
    high = F.conv(F.substring(filled, 1, 16), 16, -10).cast("decimal(19,0)")
    low = F.conv(F.substring(filled, 17, 16), 16, 10).cast("decimal(20,0)")
    # One word is moved over, so that no step has more than 38 digits.
    below = (high + 1) * _power(64) + (low - _power(64))
    number = F.when(high < 0, below).otherwise(high * _power(64) + low).cast("decimal(38,0)")
    # As text: a division would round to six digits.
    shifted = F.concat(number.cast("string"), F.lit(f"E{-scale}")).cast(f"decimal(38,{scale})")
    return F.when(F.octet_length(column).between(1, _MOST_BYTES), shifted)


def bytes_of_decimal(column: Column, scale: int) -> Column:
    """The shortest big-endian two's complement of the unscaled number, as Java's BigInteger writes it."""
    # As text: a product would have more digits than Spark holds. Spark writes 0.0000001 as 1E-7.
    text = column.cast("string")
    exponent = F.coalesce(F.nullif(F.regexp_extract(text, "E(.+)", 1), F.lit("")).cast("int"), F.lit(0)) + scale
    number = F.concat(F.substring_index(text, "E", 1), F.lit("E"), exponent.cast("string")).cast("decimal(38,0)")
    rest = number % _power(64)
    high = ((number - rest) / _power(64)).cast("bigint") - (rest < 0).cast("bigint")
    # The lower half as a signed number has the same bits.
    low = F.when(rest < -_power(63), rest + _power(64)).when(rest >= _power(63), rest - _power(64)).otherwise(rest)
    digits = F.concat(F.lpad(F.hex(high), 16, "0"), F.lpad(F.hex(low.cast("bigint")), 16, "0"))
    return F.unhex(F.regexp_replace(digits, "^((00)+(?=[0-7])|(FF)+(?=[89A-F]))", ""))


def _power(bits: int) -> Column:
    return F.lit(str(1 << bits)).cast("decimal(20,0)")


def field_of(column: Column, name: str) -> Column:
    return column.getField(name)


def rebuilt(column: Column, fields: list[tuple[str, Column]]) -> Column:
    """A struct of these fields where the old one is; null stays null."""
    made = F.struct(*[part.alias(name) for name, part in fields]) if fields else F.struct()
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
    "with_defaults",
]
