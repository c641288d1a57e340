"""Writing for a sink pipeline: the rows of a plan go to the sink, with their positions. Runs in Python workers.

Nothing is final before `flush`. When the target fails in between, the connection is opened anew and everything since
the last flush is put again; what the target stored meanwhile is left out by its positions.

A record that cannot be handled is parked (errors.tolerance = all), or it stops its partition: positions stay in front
of it, later records of that partition are left out, and all other partitions continue.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute

from twinlog.errors import ClusterError
from twinlog.kafka.group_offsets import GroupOffsets
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Retriable, Sink, SinkBatch
from twinlog.pipelines.arrow.documents import Unfit
from twinlog.pipelines.arrow.path import ArrowPath
from twinlog.pipelines.dead_letters import DeadLetters, Failure
from twinlog.pipelines.parcels import opened
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.read_kafka import CHUNK_ROWS, ROWS
from twinlog.pipelines.run import SinkRun
from twinlog.pipelines.task_line import TaskLine

log = logging.getLogger("twinlog.pipelines.sink")
pc: Any = pyarrow.compute

_FIRST_PAUSE_S: Final = 0.3
_GROUP_EVERY_S: Final = 1.0
_PAUSES: Final = 4
"""The pause between two flushes, as a multiple of the time that a flush takes."""


@dataclass
class SinkTask:
    """The writer of one task of a sink: it puts rows and flushes them with their positions."""

    run: SinkRun
    task: int
    line: TaskLine
    sink: Sink = field(init=False)
    positions: dict[TopicPartition, int] = field(init=False)  # behind what was put
    stored: dict[TopicPartition, int] = field(default_factory=dict)  # behind what is durable
    stopped: dict[TopicPartition, int] = field(default_factory=dict)  # at which offset a partition stands still
    pending: list[pa.RecordBatch] = field(default_factory=list)
    put_rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # of what is durable
    uncounted: Counter[str] = field(default_factory=Counter)
    parked: set[tuple[TopicPartition, int]] = field(default_factory=set)
    newest_ms: int = 0  # of the records that were put
    _waiting: bool = False
    _group: GroupOffsets | None = None
    _group_at: float = 0.0
    _flushed_at: float = 0.0
    _flush_s: float = 0.0  # how long the last flush took

    def __post_init__(self) -> None:
        self.sink = cast("Sink", connector(self.run.plugin, self.run.config))
        self.dead = DeadLetters(self.run.cluster, self.run.errors, self.run.owner.connector, self.task)

    def write(self, batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
        """Everything that comes. Returns the positions reached."""
        self._open()
        for batch in batches:
            rows, caught_up = self._rows(batch)
            if rows.num_rows:
                self._bring(rows)
            if self.put_rows >= self.run.flush_rows or (caught_up and self._due()):
                self._bring(None)
        self._bring(None)
        self._tell_group(last=True)
        self.sink.close()
        return {str(partition): offset for partition, offset in self.stored.items()}

    def _open(self) -> None:
        owned = self.run.tasks[self.task]
        while True:
            try:
                known = self.sink.open(self.run.owner, list(owned))
                break
            except Retriable as error:
                # The next try needs a connection of its own: on this one an open transaction may have failed.
                self.sink.close()
                self._wait(error)
        self._goes_on()
        # What a sink without positions of its own has flushed is durable, also when it is opened again.
        self.stored = {place: known.get(place, self.stored.get(place, start)) for place, start in owned.items()}
        self.positions = dict(self.stored)

    def _due(self) -> bool:
        """Whether to flush now: often where that is cheap, and never for more than a fifth of the time."""
        pause = max(self.run.flush_ms / 1000, _PAUSES * self._flush_s)
        return bool(self.pending) and time.monotonic() - self._flushed_at >= pause

    def _rows(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, bool]:
        """The records among the rows; whether the reader had nothing more."""
        topics = batch.column("from_topic")
        if not topics.null_count:
            # An empty row behind a parcel would come with the next one: the JVM looks one row ahead.
            return batch, self.run.plain is not None and batch.num_rows < CHUNK_ROWS
        empty = pc.is_null(topics)
        caught_up = bool(pc.any(pc.and_(empty, pc.equal(batch.column("partition"), 1))).as_py())
        return batch.filter(pc.invert(empty)), caught_up

    def _bring(self, rows: pa.RecordBatch | None) -> None:
        """Put rows; without any: flush. When the target fails, open anew and put again what was not flushed."""
        if rows is not None:
            self.pending.append(rows)
        again, backoff = False, Backoff(_FIRST_PAUSE_S, self.run.errors.retry_delay_max_ms / 1000)
        while True:
            try:
                for some in self.pending if again else [] if rows is None else [rows]:
                    self._put(some)
                if rows is None:
                    self._flush()
            except Retriable as error:
                self._wait(error, backoff.next_s())
                self._open_anew()
                again = True
            else:
                return

    def _open_anew(self) -> None:
        self.sink.close()
        self._open()
        self.put_rows = 0
        self.uncounted.clear()

    def _wait(self, error: Retriable, pause: float = _FIRST_PAUSE_S) -> None:
        self._waiting = True
        self.line.send(waiting=str(error))
        owner = self.run.owner
        log.warning("%s: the target cannot take records: %s", owner.connector, owner.provided.masked(str(error)))
        if self.line.stopping:
            raise error
        time.sleep(max(pause, error.after_ms / 1000))

    def _goes_on(self) -> None:
        """The target answers again; whether it takes records is told by the next flush."""
        if self._waiting and not self.pending:
            self._waiting = False
            self.line.send(waiting="")

    def _put(self, rows: pa.RecordBatch) -> None:
        rows = self._wanted(rows)
        if not rows.num_rows:
            return
        ends = {partition: last + 1 for partition, (_, last) in _spans(rows).items()}
        failures = self._failures_of_plan(rows)
        if failures and self.run.errors.tolerance == "none":
            self._stop_at(failures)
            return
        good = rows.filter(pc.is_null(rows.column("error"))) if failures else rows
        dropped = pc.sum(good.column("drop")).as_py() or 0
        if dropped:
            good = good.filter(pc.invert(good.column("drop")))
        left_out = 0
        for batch, numbers in self._batches(good):
            for rejected in self.sink.put(batch):
                if rejected.left_out:
                    left_out += 1
                    continue
                row = numbers.slice(rejected.row, 1)
                failures.append(_failure(row, "TASK_PUT", self.run.plugin, rejected.exception, rejected.reason))
        if failures and self.run.errors.tolerance == "none":
            self._stop_at(failures)
            return
        self.put_rows += rows.num_rows
        self.newest_ms = max(self.newest_ms, pc.max(rows.column("timestamp")).as_py() or 0)
        self.uncounted.update({"dropped": dropped + left_out, "put": good.num_rows - left_out})
        for partition, end in ends.items():
            self.positions[partition] = max(end, self.positions.get(partition, 0))
        self._park(failures)

    def _wanted(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Without what the target has already, and without partitions that stand still."""
        for partition, (first, _) in _spans(rows).items():
            low, high = self.positions.get(partition, 0), self.stopped.get(partition)
            if first >= low and high is None:
                continue
            offsets = rows.column("offset")
            mine = _mask(rows, partition)
            out = pc.less(offsets, low)
            if high is not None:
                out = pc.or_(out, pc.greater_equal(offsets, high))
            rows = rows.filter(pc.invert(pc.and_(mine, out)))
        return rows

    def _batches(self, rows: pa.RecordBatch) -> Iterator[tuple[SinkBatch, pa.RecordBatch]]:
        for number, topic, some in _by_branch(rows):
            key_schema, schema = self.run.outputs[number]
            own = f"value_{number}" in some.schema.names
            columns = {
                "topic": some.column("from_topic"),
                "partition": some.column("partition"),
                "offset": some.column("offset"),
                "timestamp": some.column("timestamp"),
                "key": some.column(f"key_{number}" if own else "key"),
                "value": some.column(f"value_{number}" if own else "value"),
                "headers": some.column("headers"),
            }
            yield SinkBatch(topic, pa.RecordBatch.from_pydict(columns), key_schema, schema), some

    def _failures_of_plan(self, rows: pa.RecordBatch) -> list[Failure]:
        errors = rows.column("error")
        if errors.null_count == rows.num_rows:
            return []
        bad = rows.filter(pc.is_valid(errors))
        return [
            _failure(bad.slice(row, 1), told["stage"], told["class"], told["exception"], told["message"] or "")
            for row, told in enumerate(cast("list[Any]", bad.column("error").to_pylist()))
        ]

    def _stop_at(self, failures: list[Failure]) -> None:
        """Give up what was put since the last flush, and put it again without the partitions that stand still."""
        for failure in sorted(failures, key=lambda failure: failure.offset):
            before = self.stopped.get(failure.partition)
            if before is None or failure.offset < before:
                self.stopped[failure.partition] = failure.offset
                self.line.send(fault=_as_fault(failure))
        self._open_anew()
        for rows in self.pending:
            self._put(rows)

    def _park(self, failures: list[Failure]) -> None:
        new = [failure for failure in failures if (failure.partition, failure.offset) not in self.parked]
        if not new:
            return
        self.counts["failed"] += len(new)
        masked = self.run.owner.provided.masked
        new = [dataclasses.replace(failure, message=masked(failure.message)) for failure in new]
        if self.run.errors.log:
            for failure in new:
                where = f" {failure.partition} offset {failure.offset}" if self.run.errors.log_messages else ""
                log.error(
                    "%s: %s%s: %s: %s",
                    self.run.owner.connector,
                    failure.stage,
                    where,
                    failure.exception,
                    failure.message,
                )
        try:
            self.dead.park(new)
        except ClusterError as error:
            raise Retriable(str(error)) from error
        self.parked |= {(failure.partition, failure.offset) for failure in new}
        if self.run.errors.dead_letters:
            self.counts["parked"] += len(new)
        self.line.send(failed=[_as_fault(failure) for failure in new[:20]])

    def _flush(self) -> None:
        began = time.monotonic()
        moved = {p: o for p, o in self.positions.items() if o != self.stored.get(p)}
        if moved or self.put_rows:
            self.sink.flush(self.positions)
        self._flush_s = time.monotonic() - began  # the group is told once a second: that is no part of it
        self.stored = dict(self.positions)
        self.counts.update(self.uncounted)
        self.uncounted.clear()
        self.pending.clear()
        self.parked.clear()
        self.put_rows = 0
        if moved:
            self._tell_group()
            self._waiting = False
            stored = {str(partition): offset for partition, offset in self.stored.items()}
            self.line.send(counts=self.counts, positions=stored, newest_ms=self.newest_ms)
        self._flushed_at = time.monotonic()

    def _tell_group(self, *, last: bool = False) -> None:
        """Commit the group's offsets. The sink's own positions count; for a sink without any, these do."""
        if not last and time.monotonic() - self._group_at < _GROUP_EVERY_S and self.sink.delivery == "exactly-once":
            return
        self._group_at = time.monotonic()
        if self._group is None:
            self._group = GroupOffsets(self.run.cluster, self.run.group)
        try:
            self._group.commit(self.stored)
        except ClusterError as error:
            self.line.send(waiting=f"group {self.run.group}: {error}")
        if last:
            self._group.close()


