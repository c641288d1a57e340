"""An object store sink on a folder, and batches for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Sink, SinkBatch
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.schemas import Schema

CLASS = "io.confluent.connect.s3.S3SinkConnector"
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def sink_of(folder: Path, **config: str) -> Any:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    made = connector(CLASS, {"store.url": f"file://{folder}", "flush.size": "3", **keys})
    assert isinstance(made, Sink)
    return made


def batch_of(values: list[Any], first: int = 0, partition: int = 0, *, schema: Schema | None = None,
             times: list[int] | None = None) -> SinkBatch:  # fmt: skip
    count = len(values)
    rows = pa.RecordBatch.from_pydict(
        {
            "topic": ["orders"] * count,
            "partition": pa.array([partition] * count, pa.int32()),
            "offset": pa.array(range(first, first + count), pa.int64()),
            "timestamp": pa.array(times or [0] * count, pa.int64()),
            "key": pa.nulls(count, pa.string()),
            "value": pa.array(values, pa.string() if schema is None else arrow_type(schema)),
            "headers": pa.nulls(count),
        }
    )
    return SinkBatch("orders", rows, None, schema)
