"""Converters with a schema registry, against Confluent's own serializers; CSV and XML; telling what bytes are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as RegisteredSchema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql.functions import col
from tests.kit.file_pipelines import SINK, SOURCE, records_of
from tests.kit.memory_registry import registry_running
from tests.kit.pipelines import pipelines, until_file_holds

from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.converters.protobuf_files import class_of, file_of
from twinlog.pipelines.expressions import bytes_of_decimal, decimal_of_bytes
from twinlog.pipelines.plan import Branch, Frame, started
from twinlog.pipelines.plugins import converter
from twinlog.pipelines.read_kafka import ROWS_SQL
from twinlog.pipelines.records import ConversionFailed, PlanRefused, Shape
from twinlog.pipelines.schemas import DATE, DECIMAL, TIMESTAMP, Schema, struct
from twinlog.spark.session import Session, make_active

pytestmark = pytest.mark.timeout(420)

AVRO = "io.confluent.connect.avro.AvroConverter"
PROTOBUF = "io.confluent.connect.protobuf.ProtobufConverter"
JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"
CONTEXT = SerializationContext("orders", MessageField.VALUE)
ORDER = struct(
    ("id", Schema("int32")),
    ("name", Schema("string", optional=True)),
    ("amount", Schema("bytes", optional=True, name=DECIMAL, version=1, parameters=(("scale", "2"),))),
    ("day", Schema("int32", optional=True, name=DATE, version=1)),
    ("at", Schema("int64", optional=True, name=TIMESTAMP, version=1)),
    ("big", Schema("int64")),
    ("ratio", Schema("double")),
    ("ok", Schema("boolean")),
    ("raw", Schema("bytes", optional=True)),
    ("tags", Schema("array", values=Schema("string"))),
    ("counts", Schema("map", keys=Schema("string"), values=Schema("int64"))),
    ("inner", struct(("x", Schema("int32")), name="Inner", optional=True)),
    name="shop.Order",
)
FULL: dict[str, Any] = {
    "id": 7, "name": "Ännchen", "amount": Decimal("-12.50"), "day": 20000, "at": 1_731_726_245_123, "big": 1 << 60,
    "ratio": 0.25, "ok": True, "raw": b"\x00\xff", "tags": ["a", ""], "counts": [("k", 1)], "inner": {"x": -1},
}  # fmt: skip
EMPTY: dict[str, Any] = {
    "id": 0, "name": None, "amount": None, "day": None, "at": None, "big": 0, "ratio": 0.0, "ok": False, "raw": None,
    "tags": [], "counts": [], "inner": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with registry_running() as url:
        yield url


def client(url: str) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": url})


def written(spark: Session, its: Any, schema: Schema, rows: list[Any], topics: list[str] | None = None) -> list[Any]:
    """The bytes of rows, as a source's plan makes them."""
    make_active(spark)
    import pyarrow as pa

    kind = arrow_type(schema)
    names = topics or ["orders"] * len(rows)
    table = pa.table({"topic": names, "value_0": pa.array(rows, kind), "key_0": pa.nulls(len(rows), pa.string())})
    frame = spark.createDataFrame(table).selectExpr("*", "cast(null as struct<stage: string, class: string, exception: "
                                                    "string, message: string>) as error")  # fmt: skip
    branch = Branch(0, tuple(dict.fromkeys(names)), Shape(None), Shape(schema))
    done = Frame(frame, (branch,)).encoded("value", "Test", its).rows.collect()
    assert [row["error"] for row in done] == [None] * len(rows)
    return [None if row["value_0"] is None else bytes(row["value_0"]) for row in done]


def read(
    spark: Session, its: Any, datas: list[bytes | None], schema: Any = "tell"
) -> tuple[list[Any], Shape, list[Any]]:
    """Values, their shape, and errors: as a sink's plan reads records that all have one schema."""
    make_active(spark)
    rest: list[bytes | None] = list(datas)
    if its.carries_schemas and schema == "tell":
        told = [its.tell(one) if one is not None else (None, None) for one in datas]
        kinds = list(dict.fromkeys(one[0] for one in told if one[0] is not None))
        assert len(kinds) == 1
        schema, rest = kinds[0], [one[1] for one in told]
    shape = its.shape(None if schema == "tell" else schema)
    rows: list[Any] = [("orders", 0, n, 0, None, one, [], 0, None) for n, one in enumerate(rest)]
    branch = Branch(0, ("orders",), Shape(None), shape)
    frame = started(spark.createDataFrame(rows, ROWS_SQL), (branch,), "Test").converted("value", "Test", its.decode)
    done = frame.rows.collect()
    values = [
        row["value_0"].asDict(recursive=True) if hasattr(row["value_0"], "asDict") else row["value_0"] for row in done
    ]
    return values, shape, [row["error"] for row in done]