def _as_fault(failure: Failure) -> dict[str, Any]:
    return {
        "topic": failure.partition.topic, "partition": failure.partition.partition, "offset": failure.offset,
        "stage": failure.stage, "class": failure.java, "exception": failure.exception, "message": failure.message,
    }  # fmt: skip


def _failure(row: pa.RecordBatch, stage: str, java: str, exception: str, message: str) -> Failure:
    partition = TopicPartition(row.column("from_topic")[0].as_py(), row.column("partition")[0].as_py())
    return Failure(partition, row.column("offset")[0].as_py(), stage, java, exception, message)


def _mask(rows: pa.RecordBatch, partition: TopicPartition) -> Any:
    its_topic = pc.equal(rows.column("from_topic"), partition.topic)
    return pc.and_(its_topic, pc.equal(rows.column("partition"), partition.partition))


def _spans(rows: pa.RecordBatch) -> dict[TopicPartition, tuple[int, int]]:
    """The partitions that occur, each with its first and last offset."""
    table = pa.table({name: rows.column(name) for name in ("from_topic", "partition", "offset")})
    spans: Any = table.group_by(["from_topic", "partition"]).aggregate([("offset", "min"), ("offset", "max")])
    return {
        TopicPartition(span["from_topic"], span["partition"]): (span["offset_min"], span["offset_max"])
        for span in spans.to_pylist()
    }


