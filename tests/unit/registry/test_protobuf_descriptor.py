"""Protobuf schemas as serialized descriptors in Base64."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.registry.protobuf_examples import files

from twinlog.registry.schemas.compatibility import incompatibilities
from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.protobuf.wire import BrokenBytes, fields_of, varint
from twinlog.registry.schemas.schema import InvalidSchema

SMALL = "CgdkZWZhdWx0IgwKAUESBwoBYRgBKAliBnByb3RvMw=="
"""What Confluent gives for the message below."""

SMALL_TEXT = 'syntax = "proto3";\n\nmessage A {\n  string a = 1;\n}\n'


def test_a_descriptor_is_written_as_confluent_writes_it() -> None:
    assert parse("PROTOBUF", SMALL_TEXT).formatted("serialized") == SMALL


def test_a_descriptor_is_read_as_a_schema() -> None:
    assert parse("PROTOBUF", SMALL).text == SMALL_TEXT


def test_options_and_kinds_of_members_survive() -> None:
    text = """syntax = "proto3"; package p; import "google/protobuf/timestamp.proto";
    option java_package = "a"; option optimize_for = LITE_RUNTIME;
    message A { reserved 5, 7 to 9, "foo"; optional int32 i = 2 [deprecated = true, json_name = "J"];
      map<string, E> my_map = 3; oneof o { string s = 4; .google.protobuf.Timestamp t = 10; }
      string d = 11 [(confluent.field_meta) = { doc: "d", tags: ["PII"], params: [{ key: "k", value: "v" }] }];
      enum E { option allow_alias = true; Z = 0; Y = 0 [deprecated = true]; reserved 3; } }
    service S { rpc F (A) returns (stream A) { option idempotency_level = IDEMPOTENT; } }"""
    schema = parse("PROTOBUF", text)
    again = parse("PROTOBUF", schema.formatted("serialized"))
    assert again.normalized().text == schema.normalized().text


def test_a_map_of_a_descriptor_is_a_map() -> None:
    schema = parse("PROTOBUF", 'syntax = "proto3"; message A { map<string, int32> m = 1; }')
    descriptor = parse("PROTOBUF", schema.formatted("serialized"))
    assert "map_entry = true" in descriptor.text
    assert descriptor.normalized().text == schema.normalized().text
    assert incompatibilities("FULL", schema, descriptor) == []


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\x7f", b"\x00", b"\x08", b"\x22\x03\x12\x05", b"\x80" * 20])
def test_bytes_that_are_no_descriptor(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    with pytest.raises(InvalidSchema, match="Could not parse Protobuf"):
        parse("PROTOBUF", text)


@given(st.integers(0, 2**64 - 1))
def test_a_number_is_read_as_it_was_written(value: int) -> None:
    assert list(fields_of(b"\x08" + varint(value))) == [(1, value)]


@given(st.binary(max_size=60))
def test_any_bytes_are_fields_or_broken(data: bytes) -> None:
    try:
        list(fields_of(data))
    except BrokenBytes:
        return


@given(st.binary(max_size=60))
def test_any_descriptor_is_valid_or_refused(data: bytes) -> None:
    try:
        parse("PROTOBUF", base64.b64encode(data).decode())
    except InvalidSchema:
        return


@given(files())
def test_a_schema_is_the_same_after_its_descriptor(text: str) -> None:
    schema = parse("PROTOBUF", text)
    again = parse("PROTOBUF", schema.formatted("serialized"))
    assert incompatibilities("FULL", schema, again) == []
    assert again.formatted("serialized") == parse("PROTOBUF", again.text).formatted("serialized")
