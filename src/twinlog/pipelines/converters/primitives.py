"""StringConverter, ByteArrayConverter and the converters of numbers, as expressions. Made on the driver."""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.converters import batch_codec
from twinlog.pipelines.records import DATA_EXCEPTION, Decoded, Encoded, PlanRefused, Problem, Shape
from twinlog.pipelines.schemas import OPTIONAL_BYTES, OPTIONAL_STRING, Schema
from twinlog.pipelines.text_form import text_form


class _Plain:
    """A format that is the same for all records."""

    carries_schemas: ClassVar[bool] = False
    schema: ClassVar[Schema]

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config

    def tell(self, data: bytes) -> tuple[Hashable, bytes]:
        return None, data

    def shape(self, schema: Hashable) -> Shape:  # noqa: ARG002
        return Shape(self.schema)


class StringConverter(_Plain):
    """Text. Writing takes what Java's toString makes of a value."""

    also = ("org.apache.kafka.connect.storage.StringConverter", "StringConverter")
    schema = OPTIONAL_STRING
    plain = "text"

    def decode(self, column: Column, shape: Shape) -> Decoded:  # noqa: ARG002
        return Decoded(column.cast("string"))

    def encode(self, column: Column, shape: Shape) -> Encoded:
        return Encoded(text_form(column, shape).cast("binary"))


class ByteArrayConverter(_Plain):
    """Bytes as they are."""

    also = ("org.apache.kafka.connect.converters.ByteArrayConverter", "ByteArrayConverter")
    schema = OPTIONAL_BYTES
    plain = "bytes"

    def decode(self, column: Column, shape: Shape) -> Decoded:  # noqa: ARG002
        return Decoded(column)

    def encode(self, column: Column, shape: Shape) -> Encoded:
        if shape.schema is None and shape.unread:
            return Encoded(column)
        if shape.schema is None or shape.schema.type != "bytes" or shape.schema.is_decimal:
            kind = "no schema" if shape.schema is None else shape.schema.type.upper()
            raise PlanRefused(f"Invalid schema type for ByteArrayConverter: {kind}")
        return Encoded(column)


_BITS: Final = {"int16": 16, "int32": 32, "int64": 64, "float": 32, "double": 64}


class _Number(_Plain):
    java: ClassVar[str]

    def decode(self, column: Column, shape: Shape) -> Decoded:  # noqa: ARG002
        bits = _BITS[self.schema.type]
        wrong = F.isnotnull(column) & (F.octet_length(column) != bits // 8)
        number = _signed(column, bits)
        if self.schema.type in {"float", "double"}:
            number = _ieee(column, bits)
        message = F.lit(f"Failed to deserialize {self.java}: ")
        problem = Problem(wrong, message, DATA_EXCEPTION)
        return Decoded(F.when(~wrong, number).cast(self.schema.spark()), (problem,))

    def encode(self, column: Column, shape: Shape) -> Encoded:
        if shape.schema is None or shape.schema.type != self.schema.type:
            raise PlanRefused(f"{type(self).__name__} writes {self.schema.type}, not {_named(shape)}")
        if self.schema.type in {"float", "double"}:
            return batch_codec.encoded(column, partial(_packer, self.schema.type), self.schema.type)
        width = _BITS[self.schema.type] // 4
        digits = F.substring(F.lpad(F.hex(column.cast("bigint")), 16, "0"), 17 - width, width)
        return Encoded(F.unhex(digits))


def _packer(kind: str) -> Callable[[float], bytes]:
    """What writes the bits of a number: Spark has no function for it."""
    return struct.Struct({"float": ">f", "double": ">d"}[kind]).pack


def _named(shape: Shape) -> str:
    return "records without a schema" if shape.schema is None else shape.schema.type


def _signed(column: Column, bits: int) -> Column:
    unsigned = F.conv(F.hex(column), 16, 10).cast("decimal(38,0)")
    limit = F.lit(str(1 << (bits - 1))).cast("decimal(38,0)")
    whole = F.lit(str(1 << bits)).cast("decimal(38,0)")
    return F.when(unsigned >= limit, unsigned - whole).otherwise(unsigned).cast("bigint")


def _ieee(column: Column, bits: int) -> Column:
    """A float from its bits, by arithmetic: Spark has no function for it."""
    exponent_bits, fraction_bits, bias = (8, 23, 127) if bits == 32 else (11, 52, 1023)
    raw = _signed(column, 64) if bits == 64 else F.conv(F.hex(column), 16, 10).cast("bigint")
    sign = F.when(F.getbit(raw, F.lit(bits - 1)) == 1, F.lit(-1.0)).otherwise(F.lit(1.0))
    exponent = F.shiftrightunsigned(raw, fraction_bits).bitwiseAND(F.lit((1 << exponent_bits) - 1))
    fraction = raw.bitwiseAND(F.lit((1 << fraction_bits) - 1)).cast("double") / F.lit(float(1 << fraction_bits))
    special = (1 << exponent_bits) - 1
    normal = sign * (F.lit(1.0) + fraction) * F.pow(F.lit(2.0), exponent.cast("double") - F.lit(float(bias)))
    tiny = sign * fraction * F.pow(F.lit(2.0), F.lit(float(1 - bias)))
    infinite = F.when(fraction == 0, sign * F.lit(float("inf"))).otherwise(F.lit(float("nan")))
    return F.when(exponent == special, infinite).when(exponent == 0, tiny).otherwise(normal)


class ShortConverter(_Number):
    """16 bits, big-endian."""

    also = ("org.apache.kafka.connect.converters.ShortConverter", "ShortConverter")
    schema, java = Schema("int16", optional=True), "short"


class IntegerConverter(_Number):
    """32 bits, big-endian."""

    also = ("org.apache.kafka.connect.converters.IntegerConverter", "IntegerConverter")
    schema, java = Schema("int32", optional=True), "integer"


class LongConverter(_Number):
    """64 bits, big-endian."""

    also = ("org.apache.kafka.connect.converters.LongConverter", "LongConverter")
    schema, java = Schema("int64", optional=True), "long"


class FloatConverter(_Number):
    """IEEE 754, 32 bits."""

    also = ("org.apache.kafka.connect.converters.FloatConverter", "FloatConverter")
    schema, java = Schema("float", optional=True), "float"


class DoubleConverter(_Number):
    """IEEE 754, 64 bits."""

    also = ("org.apache.kafka.connect.converters.DoubleConverter", "DoubleConverter")
    schema, java = Schema("double", optional=True), "double"


class BooleanConverter(_Plain):
    """One byte, 0 or 1."""

    also = ("org.apache.kafka.connect.converters.BooleanConverter", "BooleanConverter")
    schema = Schema("boolean", optional=True)

    def decode(self, column: Column, shape: Shape) -> Decoded:  # noqa: ARG002
        digits = F.hex(column)
        wrong = F.isnotnull(column) & ~digits.isin("00", "01")
        return Decoded(digits == "01", (Problem(wrong, F.lit("Failed to deserialize boolean: "), DATA_EXCEPTION),))

    def encode(self, column: Column, shape: Shape) -> Encoded:
        if shape.schema is None or shape.schema.type != "boolean":
            raise PlanRefused(f"BooleanConverter writes boolean, not {_named(shape)}")
        return Encoded(F.when(column, F.unhex(F.lit("01"))).when(~column, F.unhex(F.lit("00"))))


ALL: Final = (
    StringConverter,
    ByteArrayConverter,
    BooleanConverter,
    ShortConverter,
    IntegerConverter,
    LongConverter,
    FloatConverter,
    DoubleConverter,
)
