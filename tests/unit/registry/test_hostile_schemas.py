"""Hostile schemas: each ends with a clear error within a bounded time, and never with Python's RecursionError."""

from __future__ import annotations

import json
import time

import pytest

from twinlog.registry.schemas.compatibility import incompatibilities
from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import InvalidSchema, TooComplex


@pytest.mark.parametrize("unit", ['{"type":"array","items":', "[", '{"type":'])
def test_deep_nesting_is_refused(unit: str) -> None:
    with pytest.raises((InvalidSchema, TooComplex)):
        parse("AVRO", unit * 10_000 + '"int"')


def test_a_long_chain_of_records_ends_with_an_answer() -> None:
    chain = [
        {"type": "record", "name": f"R{place}", "fields": [{"name": "next", "type": ["null", f"R{place + 1}"]}]}
        for place in range(3000)
    ]
    schema = parse("AVRO", json.dumps([*chain, {"type": "record", "name": "R3000", "fields": []}]))
    with pytest.raises(TooComplex):
        incompatibilities("BACKWARD", schema, parse("AVRO", schema.text))


def test_many_pairs_of_branches_end_at_the_limit_of_steps() -> None:
    def union(offset: int) -> str:
        fields = [{"name": f"f{place}", "type": "int"} for place in range(5)]
        return json.dumps([{"type": "record", "name": f"R{offset + place}", "fields": fields} for place in range(1500)])

    started = time.monotonic()
    with pytest.raises(TooComplex):
        incompatibilities("BACKWARD", parse("AVRO", union(0)), parse("AVRO", union(10_000)))
    assert time.monotonic() - started < 30


def test_a_schema_of_ten_megabytes_is_read() -> None:
    doc = "x" * 10_000_000
    assert len(parse("AVRO", json.dumps({"type": "record", "name": "R", "doc": doc, "fields": []})).text) > 10_000_000


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidSchema):
        parse("AVRO", '{"type":"int","x":"\\ud800"}')


@pytest.mark.parametrize("text", ["", " ", "\x00", "NaN", "Infinity", '{"type":"int","x":NaN}', "1" * 5000, "﻿{}"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse("AVRO", text)
