"""The text of a JSON Schema: what is stored, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.registry.json_examples import schemas

from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import InvalidSchema

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"

CANONICAL = {
    '{ "b" : 1 , "a" : [ 1 , 2 ] }': '{"b":1,"a":[1,2]}',
    '{"maximum":1e3,"minimum":1.0}': '{"maximum":1E+3,"minimum":1.0}',
    '{"a":-0.0,"b":-0,"c":1e-7,"d":0.000001}': '{"a":0.0,"b":0,"c":1E-7,"d":0.000001}',
    '{"a":1,"a":2}': '{"a":2}',
    '{"d":"\\u00e4\\u20ac\\u0007\\/"}': '{"d":"ä€\\u0007/"}',
    "true": "true",
    "[]": "[]",
    '"x"': '"x"',
    "{} what follows": "{}",
}
REFUSED_BY_CHECK = [
    '{"type":"strin"}',
    '{"type":1}',
    '{"multipleOf":0}',
    '{"minLength":1.0}',
    '{"minLength":99999999999}',
    '{"required":"a"}',
    '{"properties":[]}',
    '{"properties":{"a":null}}',
    '{"items":1}',
    '{"pattern":"["}',
    '{"patternProperties":{"(":{}}}',
    '{"$ref":"nosuch.json"}',
    '{"$ref":"#/definitions/x"}',
    '{"$ref":1}',
    '{"$id":"a b"}',
    '{"$schema":1}',
    '{"exclusiveMinimum":true}',
    '{"title":1}',
    f'{{"$schema":"{DRAFT_4}","exclusiveMinimum":1}}',
    f'{{"$schema":"{DRAFT_2020}","items":[{{}}]}}',
    f'{{"$schema":"{DRAFT_2020}","prefixItems":{{}}}}',
    f'{{"$schema":"{DRAFT_2020}","type":"strin"}}',
    f'{{"$schema":"{DRAFT_2020}","$ref":"nosuch.json"}}',
    "null",
]
ACCEPTED = [
    "1",
    "false",
    '{"enum":[]}',
    '{"type":[]}',
    '{"a":{"$ref":"#/nosuch"}}',
    '{"$schema":"http://unknown"}',
    '{"minLength":-1}',
    '{"$ref":"#"}',
    f'{{"$schema":"{DRAFT_4}","exclusiveMinimum":true}}',
    f'{{"$schema":"{DRAFT_2020}","properties":{{"a":{{"$ref":"#"}}}}}}',
    f'{{"$schema":"{DRAFT_2020}","$ref":"{DRAFT_2020}"}}',
]


@pytest.mark.proves("R23")
@pytest.mark.parametrize("text", CANONICAL)
def test_the_stored_text(text: str) -> None:
    assert parse("JSON", text).text == CANONICAL[text]


def test_a_normalized_schema_has_sorted_keys_at_every_depth() -> None:
    text = '{"type":"object","properties":{"b":{"type":"string"},"a":{"maximum":1e3,"$ref":"#"}},"required":["b","a"]}'
    assert parse("JSON", text).normalized().text == (
        '{"properties":{"a":{"$ref":"#","maximum":1E+3},"b":{"type":"string"}},"required":["b","a"],"type":"object"}'
    )


@pytest.mark.parametrize("text", REFUSED_BY_CHECK)
def test_content_that_is_not_valid(text: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse("JSON", text)
    assert refused.value.message == "Invalid JSON"
    assert refused.value.rejected_by_check
    assert refused.value.cause
    assert parse("JSON", text, checked=False).text


@pytest.mark.parametrize("text", ["{", "nonsense", '{"a":01}', "{'a':1}", '{"a":NaN}', "/**/{}", '{"a":1e99999999999}'])
def test_text_that_is_no_json(text: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse("JSON", text)
    assert refused.value.message == "Invalid JSON schema"
    assert not refused.value.rejected_by_check


@pytest.mark.parametrize("text", ACCEPTED)
def test_odd_schemas_that_are_valid(text: str) -> None:
    parse("JSON", text)


def test_names_that_are_kept_for_the_system() -> None:
    kept = parse("JSON", '{"type":"object","properties":{"$$id":{}}}')
    with pytest.raises(InvalidSchema, match=r"#: Field names cannot start with \$\$ prefix"):
        kept.check_field_names()
    parse("JSON", '{"type":"object","properties":{"id":{}}}').check_field_names()
    assert kept.has_field("$$id")
    assert not kept.has_field("id")
    assert not parse("JSON", "true").has_field("id")


@given(schemas())
def test_the_canonical_text_is_a_fixed_point(value: dict[str, Any]) -> None:
    schema = parse("JSON", json.dumps(value, indent=2))
    assert parse("JSON", schema.text).text == schema.text
    normal = schema.normalized()
    assert normal.normalized().text == normal.text
    assert json.loads(normal.text) == value
