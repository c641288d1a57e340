"""Documents as Arrow columns: they come out as they went in, or they are refused as a whole."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from twinlog.pipelines.arrow.documents import DocumentReader, Members, Unfit, printed
from twinlog.pipelines.arrow.typed import is_simple, structs
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.chain import under
from twinlog.pipelines.converters.json_documents import JsonConverter
from twinlog.pipelines.plugins import transform
from twinlog.pipelines.read_kafka import ROWS
from twinlog.pipelines.schemas import Field, Schema

KAFKA = "org.apache.kafka.connect.transforms"
NAMES = st.sampled_from(["a", "b", "null", "ü", 'a"b', "a.b", "price", ""])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**66), 2**66)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(-100, 100).map(lambda number: float(round(number)))
    | st.text(max_size=12)
    | st.sampled_from(["2026-11-18T01:02:03Z", "2026-11-18", "null", '"', "\\", '": 1,', "\n", "\x01", '"price": 5,'])
)
ALIKE = {
    "whole": st.integers(-(2**62), 2**62), "price": st.floats(-1e9, 1e9), "text": st.text(max_size=8),
    "flag": st.booleans(),
}  # fmt: skip


def rows_of(documents: list[bytes | None], offset: int = 0) -> pa.RecordBatch:
    count = len(documents)
    made: dict[str, Any] = {
        "topic": ["t"] * count, "partition": [3] * count, "offset": list(range(offset, offset + count)),
        "timestamp": [7] * count, "key": [None] * count, "value": documents, "headers": [[]] * count,
        "branch": [0] * count, "fault": [None] * count,
    }  # fmt: skip
    return pa.RecordBatch.from_pydict(made, schema=ROWS)


def opened(documents: list[bytes | None], reader: DocumentReader | None = None) -> Members:
    rows = rows_of(documents)
    return (reader or DocumentReader()).opened(rows.column("value"), rows)


def shown(members: Members) -> list[Any]:
    return [
        json.loads(text, parse_float=lambda number: ("double", float(number))) for text in printed(members).to_pylist()
    ]


def as_read(documents: list[bytes]) -> list[Any]:
    return [json.loads(text, parse_float=lambda number: ("double", float(number))) for text in documents]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.dictionaries(NAMES, SCALARS, max_size=4), min_size=1, max_size=5), st.booleans())
@example([{"price": 1}, {"price": 1.0}, {"price": 2.5}], True)
@example([{"price": 5.0, "a": '"price": 5,'}], True)
@example([{"a": None, "b": 1}, {"b": 2}], True)
@example([{"a": None, "b": "null"}, {"b": "x"}], True)
@example([{"a": "2026-11-18T01:02:03Z"}], True)
def test_what_is_not_refused_comes_out_as_it_was(documents: list[dict[str, Any]], ascii_only: bool) -> None:
    written = [json.dumps(document, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") for document in documents]
    try:
        members = opened(list(written))
        found = shown(members)
    except Unfit:
        return
    assert found == as_read(written)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.fixed_dictionaries(ALIKE), min_size=1, max_size=6), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_documents_that_are_alike_are_never_refused(documents: list[Any], separators: tuple[str, str]) -> None:
    written = [json.dumps(document, separators=separators, ensure_ascii=False).encode() for document in documents]
    if any(ord(sign) < 32 and sign not in "\n\r\t\b\f" for document in documents for sign in document["text"]):
        return
    assert shown(opened(list(written))) == as_read(written)


@pytest.mark.parametrize(
    "documents",
    [
        [b'{"a": {"b": 1}}'], [b'{"a": [1]}'], [b'{"a": 1}', b'{"a": "x"}'], [b"5"], [b"null"], [None], [b"{"],
        [b'{"a": 1} {"a": 2}', b'{"a": 3}'], [b'{"a": 1}{"a": 2}'], [b'{"a": 1, "a": 2}'], [b'{"a": "\xff"}'],
        [b'{"a": NaN}'], [b'{"a": null}', b'{"b": 1}'], [b'{"a": 12345678901234567890}'], [b""],
    ],
)  # fmt: skip
def test_what_columns_cannot_tell_is_refused(documents: list[bytes | None]) -> None:
    with pytest.raises(Unfit):
        printed(opened(documents))


def test_members_that_some_do_not_have_stay_absent_and_nulls_stay_null() -> None:
    assert shown(opened([b'{"a": 1, "b": "x"}', b'{"b": "y"}'])) == [{"a": 1, "b": "x"}, {"b": "y"}]
    assert shown(opened([b'{"a": 1, "b": null}', b'{"a": null, "b": "y"}'])) == [
        {"a": 1, "b": None},
        {"a": None, "b": "y"},
    ]


def test_a_member_may_change_its_type_between_batches() -> None:
    reader = DocumentReader()
    assert shown(opened([b'{"a": "x", "t": "2026-11-18T01:02:03Z"}'], reader)) == [
        {"a": "x", "t": "2026-11-18T01:02:03Z"}
    ]
    assert shown(opened([b'{"a": 5}'], reader)) == [{"a": 5}]
    assert shown(opened([b'{"b": null, "a": "z"}'], reader)) == [{"b": None, "a": "z"}]


def stepped(documents: list[bytes | None], name: str, **config: str) -> list[Any]:
    own = {"type": f"{KAFKA}.{name}$Value", **{key.replace("_", "."): value for key, value in config.items()}}
    made: Any = transform(own["type"], under({f"x.{key}": value for key, value in own.items()}, "x."))
    return shown(made.on_columns(opened(documents)))


def test_transforms_work_on_columns() -> None:
    documents: list[bytes | None] = [b'{"id": 1, "name": "a", "price": 1.5}', b'{"id": -2, "name": "", "price": 2.0}']
    assert stepped(documents, "ReplaceField", exclude="name,price", renames="id:key") == [{"key": 1}, {"key": -2}]
    assert stepped(documents, "ReplaceField", include="id") == [{"id": 1}, {"id": -2}]
    inserted = stepped(documents[:1], "InsertField", static_field="s!", static_value='"v"', offset_field="o")
    assert inserted == [{"id": 1, "name": "a", "price": ("double", 1.5), "s": '"v"', "o": 0}]
    assert [one["id"] for one in stepped(documents, "Cast", spec="id:string")] == ["1", "-2"]
    assert [one["id"] for one in stepped(documents, "Cast", spec="id:float64")] == [("double", 1.0), ("double", -2.0)]
    assert stepped(documents[:1], "MaskField", fields="id,name,price") == [
        {"id": 0, "name": "", "price": ("double", 0.0)}
    ]
    assert stepped(documents[:1], "MaskField", fields="name", replacement="*")[0]["name"] == "*"


@pytest.mark.parametrize(
    "refused",
    [
        lambda: stepped([b'{"a": 1.5}'], "Cast", spec="a:string"),
        lambda: stepped([b'{"a": "5"}'], "Cast", spec="a:int32"),
        lambda: stepped([b'{"a": 70000}'], "Cast", spec="a:int16"),
        lambda: stepped([b'{"a": 1}'], "Cast", spec="b:int32"),
        lambda: stepped([b'{"a": 1}', b'{"b": 1}'], "Cast", spec="a:string"),
        lambda: stepped([b'{"a": 1}', b'{"b": 1}'], "MaskField", fields="a"),
        lambda: stepped([b'{"a": 1}', b'{"a": 1.5}'], "MaskField", fields="a"),
        lambda: stepped([b'{"a": 1, "b": 2}'], "ReplaceField", renames="a:b"),
    ],
)
def test_transforms_refuse_what_java_does_in_its_own_way(refused: Callable[[], Any]) -> None:
    with pytest.raises(Unfit):
        refused()


ROW = Schema.from_json(
    {"type": "struct", "optional": True, "fields": [
        {"field": "id", "type": "int32", "optional": False}, {"field": "name", "type": "string", "optional": True},
        {"field": "tags", "type": "array", "items": {"type": "string", "optional": True}, "optional": True},
        {"field": "in", "type": "struct", "optional": True, "fields": [
            {"field": "x", "type": "double", "optional": False}]},
    ]}
)  # fmt: skip


def typed(*payloads: str | None) -> list[Any]:
    column = pa.array([None if one is None else f'{{"payload":{one}}}'.encode() for one in payloads], pa.binary())
    found: list[Any] = structs(column, ROW).to_pylist()
    return found


def test_documents_with_a_schema_become_structs() -> None:
    assert is_simple(ROW)
    whole = '{"id": 1, "name": null, "tags": ["a", null], "in": {"x": 1}, "more": {"than": "the schema"}}'
    assert typed(whole, None, "null", '{"id": 2}') == [
        {"id": 1, "name": None, "tags": ["a", None], "in": {"x": 1.0}}, None, None,
        {"id": 2, "name": None, "tags": None, "in": None},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "payload",
    ["{}", '{"id": null}', '{"id": 3000000000}', '{"id": 1.0}', '{"id": "1"}', '{"id": 1, "in": {}}', "5", "[]",
     '{"id": 1, "name": 5}', '{"id": 1, "in": {"x": NaN}}', '{"id": 1, "id": 2}', '{"id": 1'],
)  # fmt: skip
def test_documents_that_break_their_schema_are_refused(payload: str) -> None:
    with pytest.raises(Unfit):
        typed('{"id": 7}', payload)


def test_what_java_reads_in_its_own_way_is_not_for_columns() -> None:
    kinds = [Schema("bytes"), Schema("int32", default=5), Schema("map", keys=Schema("string"), values=Schema("string"))]
    for kind in kinds:
        assert not is_simple(ROW.with_fields([*ROW.fields, type(ROW.fields[0])("more", kind)]))
    assert not is_simple(Schema("string"))
    assert not is_simple(None)


EVENT = Schema.from_json(
    {"type": "struct", "optional": False, "fields": [
        {"field": 't"', "type": "string", "optional": True}, {"field": "n", "type": "int16", "optional": True},
        {"field": "x", "type": "double", "optional": True}, {"field": "y", "type": "float", "optional": True},
        {"field": "ok", "type": "boolean", "optional": True},
        {"field": "in", "type": "struct", "optional": True, "fields": [
            {"field": "z", "type": "string", "optional": True}]},
    ]}
)  # fmt: skip
ROWS_OF_EVENTS = st.fixed_dictionaries(
    {
        't"': st.none() | st.text(max_size=6) | st.sampled_from(["\x00\x1f", 'a"b\\', "\u2028ü"]),
        "n": st.none() | st.integers(-(2**15), 2**15 - 1),
        "x": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "y": st.none() | st.floats(-1000, 1000, width=32),
        "ok": st.none() | st.booleans(),
        "in": st.none() | st.fixed_dictionaries({"z": st.none() | st.text(max_size=3)}),
    }
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | ROWS_OF_EVENTS, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_columns_with_a_schema_are_printed_as_documents(rows: list[Any], schemas: bool, sliced: bool) -> None:
    its: Any = JsonConverter({"schemas.enable": str(schemas).lower()})
    column: Any = pa.array([None, *rows] if sliced else rows, arrow_type(EVENT))
    made = its.printed(column.slice(1) if sliced else column, EVENT)
    wanted = []
    for row, text in zip(rows, made.to_pylist(), strict=True):
        if row is None:
            assert text is None, "the record has no value"
            continue
        found = json.loads(text)
        if schemas:
            assert found["schema"] == EVENT.to_json()
            found = found["payload"]
        if found["y"] is not None:
            (found["y"],) = struct.unpack("f", struct.pack("f", found["y"]))
        wanted.append((found, row))
    assert all(found == row for found, row in wanted)


def test_numbers_that_json_lacks_are_texts_and_an_optional_value_is_null() -> None:
    its: Any = JsonConverter({"schemas.enable": "false"})
    numbers = pa.array([float("nan"), float("inf"), -float("inf"), None, 2.0])
    printed_numbers = its.printed(numbers, Schema("double", optional=True)).to_pylist()
    assert printed_numbers == [b'"NaN"', b'"Infinity"', b'"-Infinity"', b"null", b"2.0"]
    assert not its.prints(Schema("bytes"))
    assert not its.prints(EVENT.with_fields([Field("d", Schema("int32", optional=True, default=5))]))
    assert not its.prints(EVENT.with_fields([Field("d", Schema("array", values=Schema("string")))]))
