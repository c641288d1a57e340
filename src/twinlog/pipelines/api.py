"""The public surface for connectors of one's own: Source, Sink, Converter, Transform and their settings.

A plugin is a Python class with these methods. It inherits nothing. It is found by an entry point (`twinlog.sources`,
`twinlog.sinks`, `twinlog.converters`, `twinlog.transforms`, `twinlog.predicates`); the entry's name is the class name
that a configuration uses, and `also` lists further names. CONTRIBUTING.md has a recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa
from pyspark.sql import Column

from twinlog.config.security.secrets import Secret
from twinlog.config.text.provided import NOTHING_PROVIDED, Provided
from twinlog.model.names import TopicPartition
from twinlog.pipelines.records import ConversionFailed, Decoded, Encoded, PlanRefused, RecordColumns, Shape, Side
from twinlog.pipelines.schemas import Field, Schema
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, setting

Scalar: TypeAlias = str | int | float | bool | None
Offset: TypeAlias = Mapping[str, Scalar]
Delivery: TypeAlias = Literal["at-least-once", "idempotent", "exactly-once"]
Takes: TypeAlias = Literal["documents", "columns", "text", "lines"]


@dataclass(frozen=True)
class SourcePartition:
    """What has a position of its own in the source system: a table, a file, a shard."""

    at: Mapping[str, Scalar]  # {"filename": "/var/log/x"}: the key in connect-offsets, in this order of fields
    also: tuple[Mapping[str, Scalar], ...] = ()  # keys under which other releases stored its position


@dataclass(frozen=True)
class Chunk:
    """Rows that a source read, and the position behind them. Both are stored in one Kafka transaction.

    `rows` has one column per field of the value. A single column named `""` is a value that is no struct.
    """

    topic: str
    rows: pa.RecordBatch | Sequence[Mapping[str, Any]]
    partition: SourcePartition
    next: Offset
    key: Sequence[str] = ()  # which columns are the key; none: the key is null
    timestamp: str | None = None  # which column is the record's time, in milliseconds; it is not part of the value
    headers: Mapping[str, bytes] | Sequence[Mapping[str, bytes]] = field(default_factory=lambda: MappingProxyType({}))
    # … of every record; or of each row
    schema: Schema | None = None  # of the value; None: made of the columns' Arrow types
    key_schema: Schema | None = None
    deletes: bool = False  # the rows are keys that are gone: their values are null
    key_apart: bool = False  # the columns of the key are not part of the value
    tombstones: bool | pa.BooleanArray = False  # behind each of these rows its key follows with a null value
    others: Sequence[Chunk] = ()  # chunks with the same position: they are written in the same transaction


@runtime_checkable
class Source(Protocol):
    """Reads a foreign system. Made from its settings on the driver and in each Python worker.

    A source whose `read` waits for news itself has `waits = True`: there is no pause between its calls. A source that
    knows topics and schemas before it reads has `streams() -> Iterable[tuple[topic, key schema or None, schema]]`, on
    the driver. A source that must know which positions are stored in Kafka has
    `committed(at: SourcePartition, offset: Offset)`, in the worker; it is called some time after they are. A source
    that holds connections has `close()`, called when its task ends. A source with a key of its own for that has
    `rescan_ms`, how often `partitions` is asked again. A source whose reading changes nothing in its
    system has `previews = True`: the first rows are then shown by a preview. One that would read a lot for that has
    `limited(rows: int)`, a source of chunks that are not larger.
    """

    settings: ClassVar[type]

    def partitions(self) -> Sequence[SourcePartition]:
        """What there is to read. On the driver, again every `rescan.ms`; dealt to at most tasks.max tasks."""
        ...

    def check(self) -> Iterable[Finding]:
        """Whether it can work: connection, rights, something to read. On the driver, for validate."""
        ...

    def read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        """Rows behind `start`. In a Python worker. Returns when there is nothing more now, or when `stop()`.

        The same start must give the same rows again; the worker calls it again after `poll.interval.ms`.
        """
        ...


@dataclass(frozen=True)
class SinkBatch:
    """Records for one topic with one schema, in the order of their offsets within each partition.

    `rows` has the columns topic (where the record was read), partition, offset, timestamp (ms), key, value, headers.
    The type of `value` follows the sink's `takes`. `topic` is the name after all transforms.
    """

    topic: str
    rows: pa.RecordBatch
    key_schema: Schema | None
    schema: Schema | None

    @property
    def values(self) -> Any:
        return self.rows.column("value")

    @property
    def keys(self) -> Any:
        return self.rows.column("key")

    def __len__(self) -> int:
        return int(self.rows.num_rows)


class Rejected(NamedTuple):
    """A row that the target system refuses for its content."""

    row: int
    reason: str
    exception: str = "org.apache.kafka.connect.errors.ConnectException"
    left_out: bool = False  # the configuration wants that: it is counted as dropped, and is no failure


class Retriable(Exception):
    """The target cannot take anything now: the framework waits and calls again. Nothing of the call is kept."""

    def __init__(self, reason: str, after_ms: int = 1000) -> None:
        super().__init__(reason)
        self.after_ms = after_ms

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.after_ms))


class Superseded(Exception):
    """A younger owner writes to the target: this one must stop and change nothing."""


@dataclass(frozen=True)
class Owner:
    """Who writes: a connector, and a number that grows with each start of it. The target refuses smaller numbers."""

    connector: str
    generation: int
    task: int = 0
    provided: Provided = NOTHING_PROVIDED  # what of the connector's config is never shown


@runtime_checkable
class Sink(Protocol):
    """Writes a foreign system. Made from its settings in each Python worker, and on the driver for `check`.

    A sink that only one task may use has `max_tasks = 1`. A sink whose flush is dear has `flush_ms`, the shortest pause
    between two of them while records are few (5; the key `flush.ms` wins), and `flush_rows`, the rows after which it is
    flushed in any case. A sink that can say what it would do has
    `preview(batch: SinkBatch) -> Sequence[str]`: statements, requests or lines, without doing anything.
    """

    settings: ClassVar[type]
    takes: ClassVar[Takes]
    delivery: ClassVar[Delivery]

    def check(self) -> Iterable[Finding]:
        """Whether it can work. On the driver, for validate."""
        ...

    def positions(self, connector: str) -> Mapping[TopicPartition, int] | None:
        """The next offsets that the system itself stores; None when it stores none (then the group's are used)."""
        ...

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Become the writer of these partitions; older owners are refused from now on. In a Python worker.

        Returns the positions that the system stores.
        """
        ...

    def put(self, batch: SinkBatch) -> Sequence[Rejected]:
        """Take records. They need not be durable yet. Raises Retriable or Superseded."""
        ...

    def flush(self, positions: Mapping[TopicPartition, int]) -> None:
        """Make durable what was put, and store the positions with it if the system can. Raises Retriable."""
        ...

    def close(self) -> None:
        """Give connections back. What was put and not flushed is given up."""
        ...


@runtime_checkable
class LineSink(Protocol):
    """A sink that takes "lines": its bulk language is an expression in the plan."""

    def line(self, record: RecordColumns) -> Column:
        """The line of one record, as a string column. On the driver."""
        ...


class Converter(Protocol):
    """Bytes of Kafka to columns and back. `tell` runs in readers; everything else makes expressions on the driver."""

    carries_schemas: bool  # each record says what its schema is

    def tell(self, data: bytes) -> tuple[Hashable, bytes]:
        """Which schema the bytes carry, and the rest of them. Raises ConversionFailed. Only if `carries_schemas`."""
        ...

    # A converter may also have `tell_all(column) -> (schema, column) | None`, the same for a whole column of bytes
    # without nulls. None: the records have several schemas, or one that was not met yet; then `tell` is asked.

    def shape(self, schema: Hashable) -> Shape:
        """What a column with that schema holds; asks a registry if it must. None: what bytes without a schema are."""
        ...

    def decode(self, column: Column, shape: Shape) -> Decoded:
        """Columns from the bytes that `tell` left."""
        ...

    def encode(self, column: Column, shape: Shape) -> Encoded:
        """Bytes from a column of that shape."""
        ...


@runtime_checkable
class TopicConverter(Protocol):
    """A converter whose bytes depend on the topic: a schema registry gives ids per topic. Used instead of `encode`."""

    def encode_to(self, column: Column, shape: Shape, topic: Column, topics: Sequence[str], side: Side) -> Encoded:
        """Bytes from a column; `topics` are the names that the column `topic` can hold. Raises PlanRefused."""
        ...


class Transform(Protocol):
    """One step between converter and connector. On the driver: it makes expressions."""

    def apply(self, record: RecordColumns) -> RecordColumns:
        """The record after the step. Raises PlanRefused when it cannot work on the record's schema."""
        ...


class Predicate(Protocol):
    """A condition on a record."""

    def test(self, record: RecordColumns) -> Column:
        """True, false, never null."""
        ...


__all__ = [
    "Chunk",
    "ConversionFailed",
    "Converter",
    "Decoded",
    "Delivery",
    "Encoded",
    "Field",
    "Finding",
    "LineSink",
    "Offset",
    "Owner",
    "PlanRefused",
    "Predicate",
    "RecordColumns",
    "Rejected",
    "Retriable",
    "Schema",
    "Secret",
    "Setting",
    "SettingsRefused",
    "Shape",
    "Side",
    "Sink",
    "SinkBatch",
    "Source",
    "SourcePartition",
    "Superseded",
    "TopicConverter",
    "Transform",
    "setting",
]
