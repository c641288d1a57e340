"""Confluent's rules for the change of a Protobuf schema."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from tests.unit.registry.protobuf_examples import files

from twinlog.registry.schemas.compatibility import incompatibilities
from twinlog.registry.schemas.parse import parse

OTHER = (
    'syntax = "proto3"; package o; enum E { Z = 0; } '
    "message M { int32 a = 1; Deep d = 2; message Deep { string s = 1; } }"
)


def reasons(new: str, old: str, level: str = "BACKWARD", other: str = OTHER) -> list[str]:
    def full(body: str) -> str:
        return body if body.startswith("message P2") else f'syntax = "proto3"; import "o.proto"; {body}'

    pair = parse("PROTOBUF", full(new), {"o.proto": other}), parse("PROTOBUF", full(old), {"o.proto": OTHER})
    return incompatibilities(level, *pair)


def kinds(new: str, old: str) -> list[str]:
    return [reason.split('"')[1] for reason in reasons(new, old)]


COMPATIBLE = {
    "a field comes": ("message A { int32 a = 1; }", "message A {}"),
    "a field goes": ("message A {}", "message A { int32 a = 1; }"),
    "another name": ("message A { int32 b = 1; }", "message A { int32 a = 1; }"),
    "numbers of one group": ("message A { bool a = 1; o.E b = 2; }", "message A { uint64 a = 1; int32 b = 2; }"),
    "text and bytes": ("message A { repeated bytes a = 1; }", "message A { optional string a = 1; }"),
    "a message comes": ("message A {} message B {}", "message A {}"),
    "messages change places": ("message B {} message A {}", "message A {} message B {}"),
    "enums": ("message A {} enum E { X = 0; }", "message A {} enum E { Y = 0; Z = 1; } enum F { G = 0; }"),
    "one field into a new oneof": ("message A { oneof o { int32 a = 1; } }", "message A { int32 a = 1; }"),
    "a oneof goes": ("message A {}", "message A { oneof o { int32 a = 1; } }"),
    "a oneof grows": ("message A { oneof o { int32 a = 1; int32 b = 2; } }", "message A { oneof o { int32 a = 1; } }"),
    "a map": ("message A { map<string, int32> m = 1; }", "message A { map<bytes, int64> m = 1; }"),
    "services, options and reserved numbers": (
        'message A { reserved 9; } service S { rpc F (A) returns (A); } option java_package = "x";',
        "message A {}",
    ),
    "a reference that stays": ("message A { o.M m = 1; }", "message A { .o.M m = 1; }"),
    "recursion": ("message A { A a = 1; repeated A b = 2; }", "message A { A a = 1; }"),
}
INCOMPATIBLE = {
    "PACKAGE_CHANGED": ("package q; message A {}", "package p; message A {}"),
    "MESSAGE_REMOVED": ("message A {}", "message A {} message B {}"),
    "FIELD_KIND_CHANGED": ("message A { string m = 1; }", "message A { o.M m = 1; }"),
    "FIELD_SCALAR_KIND_CHANGED": ("message A { string a = 1; }", "message A { int32 a = 1; }"),
    "FIELD_NAMED_TYPE_CHANGED": ("message A { o.M m = 1; }", "message A { o.M.Deep m = 1; }"),
    "FIELD_NUMERIC_LABEL_CHANGED": ("message A { repeated int32 a = 1; }", "message A { optional int32 a = 1; }"),
    "REQUIRED_FIELD_ADDED": ("message P2 { required int32 a = 1; }", "message P2 {}"),
    "REQUIRED_FIELD_REMOVED": ("message P2 {}", "message P2 { required int32 a = 1; }"),
    "ONEOF_FIELD_REMOVED": (
        "message A { oneof o { int32 a = 1; } }",
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
    ),
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": (
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        "message A { int32 a = 1; int32 b = 2; }",
    ),
    "FIELD_MOVED_TO_EXISTING_ONEOF": (
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        "message A { int32 a = 1; oneof o { int32 b = 2; } }",
    ),
}


@pytest.mark.parametrize("case", COMPATIBLE)
def test_old_records_stay_readable(case: str) -> None:
    assert reasons(*COMPATIBLE[case]) == []


@pytest.mark.proves("R23")
@pytest.mark.parametrize("kind", INCOMPATIBLE)
def test_old_records_become_unreadable(kind: str) -> None:
    assert kinds(*INCOMPATIBLE[kind]) == [kind]


def test_messages_say_where_and_which_side() -> None:
    new = "message A { message B { string s = 3; } }"
    old = "message A { message B { int32 s = 3; } }"
    found = reasons(new, old)
    expected = (
        '{errorType:"FIELD_SCALAR_KIND_CHANGED", description:"The kind of a SCALAR field at path \'#/A/B/3\' in the '
        'new schema does not match its kind in the old schema"}'
    )
    assert found == [expected]
    assert "in the old schema does not match its kind in the new schema" in reasons(new, old, "FORWARD")[0]


def test_a_message_of_a_reference_is_compared_where_it_is_used() -> None:
    changed = OTHER.replace("string s", "int64 s")
    found = reasons("message A { o.M m = 1; }", "message A { o.M m = 1; }", other=changed)
    assert [re.findall(r'errorType:"(\w+)".*\'(#[^\']*)\'', reason)[0] for reason in found] == [
        ("FIELD_SCALAR_KIND_CHANGED", "#/M/Deep/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/M/2"),
        ("FIELD_SCALAR_KIND_CHANGED", "#/M/Deep/1"),
        ("FIELD_NAMED_TYPE_CHANGED", "#/A/1"),
    ]


def test_a_field_of_a_oneof_is_compared() -> None:
    old, new = "message A { oneof o { int32 a = 1; } }", "message A { oneof o { string a = 1; } }"
    assert "#/A/o/1" in reasons(new, old)[0]


@given(files())
def test_a_schema_is_compatible_with_itself_and_its_normalized_form(text: str) -> None:
    schema = parse("PROTOBUF", text)
    assert incompatibilities("FULL", schema, parse("PROTOBUF", text)) == []
    assert incompatibilities("FULL", schema.normalized(), schema) == []


@given(files())
def test_a_further_message_may_come_and_not_go(text: str) -> None:
    old, new = parse("PROTOBUF", text), parse("PROTOBUF", text + " message Further { A a = 1; }")
    assert incompatibilities("BACKWARD", new, old) == []
    assert any("MESSAGE_REMOVED" in reason for reason in incompatibilities("FORWARD", new, old))
