"""Hostile JSON Schemas: each ends with an answer or a clear error within a bounded time."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.registry.schemas.compatibility import incompatibilities
from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import InvalidSchema, TooComplex

DRAFTS = ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
KEYWORDS = (
    *("type", "properties", "required", "items", "prefixItems", "additionalProperties", "additionalItems", "enum"),
    *("const", "allOf", "anyOf", "oneOf", "not", "if", "then", "$ref", "$id", "$anchor", "$dynamicRef", "$defs"),
    *("definitions", "patternProperties", "pattern", "minimum", "maxLength", "multipleOf", "dependencies"),
    *("dependentRequired", "dependentSchemas", "format", "title", "default", "uniqueItems", "contains"),
)


def compared(new: Any, old: Any) -> list[str]:
    return incompatibilities("FULL", parse("JSON", json.dumps(new)), parse("JSON", json.dumps(old)))


@pytest.mark.parametrize("unit", ['{"properties":{"a":', '{"not":', '{"allOf":[', "["])
def test_deep_nesting_is_refused(unit: str) -> None:
    with pytest.raises((InvalidSchema, TooComplex)):
        parse("JSON", unit * 10_000)


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_long_chain_of_definitions_ends_with_an_answer(draft: str) -> None:
    links = {f"d{place}": {"properties": {"next": {"$ref": f"#/definitions/d{place + 1}"}}} for place in range(2000)}
    schema = {"$schema": draft, "$ref": "#/definitions/d0", "definitions": {**links, "d2000": {}}}
    assert compared(schema, schema) == []


@pytest.mark.parametrize("draft", DRAFTS)
def test_definitions_that_all_know_each_other(draft: str) -> None:
    """Twelve mutually recursive unions: a comparison of all paths would never end."""

    def family(leaf: dict[str, Any]) -> dict[str, Any]:
        definitions = {
            f"d{one}": {
                "oneOf": [
                    {"type": "object", "properties": {f"p{two}": {"$ref": f"#/definitions/d{two}"}, "leaf": leaf}}
                    for two in range(12)
                ]
            }
            for one in range(12)
        }
        return {"$schema": draft, "$ref": "#/definitions/d0", "definitions": definitions}

    started = time.process_time()
    assert compared(family({"type": "string"}), family({"type": "string"})) == []
    assert compared(family({"type": "integer"}), family({"type": "string"}))
    assert time.process_time() - started < 5


def test_too_many_pairs_are_refused() -> None:
    schema = {"anyOf": [{"const": place} for place in range(1200)]}
    with pytest.raises(TooComplex):
        compared(schema, schema)


def test_a_large_schema_takes_time_in_proportion() -> None:
    properties = {f"p{place}": {"type": "string", "description": "x" * 60} for place in range(8000)}
    schema = {"$schema": DRAFTS[1], "type": "object", "properties": properties}
    started = time.process_time()
    assert compared(schema, schema) == []
    assert time.process_time() - started < 5


@given(JSON)
def test_any_json_is_valid_or_refused(value: Any) -> None:
    text = json.dumps(value)
    try:
        schema = parse("JSON", text)
    except (InvalidSchema, TooComplex):
        return
    assert incompatibilities("FULL", schema, parse("JSON", text)) == []


@given(st.sampled_from(DRAFTS), st.dictionaries(st.sampled_from(KEYWORDS), JSON, max_size=4))
def test_any_value_of_a_keyword_is_valid_or_refused(draft: str, value: dict[str, Any]) -> None:
    text = json.dumps({"$schema": draft, **value})
    try:
        schema = parse("JSON", text)
    except (InvalidSchema, TooComplex):
        return
    assert incompatibilities("FULL", schema, parse("JSON", text)) == []


@given(st.text(max_size=40))
def test_any_text_is_valid_or_refused(text: str) -> None:
    try:
        parse("JSON", text)
    except (InvalidSchema, TooComplex):
        return
