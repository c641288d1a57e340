"""Reading for a source pipeline: a task's source partitions as Arrow batches with marks. Runs in Python workers.

Each chunk of a source is followed by a mark: a row without a topic that holds the position behind the chunk and the
position in front of it. The writer stores both ends in the transaction of the chunk's records.

    row row row … mark   row row … mark
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

import pyarrow as pa

from twinlog.model.backoff import Backoff
from twinlog.pipelines.api import Chunk, Retriable, Source, SourcePartition
from twinlog.pipelines.arrow_schemas import arrow_type, schema_of_arrow
from twinlog.pipelines.offsets_topic import OffsetsTopic, StoredOffset, key_of, start_of
from twinlog.pipelines.parcels import is_same
from twinlog.pipelines.plugins import connector, converter
from twinlog.pipelines.read_kafka import no_headers
from twinlog.pipelines.records import ERROR_ARROW
from twinlog.pipelines.run import SourceRun
from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.task_line import TaskLine
from twinlog.pipelines.throttle import Throttle
from twinlog.pipelines.write_kafka import OUT_SCHEMA
from twinlog.spark.groups import empty_rows

_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_SHARED: Final = [
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.int64()),
    ("headers", _HEADERS),
    ("branch", pa.int32()),
    ("fault", pa.string()),
    ("mark", pa.string()),
]
SHARED_SQL: Final = (
    "topic string, partition int, offset bigint, timestamp bigint, "
    "headers array<struct<key: string, value: binary>>, branch int, fault string, mark string"
)
_PAUSE_S: Final = 0.05
_CONFIRM_S: Final = 5.0
"""How often a source that must know it is told which positions are stored."""
_FIRST_PAUSE_S: Final = 0.3
_PARCEL_BYTES: Final = 4 << 20

log = logging.getLogger("twinlog.pipelines.source")


class _NewStream(Exception):
    """A chunk has a topic or a schema that the plan does not know."""


class SourceTask:
    """One task's reading."""

    def __init__(self, run: SourceRun, task: int, line: TaskLine) -> None:
        self.run = run
        self.partitions = run.tasks[task]
        self.line = line
        self.source = cast("Source", connector(run.plugin, run.config))
        self.branches = {(topic, key, value): n for n, (topic, key, value) in enumerate(run.streams)}
        columns: list[tuple[str, Any]] = list(_SHARED)
        for number, (_, key, value) in enumerate(run.streams):
            columns += [(f"key_{number}", arrow_type(key)), (f"value_{number}", arrow_type(value))]
        self.schema = pa.schema(columns)
        self.deadline = time.monotonic() + run.longest_ms / 1000
        self.sent = 0
        self._throttle = Throttle(run.limits, len(run.tasks))
        self._waiting = False
        self._confirmed_at = 0.0

    def _stop(self) -> bool:
        return self.line.stopping or time.monotonic() > self.deadline

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Rows until the epoch ends: by time, by an order of the driver, by a new schema, or when all is read."""
        stored = self._stored()
        self._confirm(stored)
        starts = {n: start_of(stored, place) for n, place in enumerate(self.partitions)}
        backoff = Backoff(_FIRST_PAUSE_S, self.run.errors.retry_delay_max_ms / 1000)
        while not self._stop():
            news, whole = False, True
            for number, partition in enumerate(self.partitions):
                start, known = starts[number]
                try:
                    for chunk in self.source.read(partition, start, self._stop):
                        news = True
                        key = known.key if known is not None else key_of(self.run.owner.connector, partition)
                        yield from self._chunk(chunk, key, start)
                        start = dict(chunk.next)
                        starts[number] = (start, known)
                        yield from self._slowed()
                        if self._throttle.is_on and self._stop():
                            break
                except _NewStream:
                    return
                except Retriable as error:
                    whole = False
                    self._wait(error, backoff.next_s())
                else:
                    backoff.reset()
                    self._goes_on()
            yield self._mark({"caught_up": True})
            if self.run.until_caught_up and whole and not self._stop():
                return
            yield from self._filled()
            self._confirm()
            self._pause(0 if news or getattr(self.source, "waits", False) else self.run.poll_ms / 1000)
        self.line.send(unfinished=True)

    def _slowed(self) -> Iterator[pa.RecordBatch]:
        """Wait as the limits want it. What was read goes on first: nothing waits in an open transaction."""
        if self._throttle.wait_s > 0:
            yield self._mark({"caught_up": True})
            yield from self._filled()
            self._throttle.pause(self._stop)

    def _stored(self) -> list[StoredOffset]:
        topic = OffsetsTopic(self.run.cluster, self.run.offsets_topic)
        return topic.read(self.run.owner.connector, self.run.offsets_partitions)

    def _confirm(self, stored: list[StoredOffset] | None = None) -> None:
        """Tell the source what is stored, so that the system can forget it."""
        told = getattr(self.source, "committed", None)
        now = time.monotonic()
        if told is None or (stored is None and now - self._confirmed_at < _CONFIRM_S):
            return
        self._confirmed_at = now
        offsets = self._stored() if stored is None else stored
        for partition in self.partitions:
            offset, _ = start_of(offsets, partition)
            if offset is not None:
                told(partition, offset)

    def _wait(self, error: Retriable, pause_s: float) -> None:
        """The source does not answer: say so, and try again later."""
        self._waiting = True
        self.line.send(waiting=str(error))
        owner = self.run.owner
        log.warning("%s: the source cannot be read: %s", owner.connector, owner.provided.masked(str(error)))
        self._pause(max(pause_s, error.after_ms / 1000))

    def _goes_on(self) -> None:
        if self._waiting:
            self._waiting = False
            self.line.send(waiting="")

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._stop():
            time.sleep(min(_PAUSE_S, max(0.0, until - time.monotonic())))

    def _chunk(self, chunk: Chunk, key: bytes, start: Any) -> Iterator[pa.RecordBatch]:
        # All schemas are looked at first: a transaction must not get a part of what shares a position.
        known = [self._known(part) for part in (chunk, *chunk.others)]
        for part, rows, branch in known:
            if rows.num_rows:
                value_schema, key_schema = schemas_of(part, rows)
                batch = self.batch(part, rows, branch, key_schema, value_schema)
                self.sent += batch.num_rows
                self._throttle.spend(rows.num_rows, rows.nbytes)
                yield batch
        yield self._mark({"key": key.decode(), "start": start, "next": dict(chunk.next)})

    def _known(self, chunk: Chunk) -> tuple[Chunk, pa.RecordBatch, int]:
        """The rows of a chunk, and which columns of the plan they go to. Raises _NewStream."""
        rows = chunk.rows if isinstance(chunk.rows, pa.RecordBatch) else pa.RecordBatch.from_pylist(list(chunk.rows))
        if not rows.num_rows:
            return chunk, rows, -1
        value_schema, key_schema = schemas_of(chunk, rows)
        branch = self.branches.get((chunk.topic, key_schema, value_schema))
        if branch is None:
            facts = {"topic": chunk.topic, "schema": value_schema.to_json()}
            self.line.send(stream=facts | {"key": None if key_schema is None else key_schema.to_json()})
            raise _NewStream
        return chunk, rows, branch

    def batch(
        self, chunk: Chunk, rows: pa.RecordBatch, branch: int, key_schema: Schema | None, value_schema: Schema
    ) -> pa.RecordBatch:
        """The rows of a chunk in the columns of the plan."""
        headers = _headers(chunk, rows.num_rows)
        places, gone = with_tombstones(chunk, rows.num_rows)
        if places is not None:
            rows, headers = rows.take(places), headers.take(places)
        count = rows.num_rows
        made: dict[str, Any] = {
            "topic": pa.repeat(pa.scalar(chunk.topic, pa.string()), count),
            "timestamp": pa.nulls(count, pa.int64())
            if chunk.timestamp is None
            else rows.column(chunk.timestamp).cast(pa.int64()),
            "headers": headers,
            "branch": pa.repeat(pa.scalar(branch, pa.int32()), count),
        }
        if chunk.key:
            made[f"key_{branch}"] = _struct([rows.column(name) for name in chunk.key], key_schema)
        if not chunk.deletes:
            names = _value_names(chunk, rows)
            made[f"value_{branch}"] = (
                physical(rows.column(""), arrow_type(value_schema))
                if names == [""]
                else _struct([rows.column(name) for name in names], value_schema, gone)
            )
        columns = [made[field.name] if field.name in made else pa.nulls(count, field.type) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _mark(self, facts: dict[str, Any]) -> pa.RecordBatch:
        self.sent += 1
        columns = [
            pa.array([json.dumps(facts)], pa.string()) if field.name == "mark" else pa.nulls(1, field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _filled(self) -> Iterator[pa.RecordBatch]:
        fill = empty_rows(self.sent, self.run.batch_rows)
        self.sent += fill
        yield pa.RecordBatch.from_arrays([pa.nulls(fill, field.type) for field in self.schema], schema=self.schema)


def _headers(chunk: Chunk, count: int) -> Any:
    def listed(headers: Mapping[str, bytes]) -> list[dict[str, Any]]:
        return [{"key": key, "value": value} for key, value in headers.items()]

    if isinstance(chunk.headers, Mapping):
        if not chunk.headers:
            return no_headers(count)
        return pa.repeat(pa.scalar(listed(chunk.headers), _HEADERS), count)
    return pa.array([listed(header) for header in chunk.headers[:count]], _HEADERS)


def with_tombstones(chunk: Chunk, count: int) -> tuple[Any, Any]:
    """Rows that a tombstone follows stand there twice: their places, and which of them are the tombstones."""
    if chunk.tombstones is False:
        return None, None
    wanted = [True] * count if chunk.tombstones is True else chunk.tombstones.to_pylist()
    places = [place for place, follows in enumerate(wanted) for _ in range(2 if follows else 1)]
    gone = [n > 0 and places[n - 1] == place for n, place in enumerate(places)]
    return pa.array(places, pa.int64()), pa.array(gone)


def _struct(columns: list[Any], schema: Schema | None, gone: Any = None) -> Any:
    if schema is None:
        raise TypeError("a chunk with key columns has a key schema")
    kind = arrow_type(schema)
    arrays = [physical(column, kind.field(n).type) for n, column in enumerate(columns)]
    return pa.StructArray.from_arrays(arrays, fields=[kind.field(n) for n in range(kind.num_fields)], mask=gone)


def physical(column: Any, kind: Any) -> Any:
    """A column in the type that Spark holds; times become milliseconds."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
    return column if column.type == kind else column.cast(kind)


