"""The text of a Protobuf schema: what is stored, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.unit.registry.protobuf_examples import files

from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import InvalidSchema

PROTO3 = 'syntax = "proto3";\n'
LARGE = """syntax="proto3"; package p.q; // comment
/* another */ import "google/protobuf/timestamp.proto"; import public "google/protobuf/duration.proto";
option java_package="z"; option (f).a.b = 'x"y';
message B { reserved 5, 7 to 9, "foo"; optional int32 i=2 [deprecated=true]; string s = 1; repeated C c=3;
  map<string,C> m=4; oneof o { string y = 11; int32 x = 10; } message C { enum E { Z=0; Y=1; } E e=1; }
  google.protobuf.Timestamp t = 12 [json_name="J", (o) = {b: 1 a: [1, 2]}]; }
enum Top { option allow_alias = true; T1=1; T0=0; T2=1; }
service S { rpc F(B) returns (stream B) { option deprecated = true; } rpc G(B.C) returns (.p.q.B); }"""
PRINTED = """syntax = "proto3";
package p.q;

import "google/protobuf/timestamp.proto";
import public "google/protobuf/duration.proto";

option java_package = "z";
option (f).a.b = "x\\"y";

message B {
  reserved 5, 7 to 9, "foo";

  optional int32 i = 2 [deprecated = true];
  string s = 1;
  repeated C c = 3;
  map<string, C> m = 4;
  google.protobuf.Timestamp t = 12 [
    (o) = {
      b: 1,
      a: [
        1,
        2
      ]
    },
    json_name = "J"
  ];

  oneof o {
    string y = 11;
    int32 x = 10;
  }

  message C {
    E e = 1;
..
    enum E {
      Z = 0;
      Y = 1;
    }
  }
}
enum Top {
  option allow_alias = true;
  T1 = 1;
  T0 = 0;
  T2 = 1;
}

service S {
  rpc F (B) returns (stream B) {
    option deprecated = true;
  };
  rpc G (B.C) returns (.p.q.B);
}
""".replace("..\n", "  \n")
NORMAL = """syntax = "proto3";
package p.q;

import "google/protobuf/timestamp.proto";
import public "google/protobuf/duration.proto";

option (f).a.b = "x\\"y";
option java_package = "z";

message B {
  reserved 5;
  reserved 7 to 9;
  reserved "foo";

  string s = 1;
  optional int32 i = 2 [deprecated = true];
  repeated .p.q.B.C c = 3;
  map<string, .p.q.B.C> m = 4;
  .google.protobuf.Timestamp t = 12 [
    json_name = "J",
    (o) = {
      a: [
        1,
        2
      ],
      b: 1
    }
  ];

  oneof o {
    int32 x = 10;
    string y = 11;
  }

  message C {
    .p.q.B.C.E e = 1;
..
    enum E {
      Z = 0;
      Y = 1;
    }
  }
}
enum Top {
  option allow_alias = true;
  T0 = 0;
  T1 = 1;
  T2 = 1;
}

service S {
  rpc F (.p.q.B) returns (stream .p.q.B) {
    option deprecated = true;
  };
  rpc G (.p.q.B.C) returns (.p.q.B);
}
""".replace("..\n", "  \n")
PROTO2 = """message P2 { required string a = 1; optional int32 b = 2 [default = 0x10];
  repeated int32 c = 3 [packed=true];
  optional group G = 4 { optional double d = 5 [default = 1.23456]; } extensions 100 to 199, 500 to max; }
extend P2 { optional string ext = 100 [default = "a\\nb"]; }"""
PROTO2_PRINTED = """
message P2 {
  required string a = 1;
  optional int32 b = 2 [default = 0x10];
  repeated int32 c = 3 [packed = true];

  optional group G = 4 {
    optional double d = 5 [default = 1.23456];
  }

  extensions 100 to 199, 500 to max;
}

