"""Parcels: a batch travels as one row, and only where the bytes of Kafka are what the connector takes."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from twinlog.config.settings import ClientSettings
from twinlog.pipelines.api import Owner
from twinlog.pipelines.arrow.path import ArrowPath, forms
from twinlog.pipelines.parcels import opened, packed, reach_kafka, reach_sink, texts
from twinlog.pipelines.plan import BranchKey
from twinlog.pipelines.plugins import converter
from twinlog.pipelines.read_kafka import ROWS
from twinlog.pipelines.records import KEPT
from twinlog.pipelines.run import Converters, ErrorSettings, SinkRun
from twinlog.pipelines.schemas import STRING, Field, Schema
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.sink_task import from_parcels
from twinlog.pipelines.source_task import as_written
from twinlog.pipelines.task_line import LineAddress
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


class PaperLine:
    """Takes reports."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []

    def send(self, **facts: Any) -> None:
        self.reports.append(facts)


def run_of(forms: Any, value: str = STRINGS, config: Any = None, branches: Any = None, **more: str) -> SinkRun:
    return SinkRun(
        Owner("c", 1), "PaperSink", more, ClientSettings(cluster="kafka", bootstrap_servers=("x:1",)), "connect-c",
        Converters(STRINGS, {}, value, config or {}), branches or {BranchKey(None, None, None): 0}, ((None, None),),
        ({},), read_settings(ErrorSettings, {}), LineAddress("", 0, ""), "live", 1000, plain=forms,
    )  # fmt: skip


def delivered(batches: list[pa.RecordBatch], run: SinkRun, told: Any = None) -> list[pa.RecordBatch]:
    line: Any = told or PaperLine()
    return list(from_parcels(iter([packed(one) for one in batches]), ArrowPath(run), line))


def test_a_sink_gets_the_columns_of_a_plan() -> None:
    (batch,) = delivered([rows_of([b"a", None, b"\xff"])], run_of(("text", "text")))
    assert batch.schema.names == [*KEPT, "key", "value"]
    assert batch.column("value").to_pylist() == ["a", None, "�"]
    assert batch.column("from_topic").to_pylist() == batch.column("topic").to_pylist() == ["t"] * 3
    assert batch.column("drop").to_pylist() == [False] * 3
    assert batch.column("error").null_count == 3
    (batch,) = delivered([rows_of([b"\xff"])], run_of(("text", "bytes")))
    assert batch.column("value").to_pylist() == [b"\xff"]


STEPS = {
    "transforms": "drop,add", "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.drop.exclude": "b", "transforms.add.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.add.offset.field": "at",
}  # fmt: skip


def test_transforms_change_whole_columns() -> None:
    run = run_of(("text", "document"), "JsonConverter", DOCUMENTS, **STEPS)
    (batch,) = delivered([rows_of([b'{"a":1,"b":2}', b'{"a":3,"b":4}'])], run)
    assert batch.column("value").to_pylist() == ['{"a":1,"at":0}', '{"a":3,"at":1}']


def test_behind_a_batch_that_columns_cannot_tell_nothing_is_written_and_the_epoch_ends() -> None:
    line, rows = PaperLine(), [rows_of([b'{"a":1}']), rows_of([b'{"a":[1]}']), rows_of([b'{"a":2}'])]
    parcels = iter([packed(one) for one in rows])
    path = ArrowPath(run_of(("text", "document"), "JsonConverter", DOCUMENTS, **STEPS))
    found = list(from_parcels(parcels, path, line))  # type: ignore[arg-type]
    assert [batch.column("value").to_pylist() for batch in found] == [['{"a":1,"at":0}']]
    assert [report["end"] for report in line.reports] == ["unfit"]
    assert list(parcels) == [], "Spark must get rid of all rows"


def test_documents_with_schemas_reach_tables_as_columns() -> None:
    row = Schema("struct", fields=(Field("n", Schema("int64")),))
    kinds = {BranchKey(topic, None, json.dumps(row.to_json(), sort_keys=True)): n for n, topic in enumerate("tu")}
    run = run_of(("text", None), "JsonConverter", {}, kinds)
    batch = rows_of([b'{"payload":{"n":1}}', None, b'{"payload":{"n":3}}'])
    of_two_topics = batch.set_column(0, "topic", pa.array(["t", "t", "u"])).set_column(
        7, "branch", pa.array([0, 0, 1], pa.int32())
    )
    found = delivered([of_two_topics], run)
    assert [one.column(-1).to_pylist() for one in found] == [[{"n": 1}, None], [{"n": 3}]]
    assert [one.schema.names[-2:] for one in found] == [["key_0", "value_0"], ["key_1", "value_1"]]
    line = PaperLine()
    assert delivered([batch.set_column(7, "branch", pa.array([0, 1, 0], pa.int32()))], run, line) == []
    assert line.reports, "rows of one partition would change their order"


@pytest.mark.parametrize(
    ("value", "config", "takes", "steps", "wanted"),
    [
        ("JsonConverter", DOCUMENTS, "text", STEPS, ("text", "document")),
        ("JsonConverter", DOCUMENTS, "documents", STEPS, ("text", "document")),
        (STRINGS, {}, "text", STEPS, None),
        ("JsonConverter", {}, "text", STEPS, None),
        ("JsonConverter", DOCUMENTS, "lines", STEPS, None),
        ("JsonConverter", DOCUMENTS, "text", STEPS | {"transforms.add.predicate": "p"}, None),
        ("JsonConverter", {}, "columns", {}, ("text", None)),
        ("JsonConverter", {}, "text", {}, None),  # Java's text of a struct
    ],
)
def test_which_sinks_get_records_that_were_changed_as_columns(
    value: str, config: Any, takes: str, steps: Any, wanted: Any
) -> None:
    sink: Any = type("PaperSink", (), {"takes": takes})
    row = Schema("struct", fields=(Field("n", Schema("int64")),))
    assert forms(steps, (converter(STRINGS, {}), converter(value, config)), sink, [(None, row)]) == wanted
    if takes == "columns":
        hard = row.with_fields([Field("n", Schema("bytes"))])
        assert forms(steps, (converter(STRINGS, {}), converter(value, config)), sink, [(None, hard)]) is None


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
    row = Schema("struct", fields=(Field("n", Schema("int64")),))
    assert reach_kafka(json, text, [("t", None, STRING)])  # there are no keys
    assert reach_kafka(json, json, [("t", STRING, row)])  # Arrow prints documents
    assert not reach_kafka(json, json, [("t", STRING, row.with_fields([Field("n", Schema("bytes"))]))])
    assert not reach_kafka(text, text, [("t", None, row)])
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