def test_confluents_avro_client_reads_what_we_write(spark: Session, registry: str) -> None:
    its = converter(AVRO, {"schema.registry.url": registry})
    data = written(spark, its, ORDER, [FULL, EMPTY, None])
    assert data[2] is None
    read_back = AvroDeserializer(client(registry))
    full, empty = read_back(data[0], CONTEXT), read_back(data[1], CONTEXT)
    assert full["amount"] == Decimal("-12.50")
    assert full["at"].timestamp() * 1000 == pytest.approx(FULL["at"])
    assert (full["day"].isoformat(), full["counts"], full["inner"]) == ("2024-10-04", {"k": 1}, {"x": -1})
    assert {name: empty[name] for name in ("id", "name", "amount", "inner")} == {
        "id": 0, "name": None, "amount": None, "inner": None
    }  # fmt: skip
    values, shape, errors = read(spark, its, data)
    assert (shape.schema, errors) == (ORDER, [None] * 3)
    assert values == [FULL | {"counts": {"k": 1}}, EMPTY | {"counts": {}}, None]


def test_records_of_confluents_avro_client_are_read(spark: Session, registry: str) -> None:
    text = json.dumps(
        {"type": "record", "name": "Event", "namespace": "shop", "fields": [
            {"name": "which", "type": ["null", "int", "string", {"type": "record", "name": "Deep", "fields": [
                {"name": "d", "type": "double"}]}]},
            {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["ON", "OFF"]}},
            {"name": "hash", "type": {"type": "fixed", "name": "Four", "size": 4}},
            {"name": "old", "type": "int", "default": 5},
        ]}
    )  # fmt: skip
    make = AvroSerializer(client(registry), text)
    events = [{"which": w, "state": "OFF", "hash": b"1234", "old": 1} for w in (None, 3, "x", {"d": 0.5})]
    its = converter(AVRO, {"schema.registry.url": registry})
    values, shape, errors = read(
        spark, its, [make(one, SerializationContext("avro-events", MessageField.VALUE)) for one in events]
    )
    assert errors == [None] * 4
    union = {"int": None, "string": None, "Deep": None}
    assert [one["which"] for one in values] == [
        None,
        union | {"int": 3},
        union | {"string": "x"},
        union | {"Deep": {"d": 0.5}},
    ]
    assert (values[0]["state"], values[0]["hash"]) == ("OFF", b"1234")
    assert shape.schema is not None
    assert shape.schema.name == "shop.Event"


def test_broken_avro_is_an_error_of_its_record_only(spark: Session, registry: str) -> None:
    its = converter(AVRO, {"schema.registry.url": registry})
    good = written(spark, its, ORDER, [FULL])[0]
    values, _, errors = read(spark, its, [good, good[:9], good])
    assert [one["id"] if one else None for one in values] == [7, None, 7]
    assert [one is None for one in errors] == [True, False, True]
    assert errors[1]["exception"] == "org.apache.kafka.common.errors.SerializationException"
    with pytest.raises(ConversionFailed):
        its.tell(b"{}")


def test_ids_follow_the_topics_subject(spark: Session, registry: str) -> None:
    its = converter(AVRO, {"schema.registry.url": registry})
    schema = struct(("id", Schema("int64")), name="Routed")
    asked = client(registry)
    # The second topic has its subject already, with the same schema under the same id; the third has another one.
    data = written(spark, its, schema, [{"id": 1}, {"id": 2}], ["routed-a", "routed-b"])
    assert {one[:5] for one in data} == {
        b"\x00" + (asked.get_latest_version("routed-a-value").schema_id or 0).to_bytes(4, "big")
    }
    assert asked.get_latest_version("routed-b-value").schema_id == asked.get_latest_version("routed-a-value").schema_id
    with pytest.raises(Exception, match="404"):
        written(spark, converter(AVRO, {"schema.registry.url": registry, "auto.register.schemas": "false"}), schema,
                [{"id": 1}], ["never-seen"])  # fmt: skip
    strategy = {"value.subject.name.strategy": "io.confluent.kafka.serializers.subject.RecordNameStrategy"}
    with pytest.raises(PlanRefused, match="RecordNameStrategy"):
        written(
            spark, converter(AVRO, {"schema.registry.url": registry} | strategy), Schema("string"), ["x"], ["plain"]
        )


