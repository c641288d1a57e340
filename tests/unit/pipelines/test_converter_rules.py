"""Rules of converters that need no Spark: the wire format, and schemas that survive the way there and back."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.pipelines.converters import avro_schemas, json_schema_types, wire_format
from twinlog.pipelines.converters.avro import whole_schema
from twinlog.pipelines.converters.avro_values import reader, unscaled, writer
from twinlog.pipelines.converters.delimited import schema_of_ddl
from twinlog.pipelines.converters.protobuf_files import file_of
from twinlog.pipelines.converters.protobuf_schemas import proto_text
from twinlog.pipelines.converters.registry_client import Registered
from twinlog.pipelines.converters.registry_settings import RegistrySettings, subject
from twinlog.pipelines.records import ConversionFailed, PlanRefused
from twinlog.pipelines.schemas import DATE, DECIMAL, TIMESTAMP, Field, Schema
from twinlog.pipelines.settings import SettingsRefused, read_settings

NAMES = st.text("abcdefgh", min_size=1, max_size=6)
PLAIN = st.sampled_from(
    [Schema(kind) for kind in ("boolean", "int8", "int16", "int32", "int64", "float", "double", "string", "bytes")]
    + [
        Schema("bytes", name=DECIMAL, version=1, parameters=(("scale", "3"),)),
        Schema("int32", name=DATE, version=1),
        Schema("int64", name=TIMESTAMP, version=1),
    ]
)


def optional(schema: Schema, may: bool) -> Schema:
    return Schema(**{name: getattr(schema, name) for name in Schema.__dataclass_fields__} | {"optional": may})


@st.composite
def structs(draw: st.DrawFn, depth: int = 2) -> Schema:
    inner = st.one_of(PLAIN, structs(depth=depth - 1)) if depth else PLAIN
    fields = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)):
        kind = draw(inner)
        if draw(st.booleans()):
            kind = Schema("array", values=kind)
        elif draw(st.booleans()):
            kind = Schema("map", keys=Schema("string"), values=kind)
        fields.append(Field(name, optional(kind, draw(st.booleans()))))
    name = "n" + hashlib.sha256(repr(fields).encode()).hexdigest()[:12]  # other fields, other name
    return Schema("struct", name=f"space.{name}", fields=tuple(fields))


@given(structs())
def test_avro_schemas_come_back_as_they_were(schema: Schema) -> None:
    assert avro_schemas.connect_schema(json.loads(avro_schemas.avro_text(schema))) == schema


@given(structs())
def test_json_schemas_come_back_as_they_were(schema: Schema) -> None:
    assert json_schema_types.connect_schema(json_schema_types.json_schema(schema)) == schema


@given(structs(depth=0))
def test_protobuf_files_of_schemas_can_be_compiled(schema: Schema) -> None:
    file_of(proto_text(schema), ())


@given(st.integers(0, 2**31 - 1), st.binary(max_size=20))
def test_ids_come_back(schema_id: int, body: bytes) -> None:
    assert wire_format.split(wire_format.head(schema_id) + body) == (schema_id, body)


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=10), st.binary(max_size=4))
def test_message_indexes_come_back(indexes: list[int], rest: bytes) -> None:
    data = wire_format.written_indexes(indexes)
    assert wire_format.indexes_at(data + rest) == (tuple(indexes), len(data))


@pytest.mark.parametrize("data", [b"", b"\x00\x00", b"\x01\x00\x00\x00\x01x"])
def test_bytes_without_an_id_are_refused(data: bytes) -> None:
    with pytest.raises(ConversionFailed):
        wire_format.split(data)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x04\x02", b"\x01"])
def test_broken_message_indexes_are_refused(data: bytes) -> None:
    with pytest.raises(ConversionFailed):
        wire_format.indexes_at(data)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**15), max_value=10**15))
def test_decimals_are_written_as_java_writes_them(value: object) -> None:
    data = unscaled(value, 3)  # type: ignore[arg-type]
    assert int.from_bytes(data, "big", signed=True) == int(value * 1000)  # type: ignore[operator]
    assert len(data) == 1 or data[:1] not in {b"\x00", b"\xff"} or (data[0] & 0x80) != (data[1] & 0x80)


def test_avro_that_refers_to_other_schemas_is_made_whole() -> None:
    inner = '{"type":"record","name":"In","namespace":"a","fields":[{"name":"x","type":"int"}]}'
    outer = (
        '{"type":"record","name":"Out","namespace":"a","fields":[{"name":"i","type":"a.In"},{"name":"j","type":"In"}]}'
    )
    text = whole_schema(Registered(1, "AVRO", outer, (("a.In", inner),)))
    assert reader(text)(b"\x02\x04") == {"i": {"x": 1}, "j": {"x": 2}}


def test_two_structs_of_one_name_are_refused() -> None:
    inner = [Schema("struct", name="N", fields=(Field(name, Schema("string")),)) for name in ("x", "y")]
    outer = Schema("struct", name="O", fields=tuple(Field(f"f{n}", one) for n, one in enumerate(inner)))
    with pytest.raises(PlanRefused, match="two different structs"):
        avro_schemas.avro_text(outer)


def test_a_schema_that_holds_itself_is_refused() -> None:
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    with pytest.raises(PlanRefused, match="holds itself"):
        avro_schemas.connect_schema(node)


def test_what_does_not_fit_is_an_error() -> None:
    schema = Schema("struct", name="S", fields=(Field("x", Schema("int8")),))
    text = avro_schemas.avro_text(schema)
    assert writer(text, schema, b"\x00")({"x": 1}) == b"\x00\x02"
    with pytest.raises(ValueError, match="does not fit"):
        reader(text)(b"\xd8\x04")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("TopicNameStrategy", "t-value"), ("RecordNameStrategy", "a.R"), ("TopicRecordNameStrategy", "t-a.R")],
)
def test_subjects_are_named_as_confluent_names_them(strategy: str, expected: str) -> None:
    key = f"io.confluent.kafka.serializers.subject.{strategy}"
    s = read_settings(RegistrySettings, {"schema.registry.url": "http://x", "value.subject.name.strategy": key})
    assert subject(s, "value", "t", "a.R") == expected


def test_columns_are_read_without_spark() -> None:
    found = schema_of_ddl("id INT, `a b` string,x  BIGINT")
    assert [(one.name, one.schema.type) for one in found.fields] == [("id", "int32"), ("a b", "string"), ("x", "int64")]
    for wrong in ("id", "id MONEY", "", "id INT,,"):
        with pytest.raises(SettingsRefused):
            schema_of_ddl(wrong)
