"""Preview: sample records after each step, and what the sink would do. Reads only. Runs where it is called.

A sink's samples are records of its topics, a source's are the first rows it would read. Tests of a configuration use
the same way with given records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import pyarrow as pa
from pyspark.sql import DataFrame

from twinlog.errors import ConnectorRefused
from twinlog.kafka.record_reader import RecordReader
from twinlog.pipelines.api import Retriable, SinkBatch
from twinlog.pipelines.bytes_kind import kind_of, remark
from twinlog.pipelines.connector import Connector
from twinlog.pipelines.plan import Frame
from twinlog.pipelines.plugins import find
from twinlog.pipelines.preview_rows import Preview, StepView, shown, text_of
from twinlog.pipelines.preview_source import preview_source
from twinlog.pipelines.read_kafka import ROWS_SQL
from twinlog.pipelines.records import ConversionFailed, PlanRefused
from twinlog.pipelines.session import own_session
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.pipelines.worker_settings import Worker
from twinlog.spark.session import Session, make_active

_WAIT_S: Final = 5.0


@dataclass(frozen=True)
class RawRecord:
    """A record as it lies in a topic."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def sample_records(worker: Worker, planner: SinkPlanner, count: int) -> list[RawRecord]:
    """The last records of the sink's topics. Raises ClusterError."""
    _, starts, ends = planner.places()
    share = max(1, -(-count // max(1, len(ends))))
    # Twice as far back: markers of transactions lie among the records.
    positions = {p: max(starts[p], end - 2 * share) for p, end in ends.items() if end > starts[p]}
    if not positions:
        return []
    reader = RecordReader(worker.cluster, positions)
    sampled: list[RawRecord] = []
    try:
        while len(sampled) < count:
            taken = reader.take(count - len(sampled), _WAIT_S)
            if not taken:
                break
            sampled += [
                RawRecord(
                    record.topic() or "", record.partition() or 0, record.offset() or 0, record.timestamp()[1],
                    record.key(), record.value(), tuple(cast("Any", record.headers()) or ()),
                )
                for record in taken
            ]  # fmt: skip
    finally:
        reader.close()
    return sampled


def preview(spark: Session, connector: Connector, worker: Worker, rows: int) -> Preview:
    """Samples of a pipeline after each step. Raises ConnectorRefused, ClusterError."""
    session = own_session(spark)
    make_active(session)
    try:
        if connector.kind == "source":
            return preview_source(session, connector, worker, rows)
        records = sample_records(worker, SinkPlanner(connector, worker, 0), rows)
        if not records:
            told = f"{connector.name}: its topics hold no records, so there is nothing to show"
            raise ConnectorRefused(connector.name, told)
        return preview_sink(session, connector, worker, records)
    except (PlanRefused, SettingsRefused, Retriable) as error:
        raise ConnectorRefused(connector.name, f"{connector.name}: {error}") from error


def preview_sink(
    spark: Session, connector: Connector, worker: Worker, records: Sequence[RawRecord], *, ask_sink: bool = True
) -> Preview:
    """The records after the converter and after each transform. Raises PlanRefused, SettingsRefused."""
    planner = SinkPlanner(connector, worker, generation=0)
    rows, broken = _sorted(planner, records)
    planned = planner.planned(sorted({record.topic for record in records}))
    # In one task: a service has hundreds of slots, and Spark would deal a few rows to all of them.
    frames = planned.frames(spark.createDataFrame(rows, ROWS_SQL).coalesce(1))
    steps = [StepView("record", [_raw(record) for record in records])]
    frame: Frame | None = None
    for name, frame in frames:
        steps.append(StepView(name, shown(frame)))
    remarks = [*broken, *_remarks(connector, records)]
    actions: list[str] = []
    if frame is not None and ask_sink and hasattr(planner.sink, "preview"):
        actions = _actions(planner.sink, planned.delivered(frame), frame)
    return Preview(steps, remarks, actions)


def _sorted(planner: SinkPlanner, records: Sequence[RawRecord]) -> tuple[list[Any], list[str]]:
    rows: list[Any] = []
    broken: list[str] = []
    for record in records:
        fault, number, key, value = None, 0, record.key, record.value
        try:
            number, key, value = planner.learn(record.topic, record.key, record.value)
        except ConversionFailed as error:
            fault = str(error)
            key = value = None
            broken.append(f"{record.topic}-{record.partition} offset {record.offset}: {error}")
            planner.learn(record.topic, None, None)
        headers = [(name, None if data is None else bytearray(data)) for name, data in record.headers]
        arrays = [None if data is None else bytearray(data) for data in (key, value)]
        rows.append((record.topic, record.partition, record.offset, record.timestamp, *arrays, headers, number, fault))
    return rows, broken


def _remarks(connector: Connector, records: Sequence[RawRecord]) -> list[str]:
    remarks = []
    names = connector.converters
    for side, name, config in (("key", names.key, names.key_config), ("value", names.value, names.value_config)):
        samples = [getattr(record, side) for record in records]
        schemas = config.get("schemas.enable", "true").lower() == "true"
        told = remark(samples, find(name, "converter").name, schemas=schemas)
        if told is not None:
            remarks.append(f"{side}: {told}")
    return remarks


def _raw(record: RawRecord) -> dict[str, Any]:
    return {
        "topic": record.topic, "partition": record.partition, "offset": record.offset, "timestamp": record.timestamp,
        "key": text_of(record.key), "value": text_of(record.value), "key is": kind_of(record.key),
        "value is": kind_of(record.value),
    }  # fmt: skip


def _actions(sink: Any, rows: DataFrame, frame: Frame) -> list[str]:
    table = rows.toArrow().combine_chunks()
    actions: list[str] = []
    for branch in frame.branches:
        for batch in table.to_batches():
            own = f"value_{branch.number}" in batch.schema.names
            parts = {
                "topic": "from_topic", "partition": "partition", "offset": "offset", "timestamp": "timestamp",
                "key": f"key_{branch.number}" if own else "key", "value": f"value_{branch.number}" if own else "value",
                "headers": "headers",
            }  # fmt: skip
            mine = [
                number
                for number, (its, error, drop) in enumerate(
                    zip(
                        batch.column("branch").to_pylist(), batch.column("error").to_pylist(),
                        batch.column("drop").to_pylist(), strict=True,
                    )
                )
                if its == branch.number and error is None and not drop
            ]  # fmt: skip
            for topic in dict.fromkeys(batch.column("topic")[number].as_py() for number in mine):
                chosen = [number for number in mine if batch.column("topic")[number].as_py() == topic]
                some = batch.take(pa.array(chosen, pa.int64()))
                made = pa.RecordBatch.from_pydict({name: some.column(its) for name, its in parts.items()})
                actions += sink.preview(SinkBatch(topic, made, branch.key_shape.schema, branch.value_shape.schema))
    return actions
