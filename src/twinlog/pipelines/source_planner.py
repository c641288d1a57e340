"""Plans the epochs of a source pipeline: partitions, known schemas, tasks. Runs in the service, on the driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from twinlog.pipelines.api import Owner, Source, SourcePartition
from twinlog.pipelines.chain import steps_of
from twinlog.pipelines.connector import Connector
from twinlog.pipelines.engine import Nothing
from twinlog.pipelines.job import Epoch
from twinlog.pipelines.offsets_topic import key_of
from twinlog.pipelines.parcels import PARCEL_SQL, reach_kafka
from twinlog.pipelines.plan import Branch, Frame, started
from twinlog.pipelines.plugins import connector as make_connector
from twinlog.pipelines.plugins import converter, find
from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.rescan import Rescan
from twinlog.pipelines.run import SourceRun
from twinlog.pipelines.schemas import STRING, Schema
from twinlog.pipelines.source_task import SHARED_SQL
from twinlog.pipelines.task_line import LineAddress
from twinlog.pipelines.worker_settings import Worker
from twinlog.pipelines.write_kafka import OUT
from twinlog.spark.session import Session

Stream = tuple[str, Schema | None, Schema]


class SourcePlanner:
    """One source pipeline."""

    def __init__(self, connector: Connector, worker: Worker, generation: int, offsets_partitions: int) -> None:
        self.connector = connector
        self.worker = worker
        self.owner = Owner(connector.name, generation, provided=connector.provided)
        self.source = cast("Source", make_connector(connector.common.plugin, connector.config))
        self.steps = steps_of(connector.config)
        names = connector.converters
        self.key, self.value = converter(names.key, names.key_config), converter(names.value, names.value_config)
        self.streams: list[Stream] = []
        self.offsets_partitions = offsets_partitions
        self._available_done = False
        self._asked = False
        self._rescan = Rescan(getattr(self.source, "rescan_ms", connector.common.rescan_ms))

    def heard(self, report: Mapping[str, Any]) -> None:
        if "unfinished" in report:
            self._available_done = False
        told = report.get("stream")
        if told is not None:
            key = None if told["key"] is None else Schema.from_json(told["key"])
            stream = (str(told["topic"]), key, Schema.from_json(told["schema"]))
            if stream not in self.streams:
                self.streams.append(stream)
            self._available_done = False

    def rest(self) -> None:
        """Nothing: only its tasks see whether there is something to read."""

    def has_news(self) -> bool:
        return self._rescan.finds(lambda: self._keys(self.source.partitions()))

    def _keys(self, partitions: Sequence[SourcePartition]) -> list[bytes]:
        return [key_of(self.connector.name, partition) for partition in partitions]

    def again(self) -> None:
        self._available_done = False

    def broke(self) -> None:
        """What was to be read was not read to its end, so it is planned again."""
        self._available_done = False

    def plan(self, session: Session, line: LineAddress) -> Epoch | Nothing:  # noqa: ARG002
        available = self.connector.common.run == "available"
        partitions = self.source.partitions()
        if not partitions:
            return Nothing("the source has nothing to read: no table, file or other partition was found")
        if available and self._available_done:
            return Nothing()
        self._available_done = available
        self._rescan.planned(self._keys(partitions))
        self._ask_streams()
        boundary = self.connector.common.boundary
        run = SourceRun(
            owner=self.owner,
            plugin=self.connector.common.plugin,
            config=self.connector.config,
            cluster=self.worker.cluster,
            group_id=self.worker.group_id,
            offsets_topic=self.connector.config.get("offsets.storage.topic", self.worker.offsets_topic),
            offsets_partitions=self.offsets_partitions,
            streams=tuple(self.streams),
            tasks=deal_out(list(partitions), self.connector.common.tasks),
            topic_creation={k: v for k, v in self.connector.config.items() if k.startswith("topic.creation.")},
            errors=self.connector.errors,
            line=line,
            longest_ms=self.connector.common.epoch_ms,
            poll_ms=self.connector.common.poll_ms,
            until_caught_up=available,
            producer_overrides=self.connector.overrides("producer"),
            commit_ms=0 if boundary == "poll" else self.connector.common.boundary_ms,
            gear="catch-up" if available else "live",
            limits=self.connector.limits,
            in_parcels=not self.steps and reach_kafka(self.key, self.value, self.streams),
            converters=self.connector.converters,
        )
        if run.in_parcels:
            return Epoch(run, PARCEL_SQL, lambda rows: rows, run.batch_rows)
        return Epoch(run, self.columns(), self.rows, run.batch_rows)

    def _ask_streams(self) -> None:
        """What a source knows before it reads: each schema that is met later costs a new plan."""
        if self._asked:
            return
        self._asked = True
        for stream in getattr(self.source, "streams", tuple)():
            if stream not in self.streams:
                self.streams.append(stream)

    def columns(self) -> str:
        """What the reader brings: shared columns, and key and value of each stream."""
        own = [
            f"key_{n} {'string' if key is None else key.spark()}, value_{n} {value.spark()}"
            for n, (_, key, value) in enumerate(self.streams)
        ]
        return ", ".join([SHARED_SQL, *own])

    def rows(self, rows: DataFrame) -> DataFrame:
        """Transforms, then the converter. Before anything is known of the source, only marks can come."""
        if not self.streams:
            nothing = F.lit(None).cast("binary")
            frame = started(rows, (), "")
            return frame.rows.select(*OUT[:-2], nothing.alias("key"), nothing.alias("value"))
        *_, (_, frame) = self.frames(rows)
        return self.encoded(frame)

    def frames(self, rows: DataFrame) -> Iterator[tuple[str, Frame]]:
        """The rows as they were read, and after each transform, with the name of the step."""
        branches = tuple(
            Branch(n, (topic,), Shape(key or STRING), Shape(value))
            for n, (topic, key, value) in enumerate(self.streams)
        )
        frame = started(rows, branches, "")
        yield "source", frame
        for step in self.steps:
            frame = frame.step(step)
            yield step.name, frame

    def encoded(self, frame: Frame) -> DataFrame:
        """What Kafka gets: bytes of keys and values."""
        names = self.connector.converters
        frame = frame.encoded("key", find(names.key, "converter").name, self.key)
        frame = frame.encoded("value", find(names.value, "converter").name, self.value)

        def deliver(record: RecordColumns) -> dict[str, Column]:
            return {"key": record.key, "value": record.value}

        return frame.delivered(deliver, OUT[:-2])


def deal_out(partitions: list[SourcePartition], tasks: int) -> tuple[tuple[SourcePartition, ...], ...]:
    """Source partitions to tasks, one after the other."""
    count = max(1, min(tasks, len(partitions)))
    return tuple(tuple(partitions[number::count]) for number in range(count))
