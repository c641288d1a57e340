"""Batches for a table of a database, and what is read from it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from twinlog.model.clock import SYSTEM_CLOCK, SystemClock
from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import SinkBatch, Source, SourcePartition
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.schemas import STRING, Schema, struct

PLACE = TopicPartition("t", 0)
SCHEMA = struct(("id", Schema("int64")), ("name", Schema("string", optional=True)))


def batch_of(topic: str, values: list[Any], schema: Schema = SCHEMA, keys: list[str | None] | None = None) -> SinkBatch:
    count = len(values)
    rows = pa.RecordBatch.from_pydict(
        {
            "topic": [topic] * count,
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([0] * count, pa.int64()),
            "key": pa.array(keys or [None] * count, pa.string()),
            "value": pa.array(values, arrow_type(schema)),
            "headers": pa.nulls(count),
        }
    )
    return SinkBatch(topic, rows, STRING, schema)


def read_all(source: Source, at: SourcePartition, start: Any = None) -> tuple[list[Any], Any]:
    rows: list[Any] = []
    for chunk in source.read(at, start, lambda: False):
        assert isinstance(chunk.rows, pa.RecordBatch)
        rows += chunk.rows.to_pylist()
        start = dict(chunk.next)
    return rows, start


def shift_clock(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    """The worker's clock is wrong by so much; the database's is right."""
    right = SYSTEM_CLOCK.now_ms

    class Wrong(SystemClock):
        def now_ms(self) -> int:
            return right() + hours * 3_600_000

    monkeypatch.setattr("twinlog.pipelines.sources.jdbc.source.SYSTEM_CLOCK", Wrong())