def _value_names(chunk: Chunk, rows: pa.RecordBatch) -> list[str]:
    apart = set(chunk.key) if chunk.key_apart else set()
    return [name for name in rows.schema.names if name != chunk.timestamp and name not in apart]


def schemas_of(chunk: Chunk, rows: pa.RecordBatch) -> tuple[Schema, Schema | None]:
    """Value and key schema of a chunk: the ones it brings, or those of its Arrow columns."""
    names = _value_names(chunk, rows)
    value = chunk.schema or schema_of_arrow(rows.schema, names)
    key = chunk.key_schema or (schema_of_arrow(rows.schema, list(chunk.key)) if chunk.key else None)
    return value, key


Printer = Callable[[Any], Any]


def as_written(batch: pa.RecordBatch, printers: Sequence[tuple[Printer, Printer]] = ()) -> pa.RecordBatch:
    """A batch of one branch with the columns that a plan without transforms would give it."""
    count, branch = batch.num_rows, batch.column("branch")[0].as_py()
    own = {"error": pa.nulls(count, ERROR_ARROW), "drop": pa.repeat(pa.scalar(value=False), count)}
    for number, side in enumerate(("key", "value")):
        is_there = branch is not None and f"{side}_{branch}" in batch.schema.names
        printer = printers[branch][number] if is_there and printers else _as_bytes
        own[side] = printer(batch.column(f"{side}_{branch}")) if is_there else pa.nulls(count, pa.binary())
    columns = [own[name] if name in own else batch.column(name) for name in OUT_SCHEMA.names]
    return pa.RecordBatch.from_arrays(columns, schema=OUT_SCHEMA)