extend P2 {
  optional string ext = 100 [default = "a\\nb"];
}
"""
UNREADABLE = {
    "message A {": ":1:12: unexpected end of file",
    "message A { int32 a = 1; }": ":1:13: unexpected label: int32",
    PROTO3 + "message A { required int32 a = 1; }": (":2:13: 'required' label forbidden in proto3 field declarations"),
    PROTO3 + "message A { int32 a = x; }": ":2:24: expected an integer but was x",
    'edition = "2023"; message A {}': ":1:8: edition is not currently supported",
    'syntax = "proto4"; message A{}': ":1:1: unexpected syntax: proto4",
    "foo bar;": ":1:1: unexpected label: foo",
    'import "a"; syntax = "proto3";': ":1:13: 'syntax' element must be the first declaration in a file",
    PROTO3 + "message A { int32 1a = 1; }": ":2:18: field and constant names cannot start with a digit",
    PROTO3 + "message A { repeated map<string,int32> a = 1; }": ":2:13: 'map' type cannot have label",
    "message A { optional int32 a = 1 }": ":1:35: expected ';' but was '}'",
    PROTO3 + "/* x": ":2:4: unterminated comment",
    PROTO3 + "message A / {}": ":2:13: unexpected '/'",
    PROTO3 + 'option a = "x': ":2:14: unterminated string",
    '"x"': ":1:1: expected a word",
}


@pytest.mark.proves("R23")
def test_the_stored_text() -> None:
    assert parse("PROTOBUF", LARGE).text == PRINTED
    assert parse("PROTOBUF", PROTO2).text == PROTO2_PRINTED
    assert parse("PROTOBUF", PRINTED).text == PRINTED


def test_the_normalized_text() -> None:
    assert parse("PROTOBUF", LARGE).normalized().text == NORMAL
    assert "default = 16" in parse("PROTOBUF", PROTO2).normalized().text
    assert "default = 1.235" in parse("PROTOBUF", PROTO2).normalized().text


@pytest.mark.parametrize("text", UNREADABLE)
def test_text_that_is_no_protobuf(text: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse("PROTOBUF", text)
    assert refused.value.message == f"Could not parse Protobuf - Syntax error in {UNREADABLE[text]}"
    assert not refused.value.rejected_by_check


def test_a_name_that_is_defined_twice() -> None:
    with pytest.raises(InvalidSchema, match=r"A \(:2:14\) is already defined at :2:1"):
        parse("PROTOBUF", PROTO3 + "message A {} message A {}")


@pytest.mark.parametrize(
    "body", ["message A { Foo a = 1; }", "service S { rpc F (A) returns (A); }", "extend A { int32 a = 1; }"]
)
def test_a_type_that_nobody_defined(body: str) -> None:
    with pytest.raises(InvalidSchema, match="Could not resolve type: ") as refused:
        parse("PROTOBUF", PROTO3 + body)
    assert refused.value.rejected_by_check
    assert parse("PROTOBUF", PROTO3 + body, checked=False).text


def test_a_comment_after_a_field_may_be_followed_by_another_field() -> None:
    """Confluent refuses this text, which is valid."""
    assert parse("PROTOBUF", PROTO3 + "message A { int32 a = 1; /* c */ int32 b = 2; }").has_field("b")


def test_names_are_found_from_the_inside_to_the_outside() -> None:
    text = "package a.b; message A { message A { A own = 1; .a.b.A outer = 2; b.A.A full = 3; } }"
    normal = parse("PROTOBUF", PROTO3 + text).normalized().text
    assert ".a.b.A.A own = 1;" in normal
    assert ".a.b.A outer = 2;" in normal
    assert ".a.b.A.A full = 3;" in normal


def test_types_of_a_reference() -> None:
    other = {"o.proto": PROTO3 + "package o; message Other {}"}
    text = PROTO3 + 'import "o.proto"; message A { o.Other x = 1; }'
    assert ".o.Other x = 1;" in parse("PROTOBUF", text, other).normalized().text
    with pytest.raises(InvalidSchema):
        parse("PROTOBUF", text)


def test_the_text_without_options_of_extensions() -> None:
    text = PROTO3 + 'message A { string a = 1 [(x) = 1, (confluent.field_meta).doc = "d", deprecated = true]; }'
    shown = parse("PROTOBUF", text).formatted("ignore_extensions")
    assert "(x)" not in shown
    assert '(confluent.field_meta).doc = "d"' in shown
    assert "extend" not in parse("PROTOBUF", PROTO2).formatted("ignore_extensions")
    assert parse("PROTOBUF", text).formatted("unknown form") == parse("PROTOBUF", text).text


def test_fields_of_all_messages_at_the_top() -> None:
    schema = parse(
        "PROTOBUF", PROTO3 + "message A { int32 a = 1; message C { int32 c = 1; } } message B { int32 b = 1; }"
    )
    assert schema.has_field("a")
    assert schema.has_field("b")
    assert not schema.has_field("c")


@given(files())
def test_the_canonical_text_is_a_fixed_point(text: str) -> None:
    schema = parse("PROTOBUF", text)
    again = parse("PROTOBUF", schema.text)
    assert again.text == schema.text
    normal = schema.normalized()
    assert normal.normalized().text == normal.text
    assert again.normalized().text == normal.text
