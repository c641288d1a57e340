"""What is done for whole columns gives what is done record by record."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinlog.pipelines.api import SourcePartition
from twinlog.pipelines.converters.wire_format import head, split, split_all
from twinlog.pipelines.plugins import connector, converter
from twinlog.pipelines.read_kafka import no_headers
from twinlog.pipelines.sources.file_stream import FileStreamSource

SCHEMA = {"type": "struct", "optional": False, "fields": [{"field": "n", "type": "int64", "optional": True}]}


def enveloped(number: int, schema: Any = SCHEMA) -> bytes:
    return json.dumps({"schema": schema, "payload": {"n": number}}).encode()


def binary(*values: bytes | None) -> Any:
    return pa.array(values, pa.binary())


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_records_with_one_schema_are_told_at_once(separators: tuple[str, str]) -> None:
    its: Any = converter("JsonConverter", {})
    documents = [{"schema": SCHEMA, "payload": {"n": number}} for number in range(3)]
    records = [json.dumps(document, separators=separators).encode() for document in documents]
    assert its.tell_all(binary(*records)) is None, "nobody has parsed this schema yet"
    told = [its.tell(record) for record in records]
    schema, rest = its.tell_all(binary(*records))
    assert [(schema, value) for value in rest.to_pylist()] == [its.tell(record) for record in records]
    assert [json.loads(value) for value in rest.to_pylist()] == [json.loads(value) for _, value in told]


def test_records_with_several_schemas_are_told_one_by_one() -> None:
    its: Any = converter("JsonConverter", {})
    other = {**SCHEMA, "optional": True}
    records = [enveloped(1), enveloped(2, other)]
    for record in records:
        its.tell(record)
    assert its.tell_all(binary(*records)) is None
    assert its.tell_all(binary(records[0], b"broken")) is None


@given(st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=8)), min_size=1, max_size=8))
def test_ids_of_a_registry_are_told_at_once(records: list[tuple[int, bytes]]) -> None:
    written = [head(schema_id) + body for schema_id, body in records]
    told = split_all(binary(*written))
    if len({schema_id for schema_id, _ in records}) > 1:
        assert told is None
    else:
        assert told is not None
        assert [(told[0], body) for body in told[1].to_pylist()] == [split(record) for record in written]


def test_bytes_without_an_id_are_not_told() -> None:
    assert split_all(binary(b"\x00\x01")) is None
    assert split_all(binary(b"\x01\x00\x00\x00\x01body")) is None


@settings(deadline=None)
@given(st.lists(st.sampled_from(["", "a", "ä b", "x" * 30]), max_size=20), st.sampled_from(["\n", "\r\n", "\r"]),
       st.integers(1, 5))  # fmt: skip
def test_lines_of_a_file_and_the_positions_behind_them(lines: list[str], end: str, size: int) -> None:
    path = Path(tempfile.mkdtemp()) / "lines"
    text = "".join(line + end for line in lines) + ("\n" if end == "\r" else "")
    path.write_bytes(text.encode())
    source = cast(
        "FileStreamSource", connector("FileStreamSource", {"file": str(path), "topic": "t", "batch.size": str(size)})
    )
    at = SourcePartition({"filename": str(path)})
    chunks = list(source.read(at, None, lambda: False))
    rows: Any = [chunk.rows for chunk in chunks]
    assert [row for some in rows for row in some.column("").to_pylist()] == text.splitlines()
    for number, chunk in enumerate(chunks):
        rest: Any = [other.rows for other in source.read(at, chunk.next, lambda: False)]
        assert [row for some in rest for row in some.column("").to_pylist()] == [
            row for some in rows[number + 1 :] for row in some.column("").to_pylist()
        ]
    shutil.rmtree(path.parent)


def test_records_without_headers_have_empty_lists() -> None:
    assert no_headers(3).to_pylist() == [[], [], []]
    assert no_headers(0).to_pylist() == []
