"""Avro's rules for reading the data of one schema with another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.registry.avro_examples import schemas

from twinlog.registry.schemas.compatibility import incompatibilities
from twinlog.registry.schemas.parse import parse


def record(*fields: Any, name: str = "R", **extra: Any) -> Any:
    return {"type": "record", "name": name, "fields": list(fields), **extra}


def field(name: str, kind: Any, **extra: Any) -> Any:
    return {"name": name, "type": kind, **extra}


def enum(*symbols: str, **extra: Any) -> Any:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **extra}


def fixed(size: int, name: str = "F") -> Any:
    return {"type": "fixed", "name": name, "size": size}


def reasons(reader: Any, writer: Any, level: str = "BACKWARD") -> list[str]:
    return incompatibilities(level, parse("AVRO", json.dumps(reader)), parse("AVRO", json.dumps(writer)))


TREE = record(field("children", {"type": "array", "items": "R"}))
COMPATIBLE = {
    "promotion of int": ("long", "int"),
    "promotion of long": ("double", "long"),
    "bytes read strings": ("bytes", "string"),
    "logical types do not count": ({"type": "int", "logicalType": "date"}, "int"),
    "a field with default is new": (record(field("a", "int", default=1)), record()),
    "a field is gone": (record(), record(field("a", "int"))),
    "an alias finds the old field": (record(field("b", "int", aliases=["a"])), record(field("a", "int"))),
    "another namespace": (record(namespace="x"), record(namespace="y")),
    "an alias names the old record": (record(name="N", aliases=["R"]), record()),
    "an enum with default reads new symbols": (enum("A", default="A"), enum("A", "B")),
    "a union reads its branch": (["null", "long"], "int"),
    "a plain type reads all branches": ("long", ["int", "long"]),
    "a wider union": (["null", "int", "string"], ["int", "null"]),
    "recursion": (TREE, TREE),
}
INCOMPATIBLE = {
    "int cannot read long": ("int", "long"),
    "a field without default": (record(field("a", "int")), record()),
    "other symbols": (enum("A"), enum("A", "B")),
    "another size": (fixed(2), fixed(3)),
    "another name": (record(name="N"), record()),
    "an alias in another namespace": (record(name="N", namespace="x", aliases=["R"]), record(namespace="y")),
    "a branch is gone": (["null", "int"], ["null", "string"]),
    "a plain type cannot read a branch": ("int", ["int", "null"]),
    "inside a map": ({"type": "map", "values": "int"}, {"type": "map", "values": "string"}),
    "an enum's own default is no default of the field": (record(field("e", enum("A", default="A"))), record()),
    "two fields match": (
        record(field("a", "int", aliases=["b"])),
        record(field("a", "int"), field("b", "int")),
    ),
}


@pytest.mark.parametrize("case", COMPATIBLE)
def test_readable(case: str) -> None:
    assert reasons(*COMPATIBLE[case]) == []


@pytest.mark.parametrize("case", INCOMPATIBLE)
def test_unreadable(case: str) -> None:
    assert reasons(*INCOMPATIBLE[case])


def test_forward_asks_the_old_schema_to_read_and_full_asks_both() -> None:
    new, old = record(field("a", "int")), record()
    assert reasons(new, old, "BACKWARD")
    assert reasons(new, old, "FORWARD_TRANSITIVE") == []
    assert reasons(new, old, "FULL") == reasons(new, old, "BACKWARD")
    assert reasons(new, old, "NONE") == []


def test_messages_say_where_and_which_side() -> None:
    message = (
        "{errorType:'TYPE_MISMATCH', description:'The type (path '/fields/0/type/items') of a field in the %s schema "
        "does not match with the %s schema', additionalInfo:'reader type: INT not compatible with writer type: STRING'}"
    )
    new = record(field("a", {"type": "array", "items": "int"}))
    old = record(field("a", {"type": "array", "items": "string"}))
    assert reasons(new, old) == [message % ("new", "old")]
    assert reasons(old, new, "FORWARD") == [message % ("old", "new")]


def test_another_kind_of_schema_is_never_compatible() -> None:
    class Other:
        kind = "JSON"
        text = "{}"

        def normalized(self) -> Other:
            return self

        def formatted(self, form: str) -> str:
            return form

    found = incompatibilities("BACKWARD", parse("AVRO", '"int"'), Other())  # type: ignore[arg-type]
    assert found == ["Incompatible because of different schema type"]


@given(schemas())
def test_a_schema_is_compatible_with_itself(value: Any) -> None:
    assert reasons(value, value, "FULL") == []


@given(schemas())
def test_a_field_with_default_may_be_added(value: Any) -> None:
    old = record(field("old", value), name="Outer")
    new = record(field("old", value), field("added", "int", default=3), name="Outer")
    assert reasons(new, old, "FULL") == []
