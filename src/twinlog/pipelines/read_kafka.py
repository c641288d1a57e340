"""Reading for a sink pipeline: records of a task's partitions as Arrow batches. Runs in Python workers.

In the live gear every fetch is filled up with empty rows, because Spark hands rows on in groups of a fixed size. The
JVM looks one row ahead, so the rows of a fetch end one row behind a group:

    | record record record empty empty … empty | empty             a group has LIVE_ROWS rows

An empty row has no topic. Its partition is 1 when everything that the broker has was read.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from twinlog.kafka.record_reader import HEADERS, KEY, OFFSET, PARTITION, TIMESTAMP, TOPIC, VALUE, RecordReader
from twinlog.model.names import TopicPartition
from twinlog.pipelines.plan import BranchKey
from twinlog.pipelines.plugins import converter
from twinlog.pipelines.records import ConversionFailed
from twinlog.pipelines.run import SinkRun
from twinlog.pipelines.task_line import TaskLine
from twinlog.pipelines.throttle import Throttle
from twinlog.spark.groups import empty_rows

_HEADERS: Final[Any] = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
ROWS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", _HEADERS),
        ("branch", pa.int32()),
        ("fault", pa.string()),
    ]
)
ROWS_SQL: Final = (
    "topic string, partition int, offset bigint, timestamp bigint, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>, branch int, fault string"
)
_WAIT_S: Final = 0.1
_LONG_WAIT_S: Final = 0.5
_QUIET: Final = 10
"""After so many waits without a record they are longer, and the writer is woken up only once in so many."""
_MISSES: Final = 3
"""After so many waits without a record the backlog is read."""
_FIRST_MISSES: Final = 30
"""The first records need time: the client must find the brokers."""
_GATHER_S: Final = 0.004
"""How long the live gear waits for more records behind the first: each fetch is filled up, which costs CPU."""
_GATHER_PARCEL_S: Final = 0.001
"""A parcel costs less."""
_SECOND: Final = itemgetter(1)
CHUNK_ROWS: Final = 5000
"""Records taken at once."""
_BEHIND: Final = 4
"""So many full fetches in a row mean that the live gear has fallen behind."""


class _Unknown(Exception):
    """A record carries a schema that the plan does not know."""


class _Sorter:
    """Tells the branch of each record, and takes the schema off its bytes."""

    def __init__(self, run: SinkRun) -> None:
        self._key = converter(run.converters.key, run.converters.key_config)
        self._value = converter(run.converters.value, run.converters.value_config)
        self._branches = dict(run.branches)
        self._refused = dict(run.refused)
        self.is_needed = self._key.carries_schemas or self._value.carries_schemas
        self._of_nothing: dict[str, int] = {}
        for at, number in self._branches.items():
            self._of_nothing.setdefault(at.topic or "", number)

    def sort(self, topic: str, key: bytes | None, value: bytes | None) -> tuple[int, bytes | None, bytes | None]:
        key_schema = value_schema = None
        if self._key.carries_schemas and key is not None:
            key_schema, key = self._key.tell(key)
        if self._value.carries_schemas and value is not None:
            value_schema, value = self._value.tell(value)
        number = self._branches.get(BranchKey(topic, key_schema, value_schema))
        if number is None and (key is None or value is None):
            # What is absent has no schema: any branch of the topic that agrees in the other part will do.
            number = next(
                (
                    n
                    for at, n in self._branches.items()
                    if at.topic == topic
                    and (key is None or at.key == key_schema)
                    and (value is None or at.value == value_schema)
                ),
                None,
            )
        if number is None:
            reason = self._refused.get(BranchKey(topic, key_schema, value_schema))
            if reason is not None:
                raise ConversionFailed(reason)
            raise _Unknown
        return number, key, value

    def sort_all(self, topics: Any, keys: Any, values: Any) -> tuple[int, Any, Any] | None:
        """The branch of a whole column of records that are alike; None: look at each of them."""
        names = topics.unique().to_pylist()
        if len(names) != 1:
            return None
        schemas: list[Hashable] = []
        made: list[Any] = []
        for its, column in ((self._key, keys), (self._value, values)):
            told: tuple[Hashable, Any] | None = (None, column)
            if its.carries_schemas and column.null_count < len(column):
                tell_all = getattr(its, "tell_all", None)
                told = None if column.null_count or tell_all is None else tell_all(column)
            if told is None:
                return None
            schemas.append(told[0])
            made.append(told[1])
        number = self._branches.get(BranchKey(names[0], schemas[0], schemas[1]))
        return None if number is None else (number, made[0], made[1])


def read_batches(run: SinkRun, task: int, line: TaskLine) -> Iterator[pa.RecordBatch]:
    """Rows until the epoch ends: by time, by the driver's word, by an unknown schema, or when all is read."""
    positions = run.tasks[task]
    sorter = _Sorter(run)
    reader = RecordReader(run.cluster, positions, run.consumer_overrides)
    until = None if run.until is None else {p: run.until[p] for p in positions if run.until.get(p, 0) > positions[p]}
    deadline = time.monotonic() + run.longest_ms / 1000
    place = _Place(positions)
    topic = next(iter(positions)).topic if len({partition.topic for partition in positions}) == 1 else None
    throttle = Throttle(run.limits, len(run.tasks))
    sent = full = quiet = 0
    rest = _Rest(run.idle_ms, line)
    gather = None if run.gear != "live" else _GATHER_S if run.plain is None else _GATHER_PARCEL_S
    try:
        while True:
            ending = throttle.pause(lambda: line.stopping or time.monotonic() > deadline) or until == {}
            wait = _WAIT_S if quiet < _QUIET or run.gear != "live" else _LONG_WAIT_S
            records = [] if ending else reader.take(throttle.most(CHUNK_ROWS), wait, gather)
            quiet = 0 if records else quiet + 1
            rest.look(bool(records))
            if records:
                batch, whole = _batch(records, sorter, topic)
                sent += batch.num_rows
                throttle.spend(batch.num_rows, batch.nbytes)
                if batch.num_rows:
                    yield batch
                if not whole:
                    line.send(end="unknown schema")
                    ending = True
                place.took(batch)
            else:
                place.tell(reader, line)
            if until:
                _strike_out(until, reader)
            caught_up = len(records) < CHUNK_ROWS
            most_misses = _MISSES if place.has_moved else _FIRST_MISSES
            if not ending and quiet >= most_misses and run.gear == "catch-up" and run.until is None:
                line.send(end="caught up")
                ending = True
            full = 0 if caught_up else full + 1
            if not ending and run.gear == "live" and full >= _BEHIND and run.plain is None:
                line.send(end="behind")
                ending = True
            if ending:
                return
            if caught_up and (records or (run.gear == "live" and (quiet < _QUIET or quiet % _QUIET == 0))):
                fill = empty_rows(sent, run.batch_rows)
                sent += fill
                yield _empty(fill, caught_up=True)
    finally:
        reader.close()