def _as_bytes(column: Any) -> Any:
    return column.cast(pa.binary())


def printers_of(run: SourceRun) -> list[tuple[Printer, Printer]]:
    """What makes bytes of keys and values, by branch."""
    if run.converters is None:
        return []
    its = run.converters
    key, value = converter(its.key, its.key_config), converter(its.value, its.value_config)
    return [(_printer(key, k), _printer(value, v)) for _, k, v in run.streams]


def _printer(its: Any, schema: Schema | None) -> Printer:
    """Keys that a stream does not have are null, whatever the converter is."""
    return _as_bytes if schema is None or is_same(its, schema) else partial(its.printed, schema=schema)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A parcel is one row for Spark's JVM, so it must not be large."""
    rows = max(1, batch.num_rows * _PARCEL_BYTES // max(1, batch.nbytes))
    for at in range(0, batch.num_rows, rows):
        yield batch.slice(at, rows)


def read_source(run: SourceRun, task: int, line: TaskLine) -> Iterator[pa.RecordBatch]:
    its = SourceTask(run, task, line)
    try:
        if not run.in_parcels:
            yield from its.batches()
            return
        printers = printers_of(run)
        for batch in its.batches():
            yield from (as_written(piece, printers) for piece in _pieces(batch))
    finally:
        close = getattr(its.source, "close", None)
        if close is not None:
            close()


__all__ = ["SHARED_SQL", "SourcePartition", "SourceTask", "read_source", "schemas_of"]
