"""`$ref` and `$id` in a JSON Schema, and schemas of other subjects."""

from __future__ import annotations

import json

import pytest

from twinlog.registry.schemas.compatibility import incompatibilities
from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import InvalidSchema

OTHER = '{"type":"object","properties":{"s":{"type":"string"}},"definitions":{"i":{"type":"integer"}}}'
CHANGED = OTHER.replace('"string"', '"boolean"').replace('"integer"', '"boolean"')
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
ROOT = "http://example.com/dir/root.json"


@pytest.mark.parametrize("draft", [DRAFT_7, DRAFT_2020])
@pytest.mark.parametrize(
    ("own", "name", "reference"),
    [
        ("", "other.json", "other.json"),
        ("", "other.json", "other.json#"),
        ("", "other.json", "other.json#/definitions/i"),
        ("", "http://example.com/o.json", "http://example.com/o.json"),
        ("", "urn:other", "urn:other"),
        (ROOT, "other.json", "other.json"),
        (ROOT, "http://example.com/dir/other.json", "other.json"),
        (ROOT, "http://example.com/other.json", "../other.json"),
    ],
)
def test_a_schema_of_another_subject_counts(draft: str, own: str, name: str, reference: str) -> None:
    value = {"$schema": draft, "properties": {"p": {"$ref": reference}}}
    text = json.dumps({"$id": own, **value} if own else value)
    old = parse("JSON", text, {name: OTHER})
    assert incompatibilities("BACKWARD", parse("JSON", text, {name: OTHER}), old) == []
    assert incompatibilities("BACKWARD", parse("JSON", text, {name: CHANGED}), old)
    with pytest.raises(InvalidSchema):
        parse("JSON", text, {"elsewhere.json": OTHER})


@pytest.mark.parametrize(
    "value",
    [
        {"$ref": "#/definitions/x", "definitions": {"x": {"type": "string"}}},
        {"$ref": "#/definitions/a~1b", "definitions": {"a/b": {}}},
        {"$ref": "#named", "definitions": {"x": {"$id": "#named"}}},
        {"$id": ROOT, "$ref": "#/definitions/x", "definitions": {"x": {"type": "string"}}},
        {"allOf": [{"$ref": "#/allOf/1"}, {}]},
        {"$schema": DRAFT_2020, "$ref": "#named", "$defs": {"x": {"$anchor": "named"}}},
        {"$schema": DRAFT_2020, "$id": ROOT, "$ref": "part.json", "$defs": {"x": {"$id": "part.json"}}},
        {"$schema": DRAFT_2020, "$dynamicRef": "#named", "$defs": {"x": {"$dynamicAnchor": "named"}}},
    ],
)
def test_parts_of_the_schema_itself(value: dict[str, object]) -> None:
    parse("JSON", json.dumps(value))


def test_a_chain_of_references_is_followed_to_its_end() -> None:
    def chain(end: str) -> str:
        definitions = {"a": {"$ref": "#/definitions/b"}, "b": {"type": end}}
        return json.dumps({"$ref": "#/definitions/a", "definitions": definitions})

    assert incompatibilities("BACKWARD", parse("JSON", chain("number")), parse("JSON", chain("integer"))) == []
    assert incompatibilities("BACKWARD", parse("JSON", chain("string")), parse("JSON", chain("integer")))


def test_a_reference_that_points_to_itself_allows_everything() -> None:
    text = '{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/a"}}}'
    assert incompatibilities("FULL", parse("JSON", text), parse("JSON", text)) == []