def _by_branch(rows: pa.RecordBatch) -> Iterator[tuple[int, str, pa.RecordBatch]]:
    """Rows of one branch and one topic after the other, each in the order of the log."""
    table = pa.table({name: rows.column(name) for name in ("branch", "topic")})
    kinds: Any = table.group_by(["branch", "topic"]).aggregate([]).to_pylist()
    for kind in kinds:
        some = rows
        if len(kinds) > 1:
            mine = pc.and_(
                pc.equal(rows.column("branch"), kind["branch"]), pc.equal(rows.column("topic"), kind["topic"])
            )
            some = rows.filter(mine)
        yield kind["branch"], kind["topic"], some


def from_parcels(rows: Iterator[pa.RecordBatch], path: ArrowPath, line: TaskLine) -> Iterator[pa.RecordBatch]:
    """The rows of parcels, as a plan of expressions would make them.

    Behind a batch that cannot be handled exactly nothing is written: the epoch ends, and the next one has such a plan.
    """
    for batch in opened(rows, ROWS):
        try:
            made = list(path.rows(batch))
        except Unfit as reason:
            line.send(end="unfit", unfit=str(reason))
            for _ in rows:
                pass  # the next epoch reads them again
            return
        yield from made


def write_rows(run: SinkRun, task: int, line: TaskLine, rows: Iterator[pa.RecordBatch]) -> Mapping[str, int]:
    """Everything of one task. Returns the positions reached."""
    return SinkTask(run, task, line).write(rows if run.plain is None else from_parcels(rows, ArrowPath(run), line))