class _Rest:
    """Says when no record has come for long, and when one comes again."""

    def __init__(self, idle_ms: int, line: TaskLine) -> None:
        self._idle_s, self._line = idle_ms / 1000, line
        self._since, self._told = time.monotonic(), False

    def look(self, has_records: bool) -> None:
        now = time.monotonic()
        if has_records:
            self._since = now
        rests = 0 <= self._idle_s <= now - self._since
        if rests != self._told:
            self._told = rests
            self._line.send(idle=rests)


class _Place:
    """How far a reader is that found nothing new: behind the last record, and behind the markers that follow it.

    Markers of transactions are in the log, and no record. Without this they would look like records that wait.
    """

    def __init__(self, starts: Mapping[TopicPartition, int]) -> None:
        self._last: dict[Any, int] = {place: start - 1 for place, start in starts.items()}
        self._told: dict[str, tuple[int, int]] = {}
        self.has_moved = False

    def took(self, batch: pa.RecordBatch) -> None:
        """These were read."""
        self.has_moved = True
        table = pa.table({name: batch.column(name) for name in ("topic", "partition", "offset")})
        ends: Any = table.group_by(["topic", "partition"]).aggregate([("offset", "max")])
        for end in ends.to_pylist():
            self._last[TopicPartition(end["topic"], end["partition"])] = end["offset_max"]

    def tell(self, reader: RecordReader, line: TaskLine) -> None:
        """Report it, if it is news."""
        positions = reader.positions(list(self._last))
        news = {str(partition): (self._last[partition] + 1, to) for partition, to in positions.items()}
        news = {place: told for place, told in news.items() if self._told.get(place) != told}
        if news:
            self._told |= news
            line.send(read=news)