def test_json_schema_both_ways(spark: Session, registry: str) -> None:
    its = converter(JSON_SCHEMA, {"schema.registry.url": registry, "decimal.format": "NUMERIC"})
    data = written(spark, its, ORDER, [FULL, EMPTY], ["json-orders"] * 2)
    text = client(registry).get_latest_version("json-orders-value").schema.schema_str
    read_back = JSONDeserializer(text)
    found = read_back(data[0], CONTEXT)
    assert (found["id"], found["amount"], found["counts"], found["inner"]) == (7, -12.5, {"k": 1}, {"x": -1})
    values, shape, errors = read(spark, its, data)
    assert (errors, shape.schema) == ([None, None], ORDER)
    assert values == [FULL | {"counts": {"k": 1}}, EMPTY | {"counts": {}}]
    own = '{"title":"P","type":"object","properties":{"a":{"type":"integer"},"b":{"type":["null","string"]}}}'
    make = JSONSerializer(own, client(registry))
    theirs = make({"a": 5, "b": None}, SerializationContext("people", MessageField.VALUE))
    values, shape, errors = read(spark, its, [theirs, theirs[:-1]])
    assert values[0] == {"a": 5, "b": None}
    assert [one is None for one in errors] == [True, False]


def test_protobuf_both_ways(spark: Session, registry: str) -> None:
    its = converter(PROTOBUF, {"schema.registry.url": registry, "decimal.scale": "2"})
    data = written(spark, its, ORDER, [FULL, EMPTY], ["proto-orders"] * 2)
    text = client(registry).get_latest_version("proto-orders-value").schema.schema_str or ""
    made = class_of(file_of(text, ()).message_types_by_name["Order"])
    found = ProtobufDeserializer(made, {"use.deprecated.format": False})(data[0], CONTEXT)
    assert (found.id, found.name, found.at.ToMilliseconds(), list(found.tags)) == (7, "Ännchen", FULL["at"], ["a", ""])
    assert (dict(found.counts), found.inner.x, found.day.year) == ({"k": 1}, -1, 2024)
    values, _, errors = read(spark, its, [*data, data[0][:20]])
    assert [one is None for one in errors] == [True, True, False]
    assert values[:2] == [FULL | {"counts": {"k": 1}}, EMPTY | {"counts": {}}]


def test_a_nested_protobuf_message_with_a_oneof_is_read(spark: Session, registry: str) -> None:
    text = """syntax = "proto3"; package shop;
        message Outer { string unused = 1; message Event { oneof what { int32 number = 1; string text = 2; }
        Color color = 3; repeated Event more = 4; uint64 big = 5; } enum Color { RED = 0; BLUE = 1; } }"""
    text = text.replace("repeated Event more = 4;", "")
    outer = file_of(text, ()).message_types_by_name["Outer"]
    make = class_of(outer.nested_types_by_name["Event"])
    schema_id = client(registry).register_schema("events-value", RegisteredSchema(text, "PROTOBUF"))
    # The first message inside of the first one: two indexes, both 0, as zigzag numbers.
    body = make(text="x", color=1, big=(1 << 64) - 1).SerializeToString()
    data = b"\x00" + schema_id.to_bytes(4, "big") + b"\x04\x00\x00" + body
    values, shape, errors = read(spark, converter(PROTOBUF, {"schema.registry.url": registry}), [data])
    assert (errors, values) == ([None], [{"what_0": {"number": None, "text": "x"}, "color": "BLUE", "big": -1}])
    assert shape.schema is not None
    assert shape.schema.name == "shop.Outer.Event"


def test_csv_and_xml(spark: Session) -> None:
    columns = {"columns": "id INT, name STRING, ratio DOUBLE"}
    row = {"id": 7, "name": 'a, "b"', "ratio": 0.5}
    for name, broken in (("CsvConverter", b"x,y,z"), ("XmlConverter", b"<record><id>1</id>")):
        its = converter(name, columns)
        schema = its.shape(None).schema
        assert schema is not None
        data = written(spark, its, schema, [row, None])
        assert data[1] is None
        values, _, errors = read(spark, its, [data[0], broken, None])
        assert (values[0], values[2]) == (row, None)
        assert [one is None for one in errors] == [True, False, True]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda _: b'{"schema":{"type":"string","optional":false},"payload":"x"}', "x"),
        (lambda _: b'{"a":1}', b'{"a":1}'),
        (lambda _: b"plain", "plain"),
        (lambda _: b"\xff\xfe", b"\xff\xfe"),
        (lambda url: AvroSerializer(client(url), '"string"')("x", SerializationContext("a", MessageField.VALUE)), "x"),
    ],
    ids=["envelope", "document", "text", "bytes", "avro"],
)
def test_auto_tells_what_the_bytes_are(
    spark: Session, registry: str, make: Callable[[str], bytes], expected: Any
) -> None:
    its = converter("auto", {"schema.registry.url": registry})
    values, _, errors = read(spark, its, [make(registry)])
    assert (values, errors) == ([expected], [None])


