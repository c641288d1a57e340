"""Preview of a source: the first rows it would read from its beginning, after each step. Reads only.

A source says by `previews = True` that reading changes nothing in its system. Others (a replication slot, a port) are
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import functions as F

from twinlog.errors import ConnectorRefused
from twinlog.pipelines.api import Chunk, Source
from twinlog.pipelines.connector import Connector
from twinlog.pipelines.engine import Nothing
from twinlog.pipelines.preview_rows import Preview, StepView, shown, text_of
from twinlog.pipelines.source_planner import SourcePlanner, Stream
from twinlog.pipelines.source_task import SourceTask, schemas_of
from twinlog.pipelines.task_line import LineAddress
from twinlog.pipelines.worker_settings import Worker
from twinlog.spark.session import Session

_NO_LINE: Final = LineAddress("127.0.0.1", 0, "")


class _Silent:
    """In place of the line to a driver: nobody listens."""

    stopping = False

    def send(self, **facts: Any) -> None:
        """Nothing."""


def preview_source(session: Session, connector: Connector, worker: Worker, count: int) -> Preview:
    """The first rows of a source. Raises ConnectorRefused, Retriable, PlanRefused."""
    planner = SourcePlanner(connector, worker, 0, 1)
    if not getattr(planner.source, "previews", False):
        told = f"{connector.name}: this source cannot be read without a change in its system, so there is no preview"
        raise ConnectorRefused(connector.name, told)
    source = getattr(planner.source, "limited", lambda _: planner.source)(count)
    try:
        chunks = list(_first(source, count))
    finally:
        getattr(source, "close", lambda: None)()
    if not chunks:
        raise ConnectorRefused(connector.name, f"{connector.name}: the source has no rows, so there is nothing to show")
    planner.streams = list(dict.fromkeys(map(_stream, chunks)))
    epoch = planner.plan(session, _NO_LINE)
    if isinstance(epoch, Nothing):
        raise ConnectorRefused(connector.name, f"{connector.name}: {epoch.waiting}")
    task = SourceTask(epoch.run, 0, _Silent())  # type: ignore[arg-type]
    batches = []
    for chunk in chunks:
        _, key, value = stream = _stream(chunk)
        batches.append(task.batch(chunk, _rows(chunk), planner.streams.index(stream), key, value))
    rows = session.createDataFrame(pa.Table.from_batches(batches), planner.columns()).coalesce(1)
    steps, frame = [], None
    for name, frame in planner.frames(rows):
        steps.append(StepView(name, shown(frame)))
    if frame is not None:
        sent = planner.encoded(frame).where(F.isnull("error") & ~F.col("drop")).collect()
        steps.append(StepView("record", [
            {"topic": row["topic"], "key": text_of(_bytes(row["key"])), "value": text_of(_bytes(row["value"]))}
            for row in sent
        ]))  # fmt: skip
    return Preview(steps, [])


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)


def _rows(chunk: Chunk) -> pa.RecordBatch:
    return chunk.rows if isinstance(chunk.rows, pa.RecordBatch) else pa.RecordBatch.from_pylist(list(chunk.rows))


def _stream(chunk: Chunk) -> Stream:
    value, key = schemas_of(chunk, _rows(chunk))
    return chunk.topic, key, value


def _first(source: Source, count: int) -> Iterator[Chunk]:
    """The first rows, of every partition some."""
    partitions = list(source.partitions())
    share = max(1, -(-count // max(1, len(partitions))))
    for partition in islice(partitions, count):
        left = share
        for chunk in source.read(partition, None, lambda: False):
            rows = _rows(chunk).slice(0, left)
            if rows.num_rows:
                yield replace(chunk, rows=rows, tombstones=False)
            left -= rows.num_rows
            if left <= 0:
                break
