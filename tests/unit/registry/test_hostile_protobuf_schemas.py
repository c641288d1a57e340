"""Hostile Protobuf schemas: each ends with an answer or a clear error within a bounded time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.registry.schemas.compatibility import incompatibilities
from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import InvalidSchema, TooComplex

PROTO3 = 'syntax = "proto3";\n'
WORDS = (
    *("message", "enum", "oneof", "map<", ">", ",", "{", "}", "[", "]", "(", ")", "=", ";", "reserved", "to", "max"),
    *("option", "extend", "extensions", "service", "rpc", "returns", "stream", "import", "public", "package", "group"),
    *("A", "b", "1", "0x2", "-5", '"x"', "'", "/*", "*/", "//", "\n", "\\", ".", "string", "repeated", "required"),
)


@pytest.mark.parametrize("unit", ["message A {", "option (a) = {a: ", "option (a) = [", "message A { oneof o {"])
def test_deep_nesting_is_refused(unit: str) -> None:
    with pytest.raises((InvalidSchema, TooComplex)):
        parse("PROTOBUF", PROTO3 + unit * 10_000)


def test_a_long_chain_of_messages_of_another_file() -> None:
    links = "".join(f"message M{place} {{ M{place + 1} next = 1; }}\n" for place in range(2000))
    text = PROTO3 + 'import "d.proto"; message A { d.M0 a = 1; }'

    def chain(end: str) -> dict[str, str]:
        return {"d.proto": f"{PROTO3} package d; {links} message M2000 {{ {end} s = 1; }}"}

    old = parse("PROTOBUF", text, chain("string"))
    assert incompatibilities("BACKWARD", parse("PROTOBUF", text, chain("bytes")), old) == []
    found = incompatibilities("BACKWARD", parse("PROTOBUF", text, chain("int32")), old)
    assert "#/M2000/1" in found[0]


def test_a_large_schema_takes_time_in_proportion() -> None:
    fields = "".join(f"string field_{place} = {place + 1} [deprecated = true];\n" for place in range(5000))
    started = time.process_time()
    schema = parse("PROTOBUF", f"{PROTO3}message A {{ {fields} }}")
    assert incompatibilities("FULL", schema, parse("PROTOBUF", schema.text)) == []
    assert time.process_time() - started < 15


@pytest.mark.parametrize(
    "tail", ["/*" * 50_000, "/ " * 50_000, "//\n" * 50_000, '"' * 50_001, "\\" * 50_000, "'x" * 50_000]
)
def test_comments_and_strings_without_end(tail: str) -> None:
    started = time.process_time()
    try:
        parse("PROTOBUF", PROTO3 + "option a = " + tail)
    except InvalidSchema:
        pass
    else:
        pytest.fail("the text is not valid")
    assert time.process_time() - started < 5


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_any_words_are_valid_or_refused(words: list[str]) -> None:
    text = PROTO3 + " ".join(words)
    try:
        schema = parse("PROTOBUF", text)
    except (InvalidSchema, TooComplex):
        return
    assert incompatibilities("FULL", schema, parse("PROTOBUF", schema.text)) == []
    assert schema.formatted("serialized")


@given(st.text(max_size=60))
def test_any_text_is_valid_or_refused(text: str) -> None:
    try:
        parse("PROTOBUF", text)
    except (InvalidSchema, TooComplex):
        return
