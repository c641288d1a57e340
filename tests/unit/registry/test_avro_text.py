"""The canonical text of an Avro schema: Java's printing, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.registry.avro_examples import schemas

from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import InvalidSchema


def text(value: Any, **resolved: str) -> str:
    return parse("AVRO", value if isinstance(value, str) else json.dumps(value), resolved).text


def normal(value: Any) -> str:
    return parse("AVRO", json.dumps(value)).normalized().text


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ('{"type":"long"}', '"long"'),
        (' "string" ', '"string"'),
        ('{"logicalType":"date","type":"int"}', '{"type":"int","logicalType":"date"}'),
        ('["null",{"type":"array","items":{"type":"long"}}]', '["null",{"type":"array","items":"long"}]'),
        (
            '{"fields":[],"name":"shop.v1.Order","type":"record"}',
            '{"type":"record","name":"Order","namespace":"shop.v1","fields":[]}',
        ),
        (
            '{"type":"enum","aliases":["F","o.G"],"x":1,"symbols":["A"],"name":"E","namespace":"n","default":"A"}',
            '{"type":"enum","name":"E","namespace":"n","symbols":["A"],"default":"A","x":1,"aliases":["F","o.G"]}',
        ),
        (
            '{"size":4,"type":"fixed","name":"F","doc":""}',
            '{"type":"fixed","name":"F","doc":"","size":4}',
        ),
        ('{"type":"record","name":"R",/* c */"fields":[]} // end', '{"type":"record","name":"R","fields":[]}'),
    ],
)
def test_keys_are_printed_in_javas_order(sent: str, stored: str) -> None:
    assert text(sent) == stored


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        ("1e10", "1.0E10"),
        ("0.001", "0.001"),
        ("0.0001", "1.0E-4"),
        ("9999999.5", "9999999.5"),
        ("12345678.9", "1.23456789E7"),
        ("-0.0", "-0.0"),
        ("1", "1"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ],
)
def test_numbers_are_printed_in_javas_notation(number: str, printed: str) -> None:
    assert text(f'{{"type":"double","x":{number}}}') == f'{{"type":"double","x":{printed}}}'


def test_control_characters_get_capital_escapes_and_other_characters_stay() -> None:
    assert text('{"type":"int","x":"ä\\u001f\\n\\\\u000b\\u2028"}') == '{"type":"int","x":"ä\\u001F\\n\\\\u000b\u2028"}'


def test_a_field_has_its_own_order_of_keys() -> None:
    field = {"p": 1, "aliases": ["b"], "order": "ignore", "default": None, "doc": "d", "type": "null", "name": "a"}
    stored = text(
        {"type": "record", "name": "R", "fields": [field, {"name": "c", "type": "int", "order": "ascending"}]}
    )
    assert stored == (
        '{"type":"record","name":"R","fields":[{"name":"a","type":"null","doc":"d","default":null,"order":"ignore",'
        '"aliases":["b"],"p":1},{"name":"c","type":"int"}]}'
    )


def test_names_are_shortened_inside_their_namespace() -> None:
    inner = {"type": "record", "name": "B", "namespace": "m", "fields": [{"name": "up", "type": "n.A"}]}
    bare = {"type": "fixed", "name": "C", "namespace": "", "size": 1}
    fields = [
        {"name": "b", "type": inner},
        {"name": "again", "type": "m.B"},
        {"name": "c", "type": bare},
        {"name": "self", "type": ["null", "A"]},
    ]
    stored = text({"type": "record", "name": "A", "namespace": "n", "fields": fields})
    assert stored == (
        '{"type":"record","name":"A","namespace":"n","fields":['
        '{"name":"b","type":{"type":"record","name":"B","namespace":"m","fields":[{"name":"up","type":"n.A"}]}},'
        '{"name":"again","type":"m.B"},{"name":"c","type":{"type":"fixed","name":"C","namespace":"","size":1}},'
        '{"name":"self","type":["null","A"]}]}'
    )


def test_a_name_may_be_used_before_it_is_defined() -> None:
    late = [{"name": "x", "type": "E"}, {"name": "y", "type": {"type": "enum", "name": "E", "symbols": ["A"]}}]
    stored = text({"type": "record", "name": "R", "fields": late})
    assert stored == (
        '{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"enum","name":"E","symbols":["A"]}},'
        '{"name":"y","type":"E"}]}'
    )


def test_referenced_schemas_stay_names_unless_resolved_is_asked_for() -> None:
    address = '{"type":"record","name":"Address","namespace":"shop","fields":[]}'
    order = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"to","type":"Address"}]}'
    schema = parse("AVRO", order, {"address": address})
    assert schema.text == order
    assert schema.formatted("resolved") == order.replace(
        '"Address"}', '{"type":"record","name":"Address","fields":[]}}'
    )
    assert schema.formatted("nonsense") == order


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ("{", "JsonParseException"),
        ('{"type":"record"}', 'No name in schema: {"type":"record"}'),
        ('{"type":"record","name":"R"}', 'Record has no fields: {"type":"record","name":"R"}'),
        ('{"type":"record","name":"int","fields":[]}', "Schemas may not be named after primitives: int"),
        ('{"type":"map"}', 'Map has no values type: {"type":"map"}'),
        ('{"type":"array"}', 'Array has no items type: {"type":"array"}'),
        ('{"name":"x"}', 'No type: {"name":"x"}'),
        ("7", "Schema not yet supported: 7"),
        ('["int","int"]', "Duplicate in union:int"),
        ('[["int"]]', 'Nested union: [["int"]]'),
        ('{"type":"record","name":"R","fields":[{"name":"a","type":"Nowhere"}]}', "Undefined schema: Nowhere"),
        ('{"type":"enum","name":"E","symbols":["A","A"]}', "Duplicate enum symbol: A"),
        ('"int" "long"', 'dangling content after end of schema: "long"'),
    ],
)
def test_what_is_no_schema_is_refused_with_its_reason(sent: str, reason: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse("AVRO", sent)
    assert reason in refused.value.message


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ('{"type":"record","name":"R-x","fields":[]}', "Illegal character in: R-x"),
        ('{"type":"record","name":"R","namespace":"a-b","fields":[]}', "Illegal character in: a-b"),
        ('{"type":"record","name":"R","fields":[{"name":"1a","type":"int"}]}', "Illegal initial character: 1a"),
        (
            '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}',
            'Invalid default for field a: "x" not a "int"',
        ),
        (
            '{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":"long"},"default":[1.5]}]}',
            "Invalid default for field a: [1.5]",
        ),
    ],
)
def test_names_and_defaults_are_checked_in_new_schemas_only(sent: str, reason: str) -> None:
    assert parse("AVRO", sent).text == sent
    with pytest.raises(InvalidSchema) as refused:
        parse("AVRO", sent, new=True)
    assert reason in refused.value.message


def test_a_default_of_a_union_may_fit_any_branch() -> None:
    field = {"name": "a", "type": ["null", "int"], "default": 1}
    assert parse("AVRO", json.dumps({"type": "record", "name": "R", "fields": [field]}), new=True)


def test_normalization_sorts_what_has_no_meaning() -> None:
    amount = {"type": "bytes", "zz": {"b": 1, "a": 2}, "scale": 2, "aa": 1, "precision": 4, "logicalType": "decimal"}
    fields = [
        {"name": "amount", "type": amount},
        {"name": "rate", "type": "double", "default": 1},
        {"name": "part", "type": "float", "default": 0.1},
        {"name": "m", "type": {"type": "map", "values": "int"}, "default": {"b": 1, "a": 2}},
    ]
    record = {"type": "record", "name": "R", "namespace": "x", "doc": "", "fields": fields, "aliases": ["Z", "a.B"]}
    assert normal(record) == (
        '{"type":"record","name":"R","namespace":"x","fields":[{"name":"amount","type":{"type":"bytes",'
        '"logicalType":"decimal","precision":4,"scale":2,"aa":1,"zz":{"a":2,"b":1}}},'
        '{"name":"rate","type":"double","default":1.0},{"name":"part","type":"float","default":0.1},'
        '{"name":"m","type":{"type":"map","values":"int"},"default":{"a":2,"b":1}}],"aliases":["a.B","Z"]}'
    )


@given(schemas())
def test_printing_is_a_fixpoint_and_normalization_is_idempotent(value: Any) -> None:
    schema = parse("AVRO", json.dumps(value))
    assert parse("AVRO", schema.text).text == schema.text
    normalized = schema.normalized()
    assert normalized.normalized().text == normalized.text
    assert parse("AVRO", normalized.text).normalized().text == normalized.text


def _reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed_keys(value[key]) for key in reversed(value)}
    return [_reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(schemas())
def test_normalization_does_not_depend_on_the_order_of_keys(value: Any) -> None:
    assert normal(value) == normal(_reversed_keys(value))
