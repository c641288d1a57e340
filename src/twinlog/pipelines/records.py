"""A record in a plan: its parts as Spark columns, and what its key and value are. Runs on the driver.

A transform takes a `RecordColumns` and returns another. Nothing is computed here: columns are expressions, and Spark
evaluates them on the executors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.schemas import Schema

Side: TypeAlias = Literal["key", "value"]
HEADERS_TYPE: Final = "array<struct<key: string, value: binary>>"
ERROR_TYPE: Final = "struct<stage: string, class: string, exception: string, message: string>"
ERROR_ARROW: Final[Any] = pa.struct([(name, pa.string()) for name in ("stage", "class", "exception", "message")])
KEPT: Final = ("from_topic", "partition", "offset", "timestamp", "topic", "branch", "headers", "error", "drop")
"""What the rows for a sink have beside their keys and values."""
DATA_EXCEPTION: Final = "org.apache.kafka.connect.errors.DataException"
CONNECT_EXCEPTION: Final = "org.apache.kafka.connect.errors.ConnectException"


@dataclass(frozen=True)
class Shape:
    """What a column of keys or values holds.

    With a schema it has that schema's Spark type. Without one it is a variant, or still the text of a JSON document
    that no step had to look into (`unread`). `wire` is for the converter alone: what it must know of the bytes.
    """

    schema: Schema | None = None
    unread: bool = False
    wire: Hashable = field(default=None, compare=False, repr=False)
    absent: bool = False  # a null is a record without a value, even if the schema allows null
    null_schema: Schema | None = None  # JSON writes a null with this schema, which is not that of other records

    @property
    def is_struct(self) -> bool:
        return self.schema is not None and self.schema.type == "struct"


SCHEMALESS: Final = Shape()
_BLANKS: Final = " \t\r\n"


class ConversionFailed(Exception):
    """The bytes of one record are not what its converter expects."""

    def __init__(self, message: str, exception: str = DATA_EXCEPTION) -> None:
        super().__init__(message)
        self.exception = exception


class PlanRefused(Exception):
    """A step cannot work on records of this schema. Known before a record is read."""


@dataclass(frozen=True)
class Problem:
    """A condition under which a step cannot handle a record, with Connect's name of the exception."""

    when: Column
    message: Column
    exception: str = DATA_EXCEPTION


@dataclass(frozen=True)
class Decoded:
    """A column made of bytes, and the reasons to refuse a record."""

    column: Column
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Encoded:
    """Bytes made of a column, and the reasons to refuse a record."""

    column: Column
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class RecordColumns:
    """The parts of one record."""

    topics: tuple[str, ...]  # which topics the records may come from
    topic: Column
    partition: Column
    offset: Column
    timestamp: Column  # milliseconds
    key: Column
    value: Column
    headers: Column  # HEADERS_TYPE
    key_shape: Shape
    value_shape: Shape
    drop: Column | None = None  # true: the record is left out
    problems: tuple[Problem, ...] = ()
    # What was found out once, because asking a document costs more than changing it:
    objects: Mapping[Side, Column] = field(default_factory=dict)  # whether a document is an object
    kinds: Mapping[str, Column] = field(default_factory=dict)  # Spark's name for the type of a member

    def part(self, side: Side) -> Column:
        return self.key if side == "key" else self.value

    def shape(self, side: Side) -> Shape:
        return self.key_shape if side == "key" else self.value_shape

    def read(self, side: Side) -> RecordColumns:
        """With the documents of one side opened, if that was not done yet."""
        shape = self.shape(side)
        if not shape.unread:
            return self
        column = self.part(side)
        text = column.cast("string")
        # A document of the JSON value null is a null record for Connect.
        parsed = F.try_parse_json(text)
        broken = F.isnotnull(column) & F.isnull(parsed)
        opened = F.when(F.is_variant_null(parsed), F.lit(None)).otherwise(parsed)
        message = F.lit("Converting byte[] to Kafka Connect data failed due to serialization error: ")
        problem = Problem(broken, message, DATA_EXCEPTION)
        made = self.with_part(side, opened, SCHEMALESS)
        # The text tells it as well, and need not be walked through.
        is_object = F.coalesce(F.ltrim(text, F.lit(_BLANKS)).startswith("{"), F.lit(False)) & F.isnotnull(parsed)
        return replace(made, problems=(*self.problems, problem), objects={**made.objects, side: is_object})

    def with_part(
        self, side: Side, column: Column, shape: Shape | None = None, *, keeps_object: bool = False
    ) -> RecordColumns:
        """With another key or value. `keeps_object`: what was an object is one, and nothing else is."""
        if not keeps_object:
            known = {other: told for other, told in self.objects.items() if other != side}
            return replace(self, objects=known).with_part(side, column, shape, keeps_object=True)
        before = self.shape(side)
        shape = before if shape is None else replace(shape, absent=shape.absent or before.absent)
        if side == "key":
            return replace(self, key=column, key_shape=shape)
        return replace(self, value=column, value_shape=shape)

    def refused_when(self, condition: Column, message: str | Column, exception: str = DATA_EXCEPTION) -> RecordColumns:
        """With one more reason to refuse a record."""
        text = F.lit(message) if isinstance(message, str) else message
        return replace(self, problems=(*self.problems, Problem(condition, text, exception)))


Step: TypeAlias = Callable[[RecordColumns], RecordColumns]