def _strike_out(until: dict[TopicPartition, int], reader: RecordReader) -> None:
    for partition, position in reader.positions(list(until)).items():
        if position >= until[partition]:
            del until[partition]


def _batch(records: list[Any], sorter: _Sorter, topic: str | None = None) -> tuple[pa.RecordBatch, bool]:
    """The records as one batch; false: the ones from an unknown schema on were left out."""
    keys: Any = pa.array(map(KEY, records), pa.binary())
    values: Any = pa.array(map(VALUE, records), pa.binary())
    topics: Any = pa.array(map(TOPIC, records), pa.string()) if topic is None else _repeated(topic, len(records))
    branches: Any = pa.repeat(pa.scalar(0, pa.int32()), len(records))
    faults: list[str | None] = []
    whole = True
    alike = sorter.sort_all(topics, keys, values) if sorter.is_needed else None
    if alike is not None:
        number, keys, values = alike
        branches = pa.repeat(pa.scalar(number, pa.int32()), len(records))
    elif sorter.is_needed:
        topics, keys, values = topics.to_pylist(), keys.to_pylist(), values.to_pylist()
        branches, faults = [0] * len(records), [None] * len(records)
        for row, (its, key, value) in enumerate(zip(topics, keys, values, strict=True)):
            try:
                branches[row], keys[row], values[row] = sorter.sort(its, key, value)
            except ConversionFailed as error:
                faults[row], keys[row], values[row] = str(error), None, None
            except _Unknown:
                whole = False
                records, topics, keys, values = records[:row], topics[:row], keys[:row], values[:row]
                branches, faults = branches[:row], faults[:row]
                break
        topics, keys, values = pa.array(topics, pa.string()), pa.array(keys, pa.binary()), pa.array(values, pa.binary())
        branches = pa.array(branches, pa.int32())
    count = len(records)
    headers = list(map(HEADERS, records))
    return pa.RecordBatch.from_arrays(
        [
            topics,
            pa.array(map(PARTITION, records), pa.int32()),
            pa.array(map(OFFSET, records), pa.int64()),
            pa.array(map(_SECOND, map(TIMESTAMP, records)), pa.int64()),
            keys,
            values,
            _headers(headers) if any(headers) else no_headers(count),
            branches,
            pa.array(faults, pa.string()) if faults else pa.nulls(count, pa.string()),
        ],
        schema=ROWS,
    ), whole


def _headers(headers: list[Any]) -> Any:
    flat = [pair for some in headers for pair in some or ()]
    offsets = [0]
    for some in headers:
        offsets.append(offsets[-1] + len(some or ()))
    pairs = pa.StructArray.from_arrays(
        [pa.array([key for key, _ in flat], pa.string()), pa.array([value for _, value in flat], pa.binary())],
        ["key", "value"],
    )
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pairs)


def _repeated(text: str, count: int) -> Any:
    return pa.repeat(pa.scalar(text, pa.string()), count)


def no_headers(count: int) -> Any:
    """Records without headers: empty lists, not nulls."""
    pairs = pa.array([], _HEADERS.value_type)
    return pa.Array.from_buffers(_HEADERS, count, [None, pa.py_buffer(bytes(4 * (count + 1)))], children=[pairs])


def _empty(count: int, *, caught_up: bool) -> pa.RecordBatch:
    columns = [pa.nulls(count, field.type) for field in ROWS]
    columns[1] = pa.array([int(caught_up)] * count, pa.int32())
    return pa.RecordBatch.from_arrays(columns, schema=ROWS)
