"""Confluent's rules for the change of a JSON Schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.registry.json_examples import schemas

from twinlog.registry.schemas.compatibility import incompatibilities
from twinlog.registry.schemas.parse import parse

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def reasons(new: Any, old: Any, level: str = "BACKWARD", policy: str = "STRICT") -> list[str]:
    parsed = parse("JSON", json.dumps(new)), parse("JSON", json.dumps(old))
    return incompatibilities(level, *parsed, policy=policy)


def kinds(new: Any, old: Any, policy: str = "STRICT") -> list[str]:
    return [reason.split('"')[1] for reason in reasons(new, old, policy=policy)]


def obj(properties: dict[str, Any] | None = None, **keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties or {}, **keywords}


TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
CLOSED: dict[str, Any] = {"additionalProperties": False}
PARTIAL: dict[str, Any] = {"additionalProperties": TEXT}
TREE = obj({"children": {"type": "array", "items": {"$ref": "#"}}})

WIDENED: dict[str, tuple[Any, Any]] = {
    "everything": ({}, TEXT),
    "true": (True, TEXT),
    "nothing before": (TEXT, False),
    "a number for an integer": (NUMBER, WHOLE),
    "a longer text": ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 4}),
    "a limit is gone": (NUMBER, {"type": "number", "minimum": 1, "exclusiveMaximum": 9}),
    "a lower minimum": ({"type": "number", "minimum": 0}, {"type": "number", "minimum": 0.5}),
    "the same limit in other digits": ({"type": "number", "minimum": 1.0}, {"type": "number", "minimum": 1}),
    "a divisor of the divisor": ({"multipleOf": 0.5}, {"multipleOf": 1.5}),
    "a pattern is gone": (TEXT, {"type": "string", "pattern": "a"}),
    "a further value": ({"enum": ["a", "b"]}, {"enum": ["a"]}),
    "a further branch": ({"oneOf": [TEXT, WHOLE]}, {"oneOf": [TEXT]}),
    "a union of the type": ({"anyOf": [WHOLE, TEXT]}, TEXT),
    "a further type": ({"type": ["string", "null"]}, TEXT),
    "fewer demands": ({"allOf": [{"minimum": 1}]}, {"allOf": [{"minimum": 1}, {"maximum": 5}]}),
    "one of the demands": (TEXT, {"allOf": [TEXT, {"enum": ["a"]}]}),
    "less is forbidden": ({"not": {"type": "integer"}}, {"not": {"type": "number"}}),
    "a property leaves an open model": (obj(), obj({"a": TEXT})),
    "a property comes into a closed model": (obj({"a": TEXT}, **CLOSED), obj(**CLOSED)),
    "a required one with default": (
        obj({"a": {"type": "string", "default": "x"}}, required=["a"], **CLOSED),
        obj(**CLOSED),
    ),
    "a property fits the rest": (obj({"a": TEXT}, **PARTIAL), obj(**PARTIAL)),
    "a property without demands comes into an open model": (obj({"a": {}}), obj()),
    "a property may be absent": (obj({"a": TEXT}), obj({"a": TEXT}, required=["a"])),
    "the model opens": (obj(), obj(**CLOSED)),
    "a pattern covers what was removed": (
        obj(patternProperties={"^a": TEXT}, **CLOSED),
        obj({"ab": TEXT}, patternProperties={"^a": TEXT}, **CLOSED),
    ),
    "an item comes into a closed list": (
        {"items": [TEXT, WHOLE], "additionalItems": False},
        {"items": [TEXT], "additionalItems": False},
    ),
    "both are bytes": ({"type": "string", "connect.type": "bytes"}, {"type": "number", "connect.type": "bytes"}),
    "a tree of itself": (TREE, TREE),
    "prefix items": (
        {"$schema": DRAFT_2020, "prefixItems": [NUMBER], "items": False},
        {"$schema": DRAFT_2020, "prefixItems": [WHOLE], "items": False},
    ),
}
NARROWED: dict[str, tuple[Any, Any]] = {
    "TYPE_CHANGED": (WHOLE, TEXT),
    "TYPE_NARROWED": (WHOLE, NUMBER),
    "MAX_LENGTH_ADDED": ({"type": "string", "maxLength": 5}, TEXT),
    "MIN_LENGTH_INCREASED": ({"minLength": 2}, {"minLength": 1}),
    "PATTERN_CHANGED": ({"pattern": "a"}, {"pattern": "b"}),
    "MAXIMUM_DECREASED": ({"maximum": 1}, {"maximum": 1.5}),
    "EXCLUSIVE_MAXIMUM_DECREASED": ({"exclusiveMaximum": 1}, {"exclusiveMaximum": 2}),
    "MULTIPLE_OF_EXPANDED": ({"multipleOf": 6}, {"multipleOf": 3}),
    "MULTIPLE_OF_CHANGED": ({"multipleOf": 5}, {"multipleOf": 3}),
    "ENUM_ARRAY_NARROWED": ({"enum": ["a"]}, {"enum": ["a", "b"]}),
    "ENUM_ARRAY_CHANGED": ({"const": 1}, {"const": True}),
    "SUM_TYPE_NARROWED": ({"oneOf": [TEXT, WHOLE]}, {"oneOf": [TEXT, WHOLE, {"type": "null"}]}),
    "PRODUCT_TYPE_EXTENDED": ({"allOf": [TEXT, {"minLength": 1}]}, {"allOf": [TEXT]}),
    "COMBINED_TYPE_CHANGED": ({"allOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, WHOLE]}),
    "COMBINED_TYPE_SUBSCHEMAS_CHANGED": ({"anyOf": [TEXT, WHOLE]}, {"anyOf": [TEXT, {"type": "boolean"}]}),
    "NOT_TYPE_EXTENDED": ({"not": NUMBER}, {"not": WHOLE}),
    "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL": (obj({"a": TEXT}), obj()),
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL": (obj(**CLOSED), obj({"a": TEXT}, **CLOSED)),
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": (obj({"a": TEXT}, required=["a"], **CLOSED), obj(**CLOSED)),
    "REQUIRED_ATTRIBUTE_ADDED": (obj({"a": TEXT}, required=["a"]), obj({"a": TEXT})),
    "ADDITIONAL_PROPERTIES_REMOVED": (obj(**CLOSED), obj()),
    "ADDITIONAL_PROPERTIES_NARROWED": (obj(**PARTIAL), obj()),
    "MAX_PROPERTIES_ADDED": (obj(maxProperties=1), obj()),
    "DEPENDENCY_ARRAY_EXTENDED": (obj(dependencies={"a": ["b", "c"]}), obj(dependencies={"a": ["b"]})),
    "DEPENDENCY_SCHEMA_ADDED": (obj(dependencies={"a": {}}), obj()),
    "ITEM_ADDED_TO_OPEN_CONTENT_MODEL": ({"items": [TEXT, WHOLE]}, {"items": [TEXT]}),
    "UNIQUE_ITEMS_ADDED": ({"uniqueItems": True}, {"uniqueItems": False}),
    "SCHEMA_ADDED": ({"items": TEXT}, {"type": "array"}),
}


@pytest.mark.parametrize("case", WIDENED)
def test_what_was_allowed_stays_allowed(case: str) -> None:
    assert reasons(*WIDENED[case]) == []


@pytest.mark.proves("R23")
@pytest.mark.parametrize("kind", NARROWED)
def test_what_was_allowed_is_refused(kind: str) -> None:
    assert kind in kinds(*NARROWED[kind])


def test_messages_say_where_and_which_side() -> None:
    new, old = obj({"a": obj({"b": WHOLE})}), obj({"a": obj({"b": TEXT})})
    expected = (
        '{errorType:"TYPE_CHANGED", description:"A type at path \'#/properties/a/properties/b\' is different between '
        "the new schema and the old schema'}"
    )
    assert reasons(new, old) == [expected]
    assert "between the old schema and the new schema" in reasons(new, old, "FORWARD")[0]


def test_messages_come_in_the_order_of_java() -> None:
    new, old = obj(dict.fromkeys("zyxab", WHOLE)), obj(dict.fromkeys("abxyz", TEXT))
    assert [reason.split("/")[2][0] for reason in reasons(new, old)] == ["a", "b", "x", "y", "z"]
    names = ["long_name", "foo", "Zz"]
    both = obj(dict.fromkeys(names, WHOLE)), obj(dict.fromkeys(names, TEXT))
    assert [reason.split("/")[2].split("'")[0] for reason in reasons(*both)] == ["Zz", "foo", "long_name"]


@pytest.mark.parametrize(
    "kind",
    [
        "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "ADDITIONAL_PROPERTIES_NARROWED",
    ],
)
def test_the_lenient_policy_allows_more(kind: str) -> None:
    assert kinds(*NARROWED[kind], policy="LENIENT") == []


def test_a_branch_may_find_its_partner_only_if_another_gives_way() -> None:
    old = {"anyOf": [WHOLE, {"type": "number", "minimum": 1}]}
    new = {"anyOf": [NUMBER, WHOLE]}
    assert reasons(new, old) == []


def test_a_difference_behind_a_circle_is_found() -> None:
    """The pair at the top counts as compatible while it is open, and is not: the branch must not rest on it."""

    def circle(leaf: dict[str, Any]) -> dict[str, Any]:
        return obj({"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}, "z": leaf}, **CLOSED)

    assert kinds(circle(TEXT), circle(WHOLE))
    assert reasons(circle(NUMBER), circle(WHOLE)) == []


@given(schemas())
def test_a_schema_is_compatible_with_itself(value: dict[str, Any]) -> None:
    assert reasons(value, value, "FULL") == []


@given(schemas(), st.sampled_from(["anyOf", "oneOf"]))
def test_a_union_with_more_branches_is_wider(value: dict[str, Any], criterion: str) -> None:
    inner = {key: item for key, item in value.items() if key not in {"$schema", "definitions"}}
    shared = {"$schema": value["$schema"], "definitions": value["definitions"]}
    old = {**shared, criterion: [inner, {"const": "first"}]}
    new = {**shared, criterion: [inner, {"const": "first"}, {"type": "null", "title": "more"}]}
    assert reasons(new, old) == []


@given(schemas())
def test_an_optional_property_may_come_into_a_closed_object(value: dict[str, Any]) -> None:
    inner = {key: item for key, item in value.items() if key not in {"$schema", "definitions"}}
    shared = {"$schema": value["$schema"], "definitions": value["definitions"], "type": "object"}
    old = {**shared, **CLOSED, "properties": {"first": inner}}
    new = {**shared, **CLOSED, "properties": {"first": inner, "second": inner}}
    assert reasons(new, old) == []
    assert inner in ({}, {"enum": []}) or reasons(old, new) != []


def test_a_circle_reports_each_difference_once_more_and_no_further() -> None:
    new, old = obj({"next": {"$ref": "#"}, "z": TEXT}), obj({"next": {"$ref": "#"}, "z": WHOLE})
    paths = {reason.split("'")[1] for reason in reasons(new, old)}
    assert paths == {"#/properties/z", "#/properties/next/properties/z"}
