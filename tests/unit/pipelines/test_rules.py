"""Pure rules of pipelines: schemas, offsets, paths, topic creation, dealing."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import SourcePartition
from twinlog.pipelines.converters.json_documents import JsonConverter
from twinlog.pipelines.offsets_topic import key_of, offsets_of, start_of
from twinlog.pipelines.records import ConversionFailed
from twinlog.pipelines.schemas import DECIMAL, Field, Schema
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.sink_planner import deal
from twinlog.pipelines.source_planner import deal_out
from twinlog.pipelines.sources.jdbc.source import JdbcSource
from twinlog.pipelines.topic_creation import TopicCreation
from twinlog.pipelines.transforms.java_text import java_pattern, java_replacement
from twinlog.pipelines.transforms.paths import field_path
from twinlog.spark.groups import empty_rows

JDBC = {
    "connection.url": "jdbc:postgresql://db/shop", "mode": "incrementing", "incrementing.column.name": "id",
    "topic.prefix": "",
}  # fmt: skip
_PLAIN = st.sampled_from(["boolean", "int8", "int16", "int32", "int64", "float", "double", "string", "bytes"])
_SCHEMAS = st.recursive(
    st.builds(Schema, type=_PLAIN, optional=st.booleans()),
    lambda inner: st.one_of(
        st.builds(lambda one: Schema("array", values=one), inner),
        st.builds(lambda one: Schema("map", keys=Schema("string"), values=one), inner),
        st.builds(
            lambda found: Schema("struct", fields=tuple(Field(name, one) for name, one in found.items())),
            st.dictionaries(st.text(min_size=1), inner, max_size=3),
        ),
    ),
    max_leaves=5,
)


@given(_SCHEMAS)
def test_a_schema_survives_its_json_form(schema: Schema) -> None:
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_a_decimal_is_a_spark_decimal_of_its_scale() -> None:
    assert Schema("bytes", name=DECIMAL, parameters=(("scale", "2"),)).spark() == "decimal(38,2)"


def test_an_unknown_type_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="int128"):
        Schema.from_json({"type": "int128"})


def test_offset_keys_have_the_bytes_of_connect() -> None:
    assert key_of("file", SourcePartition({"filename": "/a b/ä"})) == '["file",{"filename":"/a b/ä"}]'.encode()


def test_offsets_are_found_whatever_the_order_of_fields() -> None:
    table = {
        b'["j",{"protocol":"1","table":"t"}]': b'{"incrementing":7}',
        b'["other",{"table":"t"}]': b"{}",
        b"x": b"y",
    }
    stored = offsets_of(table, "j")
    start, known = start_of(stored, SourcePartition({"table": "t", "protocol": "1"}))
    assert start == {"incrementing": 7}
    assert known is not None
    assert known.key == b'["j",{"protocol":"1","table":"t"}]'


@pytest.mark.parametrize("key", ['{"protocol":"1","table":"public.t"}', '{"table":"t"}'])
def test_positions_of_older_connectors_are_found_and_their_keys_are_kept(key: str) -> None:
    its = JdbcSource(read_settings(JdbcSource.settings, JDBC))._partition("shop.public.t")
    stored = offsets_of({f'["j",{key}]'.encode(): b'{"incrementing":7}'}, "j")
    start, known = start_of(stored, its)
    assert (start, known and known.key) == ({"incrementing": 7}, f'["j",{key}]'.encode())
    newer = offsets_of({b'["j",{"protocol":"1","table":"shop.public.t"}]': b'{"incrementing":9}'}, "j")
    assert start_of([*stored, *newer], its)[0] == {"incrementing": 9}


def test_the_payload_is_cut_out_of_the_envelope_whatever_its_form() -> None:
    schema = '{"type":"struct","fields":[{"type":"int32","field":"a"}]}'
    forms = [
        f'{{"schema":{schema},"payload":{{"a": 1.50}}}}',
        f'{{ "payload" : {{"a": 1.50}} , "schema": {schema} }}',
    ]
    told = [JsonConverter({"schemas.enable": "true"}).tell(one.encode()) for one in forms]
    assert told[0] == told[1]
    assert told[0][1] == b'{"payload":{"a": 1.50}}'


def test_a_known_beginning_gives_the_same_as_parsing() -> None:
    converter = JsonConverter({})
    text = b'{"schema":{"type":"string"},"payload":"%s"}'
    first, second = converter.tell(text % b"a"), converter.tell(text % b"b")
    assert (first[0], second) == (second[0], (first[0], b'{"payload":"b"}'))


@pytest.mark.parametrize("data", [b'{"a":1}', b"[1]", b"no json", b'{"schema":null}'])
def test_bytes_without_an_envelope_are_refused(data: bytes) -> None:
    with pytest.raises(ConversionFailed):
        JsonConverter({}).tell(data)


@given(st.text(alphabet="ab$.", max_size=6))
def test_java_replacements_never_leave_a_dollar_to_python(text: str) -> None:
    try:
        python = java_replacement(text)
    except ValueError:
        return
    assert "$" not in python


def test_groups_of_java_replacements_are_filled_in() -> None:
    assert java_pattern("(.*)-(?<x>.*)").sub(java_replacement("${x}_$1\\$"), "a-b", count=1) == "b_a$"


def test_paths_of_fields() -> None:
    assert field_path("a.b") == ["a", "b"]
    assert field_path("`a.b`.c") == ["a.b", "c"]
    with pytest.raises(ValueError, match="backtick"):
        field_path("`a.b")


def test_the_first_group_that_matches_makes_the_topic() -> None:
    rules = TopicCreation(
        {
            "topic.creation.groups": "logs,all",
            "topic.creation.default.partitions": "3",
            "topic.creation.default.replication.factor": "2",
            "topic.creation.logs.include": "log.*",
            "topic.creation.logs.exclude": "log-x",
            "topic.creation.logs.cleanup.policy": "compact",
            "topic.creation.all.include": ".*x",
            "topic.creation.all.partitions": "9",
        }
    )
    assert rules.order("logs") == (3, 2, {"cleanup.policy": "compact"})
    assert rules.order("log-x") == (9, 2, {})
    assert rules.order("other") == (3, 2, {})
    assert TopicCreation({}).order("t") == (-1, -1, {})


@given(st.lists(st.integers(0, 700), max_size=20), st.sampled_from([2, 256]))
def test_every_record_of_a_fetch_is_in_a_group_that_goes_on(fetches: list[int], size: int) -> None:
    sent = 0
    for records in fetches:
        sent += records
        with_records = sent
        sent += empty_rows(sent, size)
        assert (sent - 1) // size * size >= with_records


@given(st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 20))), st.integers(1, 5))
def test_every_partition_is_dealt_once(places: set[tuple[str, int]], tasks: int) -> None:
    starts = {TopicPartition(*place): 1 for place in places}
    hands = deal(starts, tasks)
    assert len(hands) <= tasks
    assert sorted(one for hand in hands for one in hand) == sorted(starts)


@given(st.integers(1, 20), st.integers(1, 5))
def test_every_source_partition_is_dealt_once(count: int, tasks: int) -> None:
    partitions = [SourcePartition({"n": n}) for n in range(count)]
    hands = deal_out(partitions, tasks)
    assert sorted(str(one.at["n"]) for hand in hands for one in hand) == sorted(map(str, range(count)))


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(["type", "fields", "items", "keys", "field", "parameters", "x"]), inner),
        ),
        max_leaves=12,
    )
)
def test_a_schema_that_makes_no_sense_is_refused_and_never_breaks_the_reader(found: Any) -> None:
    for text in (found, {"type": "struct", "fields": found}, {"type": "string", "parameters": found}):
        with contextlib.suppress(ValueError):
            Schema.from_json(text)
