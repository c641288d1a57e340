"""Every transform of Kafka, ours beside the original, on the same records: equal results, equal refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.kit.java_oracle import java_running
from tests.kit.transform_oracle import JavaTransforms, Sample, column_outcomes, differing, our_outcomes

from twinlog.pipelines.session import start_pipeline_spark
from twinlog.spark.session import Session

KAFKA = "org.apache.kafka.connect.transforms"

DOCUMENTS: list[Any] = [
    {
        "id": 7,
        "name": "Ann",
        "amount": 12.5,
        "ok": True,
        "tags": ["a", "b"],
        "at": "2026-11-16 03:04:05",
        "ms": 1731726245123,
    },
    {
        "id": -3,
        "name": "",
        "amount": 0.0,
        "ok": False,
        "tags": [],
        "at": "no time",
        "ms": 0,
        "deep": {"x": {"y": 1}, "z": None},
    },
    {"id": "12", "name": "3.25", "amount": "true", "ok": "yes", "deep": {"x": 5, "e": {}}},
    {"id": None, "name": None, "amount": None},
    {
        "id": 3000000000,
        "name": "übermut",
        "amount": 1e10,
        "ok": 0,
        "a.b": 1e10,
        "deep": {"x": {"y": {"w": [1, {"k": 2}]}}},
    },
    {},
    "just text",
    5,
    [1, 2],
    None,
]
FIELDS = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "name"},
    {"type": "double", "optional": True, "field": "amount"},
    {"type": "boolean", "optional": True, "field": "ok"},
    {"type": "array", "items": {"type": "string", "optional": False}, "optional": True, "field": "tags"},
    {"type": "int64", "optional": True, "name": "org.apache.kafka.connect.data.Timestamp", "version": 1, "field": "ms"},
    {"type": "string", "optional": True, "field": "at"},
    {
        "type": "struct",
        "optional": True,
        "field": "deep",
        "fields": [
            {"type": "int32", "optional": True, "field": "x"},
            {"type": "bytes", "optional": True, "field": "raw"},
            {"type": "int32", "optional": False, "field": "must"},
        ],
    },
]
SCHEMA = {"type": "struct", "fields": FIELDS, "optional": False, "name": "order"}
STRUCTS: list[Any] = [
    {"id": 7, "name": "12", "amount": 12.5, "ok": True, "tags": ["a"], "ms": 1731726245123, "at": "2026-11-16 03:04:05",
     "deep": {"x": 3, "raw": "AAE=", "must": 1}},
    {"id": -3, "name": "true", "amount": -0.5, "ok": False, "tags": [], "ms": 0, "at": "no", "deep": None},
    {"id": 0, "name": None, "amount": None, "ok": None, "tags": None, "ms": None, "at": None,
     "deep": {"x": -1, "raw": None, "must": 2}},
    {"id": 70000, "name": "abc", "amount": 1e10, "ok": True, "tags": ["x", "y"], "ms": -1, "at": "1969-12-31 23:59:59",
     "deep": {"x": 300, "raw": "", "must": 3}},
]  # fmt: skip


def sided(name: str, **config: str) -> dict[str, str]:
    return {"type": f"{KAFKA}.{name}$Value", **{key.replace("_", "."): value for key, value in config.items()}}


def whole(name: str, **config: str) -> dict[str, str]:
    return {"type": f"{KAFKA}.{name}", **{key.replace("_", "."): value for key, value in config.items()}}


CONFIGS = [
    *(sided("Cast", spec=f"{field}:{kind}") for field in ("id", "name", "amount", "ok") for kind in
      ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")),
    sided("Cast", spec="missing:int32"),
    sided("Cast", spec="string"),
    sided("Cast", spec="int64"),
    sided("Cast", spec="tags:string"),
    whole("DropHeaders", headers="h"),
    whole("DropHeaders", headers="h,nothing"),
    sided("ExtractField", field="name"),
    sided("ExtractField", field="missing"),
    sided("ExtractField", field="deep.x", field_syntax_version="V2"),
    sided("ExtractField", field="deep.must", field_syntax_version="V2"),
    whole("Filter"),
    sided("Flatten"),
    sided("Flatten", delimiter="_"),
    sided("HeaderFrom", fields="id,name", headers="x,y", operation="copy"),
    sided("HeaderFrom", fields="id", headers="x", operation="move"),
    sided("HoistField", field="all"),
    sided("InsertField", topic_field="t", partition_field="p", offset_field="o", timestamp_field="ts"),
    sided("InsertField", static_field="s!", static_value="v"),
    whole("InsertHeader", header="new", value_literal="hello"),
    sided("MaskField", fields="id,name,amount,ok"),
    sided("MaskField", fields="tags,missing"),
    sided("MaskField", fields="deep"),
    sided("MaskField", fields="id,amount", replacement="42"),
    sided("MaskField", fields="name", replacement="***"),
    sided("MaskField", fields="id", replacement="xx"),
    whole("RegexRouter", regex="orders\\.(.*)", replacement="$1-orders"),
    whole("RegexRouter", regex="orders", replacement="x"),
    sided("ReplaceField", exclude="name,tags"),
    sided("ReplaceField", include="id,amount,missing"),
    sided("ReplaceField", include="id,amount", exclude="id"),
    sided("ReplaceField", renames="id:number,missing:x"),
    sided("ReplaceField", exclude="ok", renames="name:title"),
    sided("SetSchemaMetadata", schema_name="com.x", schema_version="3"),
    *(sided("TimestampConverter", field="ms", target_type=kind, format="yyyy-MM-dd HH:mm:ss") for kind in
      ("string", "unix")),
    *(sided("TimestampConverter", field="at", target_type=kind, format="yyyy-MM-dd HH:mm:ss") for kind in
      ("unix", "string")),
    sided("TimestampConverter", field="ms", target_type="unix", unix_precision="seconds"),
    whole("TimestampRouter"),
    whole("TimestampRouter", topic_format="x.${topic}.${timestamp}", timestamp_format="yyyy-MM"),
    whole("ValueToKey", fields="id,name"),
    whole("ValueToKey", fields="missing"),
]  # fmt: skip
STRUCTS_ONLY = [
    *(sided("TimestampConverter", field=field, target_type=kind, format="yyyy-MM-dd HH:mm:ss") for field in ("ms", "at")
      for kind in ("Date", "Time", "Timestamp")),
    sided("Cast", spec="deep:string"),
]  # fmt: skip


@pytest.fixture(scope="module")
def java() -> Iterator[JavaTransforms]:
    with java_running() as oracle:
        yield JavaTransforms(oracle)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = start_pipeline_spark(tmp_path_factory.mktemp("spark"), slots=2)
    yield session
    session.stop()


def named(config: dict[str, str]) -> str:
    return config["type"].rpartition(".")[2] + ",".join(f" {k}={v}" for k, v in config.items() if k != "type")


@pytest.mark.parametrize("config", CONFIGS, ids=named)
def test_documents_come_out_as_from_kafkas_class(java: JavaTransforms, spark: Session, config: dict[str, str]) -> None:
    samples = [Sample(None if one is None else json.dumps(one).encode()) for one in DOCUMENTS]
    theirs = java.outcomes(config, samples, schemas=False)
    ours = our_outcomes(spark, config, samples, schemas=False)
    assert differing(samples, ours, theirs) == []


@pytest.mark.parametrize("config", [*CONFIGS, *STRUCTS_ONLY], ids=named)
def test_structs_come_out_as_from_kafkas_class(java: JavaTransforms, spark: Session, config: dict[str, str]) -> None:
    key = json.dumps({"schema": {"type": "string", "optional": False}, "payload": "k"}).encode()
    samples = [Sample(json.dumps({"schema": SCHEMA, "payload": one}).encode(), key) for one in STRUCTS]
    theirs = java.outcomes(config, samples, schemas=True)
    ours = our_outcomes(spark, config, samples, schemas=True)
    assert differing(samples, ours, theirs) == []


ON_COLUMNS = [
    config for config in CONFIGS if config["type"].rpartition(".")[2].partition("$")[0] in
    {"Cast", "InsertField", "MaskField", "ReplaceField"}
]  # fmt: skip
FLAT = [
    *(
        {"id": 7, "name": "Ann", "amount": 12.5, "ok": True, "at": "2026-11-16T03:04:05", "ms": n}
        for n in (0, -1, 2**40)
    ),
    {"id": -3, "name": 'a "b" \\ ü\n', "amount": 0.0, "ok": False, "tags": None},
    {"id": 300, "name": "true", "amount": 1e10, "ok": None},
    {"name": None, "amount": -0.5},
]


@pytest.mark.parametrize("config", ON_COLUMNS, ids=named)
def test_columns_come_out_as_from_kafkas_class(java: JavaTransforms, config: dict[str, str]) -> None:
    documents = [*DOCUMENTS, *FLAT]
    samples = [Sample(None if one is None else json.dumps(one).encode()) for one in documents]
    ours = column_outcomes(config, samples)
    theirs = java.outcomes(config, samples, schemas=False)
    done = [(sample, mine, its) for sample, mine, its in zip(samples, ours, theirs, strict=True) if mine is not None]
    assert differing([one for one, _, _ in done], [one for _, one, _ in done], [one for _, _, one in done]) == []


def test_flat_documents_are_handled_as_columns() -> None:
    samples = [Sample(json.dumps(one).encode()) for one in FLAT[:3]]
    for config in (
        sided("Cast", spec="id:string"),
        sided("MaskField", fields="name"),
        sided("ReplaceField", exclude="at"),
    ):
        assert None not in column_outcomes(config, samples)
