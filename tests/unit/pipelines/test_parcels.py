"""Parcels: a batch travels as one row, and only where the bytes of Kafka are what the connector takes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from twinlog.pipelines.parcels import opened, packed, reach_kafka, reach_sink, texts
from twinlog.pipelines.plugins import converter
from twinlog.pipelines.read_kafka import ROWS
from twinlog.pipelines.schemas import STRING, Schema
from twinlog.pipelines.sink_task import KEPT, from_parcels
from twinlog.pipelines.source_task import as_written
from twinlog.pipelines.write_kafka import OUT_SCHEMA

STRINGS, BYTES = "StringConverter", "ByteArrayConverter"
DOCUMENTS = {"schemas.enable": "false"}


def rows_of(values: list[bytes | None]) -> pa.RecordBatch:
    count = len(values)
    made: dict[str, Any] = {
        "topic": ["t"] * count, "partition": [0] * count, "offset": list(range(count)), "timestamp": [7] * count,
        "key": [None] * count, "value": values, "headers": [[{"key": "h", "value": b"v"}]] * count,
        "branch": [0] * count, "fault": [None] * count,
    }  # fmt: skip
    return pa.RecordBatch.from_pydict(made, schema=ROWS)


def test_a_batch_is_one_row_and_comes_out_as_it_was() -> None:
    batches = [rows_of([b"a", None, b""]), rows_of([b"x" * 100_000])]
    rows = [packed(one) for one in batches]
    assert [one.num_rows for one in rows] == [1, 1]
    assert list(opened(rows, ROWS)) == batches


def test_a_sink_gets_the_columns_of_a_plan() -> None:
    (batch,) = from_parcels([packed(rows_of([b"a", None, b"\xff"]))], ("text", "text"))
    assert batch.schema.names == [*KEPT, "key", "value"]
    assert batch.column("value").to_pylist() == ["a", None, "�"]
    assert batch.column("from_topic").to_pylist() == batch.column("topic").to_pylist() == ["t"] * 3
    assert batch.column("drop").to_pylist() == [False] * 3
    assert batch.column("error").null_count == 3
    (batch,) = from_parcels([packed(rows_of([b"\xff"]))], ("text", "bytes"))
    assert batch.column("value").to_pylist() == [b"\xff"]


@pytest.mark.parametrize(
    ("key", "value", "config", "takes", "wanted"),
    [
        (STRINGS, STRINGS, {}, "text", True),
        (STRINGS, BYTES, {}, "text", False),  # it is written as base64
        (STRINGS, BYTES, {}, "columns", True),
        (BYTES, STRINGS, {}, "text", False),
        (STRINGS, "JsonConverter", DOCUMENTS, "documents", True),
        (STRINGS, "JsonConverter", DOCUMENTS, "text", True),
        (STRINGS, "JsonConverter", {}, "text", False),  # each record has its schema around it
        (STRINGS, STRINGS, {}, "documents", False),  # a text is a document with quotes
        (STRINGS, "JsonConverter", DOCUMENTS, "lines", False),
    ],
)
def test_which_sinks_get_records_in_parcels(key: str, value: str, config: Any, takes: str, wanted: bool) -> None:
    sink: Any = type("PaperSink", (), {"takes": takes})
    assert reach_sink((converter(key, {}), converter(value, config)), sink) is wanted


def test_which_sources_send_records_in_parcels() -> None:
    text, raw, json = converter(STRINGS, {}), converter(BYTES, {}), converter("JsonConverter", {})
    assert reach_kafka(text, text, [("t", None, STRING)])
    assert reach_kafka(json, text, [("t", None, STRING)])  # there are no keys
    assert not reach_kafka(json, text, [("t", STRING, STRING)])
    assert not reach_kafka(text, json, [("t", None, STRING)])
    assert not reach_kafka(text, raw, [("t", None, STRING)])
    assert reach_kafka(text, raw, [("t", None, Schema("bytes"))])
    assert not reach_kafka(text, raw, [("t", None, Schema("bytes", name="org.apache.kafka.connect.data.Decimal"))])
    assert not reach_kafka(text, text, [])


def test_what_a_source_read_has_the_columns_of_a_plan() -> None:
    names = [name for name in OUT_SCHEMA.names if name not in {"error", "drop", "key", "value"}]
    shared = pa.schema([OUT_SCHEMA.field(name) for name in names] + [pa.field("branch", pa.int32())])
    records = pa.RecordBatch.from_pylist([{"topic": "t", "branch": 0}, {"topic": "t", "branch": 0}], schema=shared)
    records = records.append_column("value_0", pa.array(["a", None]))
    made = as_written(records)
    assert made.schema == OUT_SCHEMA
    assert made.column("value").to_pylist() == [b"a", None]
    assert made.column("key").to_pylist() == [None, None]
    mark = pa.RecordBatch.from_pylist([{"mark": "{}"}], schema=shared)
    mark = mark.append_column("value_0", pa.nulls(1, pa.string()))
    assert as_written(mark).column("mark").to_pylist() == ["{}"]
    assert as_written(mark).column("topic").to_pylist() == [None]


def test_texts_keep_nulls() -> None:
    assert texts(pa.array([b"a", None], pa.binary())).to_pylist() == ["a", None]
    assert texts(pa.array([b"\xe4", None], pa.binary())).to_pylist() == ["�", None]
