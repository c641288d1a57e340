"""Debezium's ExtractNewRecordState, ours beside the original, on the same change events; and the step in SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.kit.java_oracle import java_running
from tests.kit.transform_oracle import JavaTransforms, Sample, differing, our_outcomes

from twinlog.local.jars import JarSet, Module
from twinlog.pipelines.records import PlanRefused
from twinlog.pipelines.session import start_pipeline_spark
from twinlog.spark.session import Session, make_active

DEBEZIUM = JarSet(
    "debezium-core",
    (
        Module("io.debezium", "debezium-core", "3.0.8.Final", alone=True),
        Module("io.debezium", "debezium-api", "3.0.8.Final", alone=True),
    ),
)
ROW = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "name"},
    {"type": "int64", "optional": True, "name": "org.apache.kafka.connect.data.Timestamp", "version": 1, "field": "at"},
]
ENVELOPE = {
    "type": "struct", "optional": False, "name": "shop.public.people.Envelope", "fields": [
        {"type": "struct", "optional": True, "name": "shop.public.people.Value", "field": "before", "fields": ROW},
        {"type": "struct", "optional": True, "name": "shop.public.people.Value", "field": "after", "fields": ROW},
        {"type": "struct", "optional": False, "name": "Source", "field": "source", "fields": [
            {"type": "string", "optional": False, "field": "table"},
            {"type": "int64", "optional": True, "field": "lsn"},
            {"type": "int64", "optional": False, "field": "ts_ms"}]},
        {"type": "string", "optional": False, "field": "op"},
        {"type": "int64", "optional": True, "field": "ts_ms"}],
}  # fmt: skip
SOURCE = {"table": "people", "lsn": 5, "ts_ms": 7}
ONE, TWO = {"id": 1, "name": "a", "at": 12}, {"id": 1, "name": None, "at": None}
EVENTS: list[Any] = [
    {"before": None, "after": ONE, "source": SOURCE, "op": "c", "ts_ms": 9},
    {"before": ONE, "after": TWO, "source": {**SOURCE, "lsn": None}, "op": "u", "ts_ms": None},
    {"before": TWO, "after": None, "source": SOURCE, "op": "d", "ts_ms": 9},
    None,
]
LATER: list[Any] = [
    {"before": None, "after": None, "source": SOURCE, "op": "t", "ts_ms": 9},
    {"before": None, "after": {**ONE, "name": " "}, "source": SOURCE, "op": "r", "ts_ms": 9},
]
CONFIGS: list[dict[str, str]] = [
    {},
    *({"delete.tombstone.handling.mode": mode} for mode in
      ("drop", "tombstone", "rewrite", "rewrite-with-tombstone")),
    {"drop.tombstones": "false"},
    {"delete.handling.mode": "rewrite"},
    {"delete.handling.mode": "none"},
    {"delete.handling.mode": "rewrite", "drop.tombstones": "false"},
    {"add.fields": "op,table,source.ts_ms,lsn"},
    {"add.fields": "op:operation", "add.fields.prefix": "x_"},
    {"add.fields": "op", "delete.handling.mode": "rewrite"},
    {"add.headers": "op,source.lsn", "add.headers.prefix": "h."},
    {"route.by.field": "name"},
    {"delete.tombstone.handling.mode": ""},
    {"delete.tombstone.handling.mode": "rewrite", "delete.handling.mode": "none"},
    {"delete.handling.mode": "none", "drop.tombstones": "false"},
    {"add.fields": "before.name,ts_ms,source.op,nothing"},
    {"add.fields": "lsn", "delete.tombstone.handling.mode": "tombstone"},
    {"add.fields": "op,op"},
    {"add.fields": "id"},
    {"add.fields": "a.b.c", "delete.tombstone.handling.mode": "tombstone"},
    {"add.headers": "op,lsn,nothing", "delete.tombstone.handling.mode": "rewrite-with-tombstone"},
    {"add.headers": "op,id", "delete.tombstone.handling.mode": "rewrite-with-tombstone"},
    {"route.by.field": "name", "delete.tombstone.handling.mode": "tombstone"},
    {"route.by.field": "id", "delete.tombstone.handling.mode": "rewrite"},
    {"route.by.field": "nothing"},
]  # fmt: skip


@pytest.fixture(scope="module")
def java() -> Iterator[JavaTransforms]:
    with java_running(DEBEZIUM) as oracle:
        yield JavaTransforms(oracle)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = start_pipeline_spark(tmp_path_factory.mktemp("spark"), slots=2)
    yield session
    session.stop()


def samples_of(events: list[Any]) -> list[Sample]:
    key = json.dumps({"schema": {"type": "string", "optional": False}, "payload": "k"}).encode()
    made = [None if one is None else json.dumps({"schema": ENVELOPE, "payload": one}).encode() for one in events]
    return [Sample(one, key) for one in made]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda one: ",".join(f"{k}={v}" for k, v in one.items()) or "default")
def test_events_come_out_as_from_debeziums_class(java: JavaTransforms, spark: Session, config: dict[str, str]) -> None:
    make_active(spark)
    own = {"type": "io.debezium.transforms.ExtractNewRecordState", **config}
    samples = samples_of([*EVENTS, *LATER])
    theirs = java.outcomes(own, samples, schemas=True)
    ours = our_outcomes(spark, own, samples, schemas=True)
    assert differing(samples, ours, theirs) == []


def test_other_records_pass(java: JavaTransforms, spark: Session) -> None:
    make_active(spark)
    own = {"type": "io.debezium.transforms.ExtractNewRecordState"}
    key = samples_of(EVENTS)[0].key
    other = {"schema": {"type": "struct", "fields": ROW, "optional": False, "name": "x"}, "payload": ONE}
    samples = [Sample(json.dumps(other).encode(), key)]
    assert differing(samples, our_outcomes(spark, own, samples, schemas=True),
                     java.outcomes(own, samples, schemas=True)) == []  # fmt: skip


def test_events_without_a_schema_are_unwrapped_too(spark: Session) -> None:
    make_active(spark)
    own = {
        "type": "io.debezium.transforms.ExtractNewRecordState",
        "add.fields": "op",
        "delete.handling.mode": "rewrite",
    }
    samples = [Sample(None if one is None else json.dumps(one).encode()) for one in [*EVENTS, {"plain": 1}]]
    made = our_outcomes(spark, own, samples, schemas=False)
    assert [one.dropped for one in made] == [False, False, False, True, False]
    plain = [{name: value[1] for name, value in one.value.items()} for one in (*made[:3], made[4])]
    assert plain[0] == {"id": 1, "name": "a", "at": 12, "__op": "c", "__deleted": "false"}
    assert plain[2] == {"id": 1, "name": None, "at": None, "__op": "d", "__deleted": "true"}
    assert plain[3] == {"plain": 1}


def test_a_step_in_sql(spark: Session) -> None:
    make_active(spark)
    own = {"type": "Sql", "select": "value.after.id AS id, upper(value.after.name) AS name, topic, key AS k, "
           "timestamp_millis(value.after.at) AS at", "where": "value.op <> 'd'"}  # fmt: skip
    made = our_outcomes(spark, own, samples_of(EVENTS), schemas=True)
    assert [one.dropped for one in made] == [False, False, True, True]
    payload = {name: value[1] for name, value in made[0].value["payload"].items()}
    assert payload == {"id": 1, "name": "A", "topic": "orders.eu", "k": "k", "at": 12}
    documents = [Sample(json.dumps({"a": {"b": 5}}).encode()), Sample(None)]
    own = {"type": "Sql", "select": "variant_get(value, '$.a.b', 'int') + 1 AS c", "key.select": "topic AS id"}
    made = our_outcomes(spark, own, documents, schemas=False)
    assert {name: value[1] for name, value in made[0].value.items()} == {"c": 6}
    assert made[1].value is None
    with pytest.raises(PlanRefused, match="nothing"):
        our_outcomes(spark, {"type": "Sql", "select": "nothing"}, documents, schemas=False)
    with pytest.raises(PlanRefused, match="variant"):
        our_outcomes(spark, {"type": "Sql", "select": "value AS x"}, documents, schemas=False)
