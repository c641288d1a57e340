"""Writing for a source pipeline: records and their source's position in one Kafka transaction. Runs in Python workers.

Opening shuts an older writer of the same task out; then the positions are read. A reader that began somewhere else
began before that: the task fails, and Spark starts it again with a reader that sees the right ones.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute

from twinlog.errors import ClusterError
from twinlog.kafka.record_writer import RecordWriter, WriterFenced
from twinlog.model.names import TopicPartition
from twinlog.pipelines.dead_letters import Failure, ensure_topic, headers_of
from twinlog.pipelines.offsets_topic import OffsetsTopic, written
from twinlog.pipelines.parcels import opened
from twinlog.pipelines.records import ERROR_ARROW as ERROR
from twinlog.pipelines.run import SourceRun
from twinlog.pipelines.task_line import RunAgain, TaskLine
from twinlog.pipelines.topic_creation import TopicCreation

log = logging.getLogger("twinlog.pipelines.source")
pc: Any = pyarrow.compute

OUT: Final = ("topic", "partition", "timestamp", "headers", "mark", "error", "drop", "key", "value")
_MOST_ROWS: Final = 500_000
_PAUSES: Final = 4
"""The pause between two commits, as a multiple of the time that a commit takes."""
_HEADERS: Final[Any] = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
OUT_SCHEMA: Final[Any] = pa.schema(
    [
        ("topic", pa.string()), ("partition", pa.int32()), ("timestamp", pa.int64()), ("headers", _HEADERS),
        ("mark", pa.string()), ("error", ERROR), ("drop", pa.bool_()), ("key", pa.binary()), ("value", pa.binary()),
    ]
)  # fmt: skip
"""The columns OUT, for parcels."""


class StaleStart(RunAgain):
    """The reader began at a position that an older writer has moved since."""


class RecordRefused(Exception):
    """A record cannot be handled, and errors.tolerance is none."""


@dataclass
class SourceWriter:
    """The writer of one task of a source: records and position in one transaction."""

    run: SourceRun
    task: int
    line: TaskLine
    counts: Counter[str] = field(default_factory=Counter)
    _open_since: float | None = None
    _commit_s: float = 0.0  # how long the last commit took
    _rows: int = 0
    _offsets: dict[bytes, dict[str, Any]] = field(default_factory=dict)
    _known_topics: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        overrides = {"partitioner": "murmur2_random", **self.run.producer_overrides}
        self._writer = RecordWriter(self.run.cluster, self.run.transactional_id(self.task), overrides)
        self._creation = TopicCreation(self.run.topic_creation)
        self._uncounted: Counter[str] = Counter()

    def write(self, batches: Iterable[pa.RecordBatch]) -> dict[str, Any]:
        """Everything that comes; what has no mark behind it is given up. Returns the positions reached."""
        self._writer.open()
        topic = OffsetsTopic(self.run.cluster, self.run.offsets_topic)
        stored = {
            entry.key: dict(entry.offset) for entry in topic.read(self.run.owner.connector, self.run.offsets_partitions)
        }
        self._ends: dict[bytes, dict[str, Any] | None] = dict(stored)
        try:
            for batch in batches:
                self._batch(batch)
        except BaseException:
            # Left open, it would hold back every reader of committed records until it times out.
            if self._open_since is not None:
                with contextlib.suppress(ClusterError, WriterFenced):
                    self._writer.abort()
            raise
        if self._offsets:
            self._commit()
        elif self._open_since is not None:
            self._writer.abort()
        return {key.decode(): offset for key, offset in self._ends.items()}

    def _batch(self, batch: pa.RecordBatch) -> None:
        """Records, and the marks between them."""
        marks: Any = batch.column("mark")
        at = 0
        for row in pc.indices_nonzero(pc.is_valid(marks)).to_pylist():
            self._records(batch.slice(at, row - at))
            self._mark(json.loads(marks[row].as_py()))
            at = row + 1
        self._records(batch.slice(at))
        self._writer.serve()

    def _records(self, rows: pa.RecordBatch) -> None:
        if rows.column("topic").null_count:
            rows = rows.filter(pc.is_valid(rows.column("topic")))
        if not rows.num_rows:
            return
        topics: list[Any] = rows.column("topic").unique().to_pylist()
        odd = _odd_rows(rows)
        if len(topics) == 1 and not odd:
            self._prepare(topics[0])
            keys, values, times = (_values(rows.column(name)) for name in ("key", "value", "timestamp"))
            self._writer.send_all(topics[0], rows.num_rows, keys, values, times)
            self._rows += rows.num_rows
            return
        columns = [rows.column(name) for name in ("topic", "key", "value", "timestamp")]
        for row, (topic, key, value, at) in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
            error, is_dropped, headers = odd.get(row, _PLAIN)
            if error is not None:
                self._failed(error, topic, key, value)
                continue
            if is_dropped:
                self._uncounted["dropped"] += 1
                continue
            self._prepare(topic)
            self._writer.send(topic, key, value, timestamp_ms=at or 0, headers=headers)
            self._rows += 1

    def _prepare(self, topic: str) -> None:
        self._begin()
        if topic not in self._known_topics:
            self._creation.ensure(self.run.cluster, topic)
            self._known_topics.add(topic)

    def _begin(self) -> None:
        if self._open_since is None:
            self._writer.begin()
            self._open_since = time.monotonic()

    def _mark(self, mark: dict[str, Any]) -> None:
        if "key" in mark:
            key = mark["key"].encode()
            if self._ends.get(key) != mark["start"]:
                raise StaleStart(f"{mark['key']}: read from {mark['start']}, stored is {self._ends.get(key)}")
            self._begin()
            self._offsets[key] = mark["next"]
            self._ends[key] = mark["next"]
        # Often where that is cheap, and never for more than a fifth of the time.
        pause = max(self.run.commit_ms / 1000, _PAUSES * self._commit_s)
        due = self._open_since is not None and time.monotonic() - self._open_since >= pause
        if self._offsets and ("caught_up" in mark or due or self._rows >= _MOST_ROWS):
            self._commit()

    def _commit(self) -> None:
        began = time.monotonic()
        for key, offset in self._offsets.items():
            self._writer.send(self.run.offsets_topic, key, written(offset), mark=self.run.offsets_topic)
        refused = self._writer.flush()
        if refused:
            topic, error = next(iter(refused.items()))
            self._writer.abort()
            raise error if isinstance(error, ClusterError) else RecordRefused(f"{topic}: {error}")
        self._writer.commit()
        self._uncounted["written"] += self._rows
        self.counts.update(self._uncounted)
        self.line.send(counts=self.counts, positions={k.decode(): o for k, o in self._offsets.items()})
        self._uncounted.clear()
        self._offsets.clear()
        self._open_since = None
        self._rows = 0
        self._commit_s = time.monotonic() - began

    def _failed(self, error: dict[str, str], topic: str, key: bytes | None, value: bytes | None) -> None:
        """A record that a transform or the converter refused."""
        failure = Failure(
            TopicPartition(topic, -1), -1, error["stage"], error["class"], error["exception"], error["message"] or ""
        )
        facts = {"topic": topic, "stage": failure.stage, "exception": failure.exception, "message": failure.message}
        if self.run.errors.tolerance == "none":
            self.line.send(fault=facts)
            raise RecordRefused(f"{topic}: {failure.stage}: {failure.exception}: {failure.message}")
        self._uncounted["failed"] += 1
        if self.run.errors.dead_letters:
            self._begin()
            if self.run.errors.dead_letters not in self._known_topics:
                ensure_topic(self.run.cluster, self.run.errors.dead_letters, self.run.errors.dead_letters_replicas)
                self._known_topics.add(self.run.errors.dead_letters)
            headers = headers_of(failure, self.run.owner.connector, self.task)
            kept = headers if self.run.errors.dead_letters_headers else None
            self._writer.send(self.run.errors.dead_letters, key, value, headers=kept, mark="dead letters")
        self.line.send(failed=[facts])


_PLAIN: Final = (None, False, None)


def _values(column: Any) -> list[Any] | None:
    """None: all of them are null, as most keys and times are."""
    return None if column.null_count == len(column) else column.to_pylist()


def _odd_rows(batch: pa.RecordBatch) -> dict[int, tuple[Any, Any, list[tuple[str, bytes | None]] | None]]:
    """The rows that failed, are dropped or have headers: few, as a rule. By number: error, dropped, headers."""
    errors, drops, headers = (batch.column(name) for name in ("error", "drop", "headers"))
    is_odd = pc.or_(pc.is_valid(errors), pc.fill_null(drops, False))
    is_odd = pc.or_(is_odd, pc.greater(pc.fill_null(pc.list_value_length(headers), 0), 0))
    numbers: list[int] = pc.indices_nonzero(is_odd).to_pylist()
    return {
        row: (
            errors[row].as_py(),
            drops[row].as_py(),
            [(header["key"], header["value"]) for header in cast("list[Any]", headers[row].as_py() or [])] or None,
        )
        for row in numbers
    }


def write_source(run: SourceRun, task: int, line: TaskLine, rows: Iterable[pa.RecordBatch]) -> dict[str, Any]:
    return SourceWriter(run, task, line).write(opened(rows, OUT_SCHEMA) if run.in_parcels else rows)
