"""Reading for a sink pipeline: records of a task's partitions as Arrow batches. Runs in Python workers.

In the live gear every fetch is filled up with empty rows, because Spark hands rows on in groups of a fixed size. The
JVM looks one row ahead, so the rows of a fetch end one row behind a group:

    | record record record empty empty … empty | empty             a group has LIVE_ROWS rows

An empty row has no topic. Its partition is 1 when everything that the broker has was read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from operator import methodcaller
from typing import Any, Final

import pyarrow as pa

from twinlog.kafka.record_reader import RecordReader
from twinlog.model.names import TopicPartition
from twinlog.pipelines.plan import BranchKey
from twinlog.pipelines.plugins import converter
from twinlog.pipelines.records import ConversionFailed
from twinlog.pipelines.run import SinkRun
from twinlog.pipelines.task_line import TaskLine
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
_GATHER_S: Final = 0.004
"""How long the live gear waits for more records behind the first: each fetch is filled up, which costs CPU."""
_TOPIC, _PARTITION, _OFFSET = methodcaller("topic"), methodcaller("partition"), methodcaller("offset")
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


def read_batches(run: SinkRun, task: int, line: TaskLine) -> Iterator[pa.RecordBatch]:
    """Rows until the epoch ends: by time, by the driver's word, by an unknown schema, or when all is read."""
    positions = run.tasks[task]
    sorter = _Sorter(run)
    reader = RecordReader(run.cluster, positions, run.consumer_overrides)
    until = None if run.until is None else {p: run.until[p] for p in positions if run.until.get(p, 0) > positions[p]}
    deadline = time.monotonic() + run.longest_ms / 1000
    size = run.batch_rows
    place = _Place(positions)
    sent = full = 0
    try:
        while True:
            ending = line.stopping or time.monotonic() > deadline or until == {}
            records = [] if ending else reader.take(CHUNK_ROWS, _WAIT_S, _GATHER_S if run.gear == "live" else None)
            if records:
                batch, whole = _batch(records, sorter)
                sent += batch.num_rows
                if batch.num_rows:
                    yield batch
                if not whole:
                    line.send(end="unknown schema")
                    ending = True
            if until:
                _strike_out(until, reader)
            caught_up = len(records) < CHUNK_ROWS
            if records:
                place.took(records)
            else:
                place.tell(reader, line)
            if not ending and caught_up and run.gear == "catch-up" and run.until is None and not records:
                line.send(end="caught up")
                ending = True
            full = 0 if caught_up else full + 1
            if not ending and run.gear == "live" and full >= _BEHIND:
                line.send(end="behind")
                ending = True
            if ending:
                return
            if caught_up and (records or run.gear == "live"):
                fill = empty_rows(sent, size)
                sent += fill
                yield _empty(fill, caught_up=True)
    finally:
        reader.close()


class _Place:
    """How far a reader is that found nothing new: behind the last record, and behind the markers that follow it.

    Markers of transactions are in the log, and no record. Without this they would look like records that wait.
    """

    def __init__(self, starts: Mapping[TopicPartition, int]) -> None:
        self._last: dict[Any, int] = {place: start - 1 for place, start in starts.items()}
        self._told: dict[str, tuple[int, int]] = {}

    def took(self, records: list[Any]) -> None:
        """These were read. Without a loop in Python: it is done for every record."""
        places = zip(map(_TOPIC, records), map(_PARTITION, records), strict=True)
        self._last.update(zip(places, map(_OFFSET, records), strict=True))

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


def _batch(records: list[Any], sorter: _Sorter) -> tuple[pa.RecordBatch, bool]:
    """The records as one batch; false: the ones from an unknown schema on were left out."""
    keys: list[bytes | None] = [record.key() for record in records]
    values: list[bytes | None] = [record.value() for record in records]
    topics = [record.topic() for record in records]
    branches: list[int | None]
    faults: list[str | None] = []
    whole = True
    if sorter.is_needed:
        branches, faults = [0] * len(records), [None] * len(records)
        for row, (topic, key, value) in enumerate(zip(topics, keys, values, strict=True)):
            try:
                branches[row], keys[row], values[row] = sorter.sort(topic, key, value)
            except ConversionFailed as error:
                faults[row], keys[row], values[row] = str(error), None, None
            except _Unknown:
                whole = False
                records, topics, keys, values = records[:row], topics[:row], keys[:row], values[:row]
                branches, faults = branches[:row], faults[:row]
                break
    else:
        branches = [0] * len(records)
    count = len(records)
    headers = [record.headers() for record in records]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(topics, pa.string()),
            pa.array([record.partition() for record in records], pa.int32()),
            pa.array([record.offset() for record in records], pa.int64()),
            pa.array([record.timestamp()[1] for record in records], pa.int64()),
            pa.array(keys, pa.binary()),
            pa.array(values, pa.binary()),
            _headers(headers) if any(headers) else _none(count),
            pa.array(branches, pa.int32()),
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


def _none(count: int) -> Any:
    """Records without headers: empty lists, not nulls."""
    pairs = pa.StructArray.from_arrays([pa.array([], pa.string()), pa.array([], pa.binary())], ["key", "value"])
    return pa.ListArray.from_arrays(pa.array([0] * (count + 1), pa.int32()), pairs)


def _empty(count: int, *, caught_up: bool) -> pa.RecordBatch:
    columns = [pa.nulls(count, field.type) for field in ROWS]
    columns[1] = pa.array([int(caught_up)] * count, pa.int32())
    return pa.RecordBatch.from_arrays(columns, schema=ROWS)