@pytest.mark.proves("R30")
def test_avro_through_kafka_and_back(
    spark: Session, registry: str, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    told, heard = tmp_path / "in.txt", tmp_path / "out.txt"
    told.write_text("one\ntwo\n")
    avro = {"value.converter": AVRO, "value.converter.schema.registry.url": registry}
    with pipelines(spark, source_cluster, tmp_path) as worker:
        source = worker.start("avro-in", SOURCE | avro | {"file": str(told), "topic": "avro-lines"})
        sink = worker.start("avro-out", SINK | avro | {"file": str(heard), "topics": "avro-lines"})
        until_file_holds(heard, "one\ntwo\n", source, sink)
        with told.open("a") as file:
            file.write("three\n")
        until_file_holds(heard, "one\ntwo\nthree\n", source, sink)
    read_back = AvroDeserializer(client(registry))
    context = SerializationContext("avro-lines", MessageField.VALUE)
    found = [read_back(value, context) for _, value in records_of(source_cluster, "avro-lines", 3)]
    assert found == ["one", "two", "three"]


@pytest.mark.parametrize(("name", "form"), [("Float", ">f"), ("Double", ">d")])
def test_floats_are_written_as_java_writes_them(spark: Session, name: str, form: str) -> None:
    numbers = [0.0, -0.0, 1.5, -2.75, float("inf"), float("-inf"), 2.0**-140, 2.0**127, None]
    its = converter(f"org.apache.kafka.connect.converters.{name}Converter", {})
    data = written(spark, its, Schema("float" if name == "Float" else "double", optional=True), numbers)
    assert data == [None if number is None else pack(form, number) for number in numbers]
    values, _, errors = read(spark, its, data)
    assert (values, errors) == (numbers, [None] * len(numbers))


NULLS = struct(
    ("id", Schema("int32")),
    ("n", Schema("int32", optional=True, default=7)),
    ("inner", struct(("s", Schema("string", optional=True, default="x")), name="Inner", optional=True)),
    name="shop.Nulls",
)


@pytest.mark.parametrize(
    ("name", "keep"),
    [
        ("org.apache.kafka.connect.json.JsonConverter", {"replace.null.with.default": "false"}),
        (JSON_SCHEMA, {"ignore.default.for.nullables": "true"}),
        (AVRO, {"ignore.default.for.nullables": "true"}),
        (PROTOBUF, {"ignore.default.for.nullables": "true"}),
    ],
)
def test_a_field_without_a_value_is_written_with_its_default_as_connect_does(
    spark: Session, registry: str, name: str, keep: dict[str, str]
) -> None:
    rows = [{"id": 1, "n": None, "inner": {"s": None}}, {"id": 2, "n": 3, "inner": None}]
    at = {"schema.registry.url": registry} if "confluent" in name else {"schemas.enable": "true"}
    filled = [{"id": 1, "n": 7, "inner": {"s": "x"}}, {"id": 2, "n": 3, "inner": None}]
    for config, want in ((at, filled), (at | keep, rows)):
        data = written(spark, converter(name, config), NULLS, rows, [f"nulls-{name}"] * 2)
        values, _, errors = read(spark, converter(name, at | keep), data)
        assert (values, errors) == (want, [None, None]), config


@pytest.mark.parametrize("scale", [0, 2, 10, 38])
def test_decimals_of_any_size_keep_every_digit_as_bytes(spark: Session, scale: int) -> None:
    make_active(spark)
    edges = [
        sign * (1 << bits) + near for bits in (0, 7, 8, 63, 64, 71, 126) for near in (-1, 0, 1) for sign in (1, -1)
    ]
    numbers = [*edges, 10**38 - 1, 1 - 10**38, 10**scale % 10**38]
    want = [(n.to_bytes((n if n >= 0 else ~n).bit_length() // 8 + 1, "big", signed=True)) for n in numbers]
    with localcontext(prec=60):
        values = [Decimal(n).scaleb(-scale) for n in numbers]
    rows = spark.createDataFrame(list(enumerate(values)), f"n int, value decimal(38,{scale})")
    made = rows.select("n", "value", bytes_of_decimal(col("value"), scale).alias("bytes"))
    found = made.select("*", decimal_of_bytes(col("bytes"), scale).alias("back")).orderBy("n").collect()
    assert [bytes(one["bytes"]) for one in found] == want
    assert [one["back"] for one in found] == [one["value"] for one in found]
