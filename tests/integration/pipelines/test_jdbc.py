"""Tables of a real PostgreSQL: rows by upsert and insert, exactly once; new columns; late commits; bad rows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.kit.file_pipelines import records_of
from tests.kit.jdbc_tables import PLACE, SCHEMA, batch_of, read_all, shift_clock
from tests.kit.pipelines import JSON, PATIENCE_S, pipelines, produce
from tests.kit.postgres import Postgres, postgres
from tests.kit.waiting import wait_until

from twinlog.kafka.appending import append_record
from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.api import Owner, Rejected, Retriable, Sink, Source, Superseded
from twinlog.pipelines.offsets_topic import OffsetsTopic
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.schemas import TIMESTAMP, Schema, struct
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(420)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    with postgres(tmp_path_factory.mktemp("postgres")) as server:
        yield server


def sink_of(db: Postgres, **config: str) -> Sink:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    made = connector("io.confluent.connect.jdbc.JdbcSinkConnector", {"connection.url": db.url, **keys})
    assert isinstance(made, Sink)
    return made


def test_rows_and_positions_are_stored_together(db: Postgres) -> None:
    sink = sink_of(db, auto_create="true", insert_mode="upsert", pk_mode="record_value", pk_fields="id")
    assert sink.open(Owner("a", 1), [PLACE]) == {}
    values = [{"id": 1, "name": "x"}, {"id": 2, "name": None}, {"id": 1, "name": 'quo"te,\n'}]
    assert not sink.put(batch_of("people", values))
    assert db.rows("SELECT count(*) FROM people") == [(0,)]
    sink.flush({PLACE: 3})
    sink.close()
    assert db.rows("SELECT * FROM people ORDER BY id") == [(1, 'quo"te,\n'), (2, None)]
    assert sink.positions("a") == {PLACE: 3}


def test_what_was_not_flushed_is_not_there(db: Postgres) -> None:
    sink = sink_of(db, auto_create="true")
    sink.open(Owner("b", 1), [PLACE])
    sink.put(batch_of("unflushed", [{"id": 1, "name": "x"}]))
    sink.close()
    assert db.rows("SELECT count(*) FROM unflushed") == [(0,)]
    assert sink.positions("b") == {}


@pytest.mark.proves("R30")
def test_an_older_owner_adds_nothing(db: Postgres) -> None:
    old, young = sink_of(db, auto_create="true"), sink_of(db, auto_create="true")
    old.open(Owner("c", 1), [PLACE])
    old.put(batch_of("owned", [{"id": 1, "name": "old"}]))
    young.open(Owner("c", 2), [PLACE])
    young.put(batch_of("owned", [{"id": 2, "name": "young"}]))
    young.flush({PLACE: 1})
    with pytest.raises(Exception, match=r"younger|terminat|connection"):
        old.flush({PLACE: 1})
    old.close()
    with pytest.raises(Superseded):
        old.open(Owner("c", 1), [PLACE])
    assert db.rows("SELECT id FROM owned") == [(2,)]
    young.close()


def test_bad_rows_are_found_and_the_others_are_kept(db: Postgres) -> None:
    db.run("CREATE TABLE strict (id BIGINT PRIMARY KEY, name VARCHAR(3))")
    sink = sink_of(db, insert_mode="upsert", pk_mode="record_value", pk_fields="id")
    sink.open(Owner("d", 1), [PLACE])
    values = [{"id": n, "name": "long" if n in {3, 6} else "ok"} for n in range(8)]
    rejected = sink.put(batch_of("strict", values))
    assert [one.row for one in rejected] == [3, 6]
    assert all(isinstance(one, Rejected) and "too long" in one.reason for one in rejected)
    sink.flush({PLACE: 8})
    sink.close()
    assert db.rows("SELECT count(*) FROM strict") == [(6,)]


def test_a_new_field_becomes_a_column_if_that_is_wanted(db: Postgres) -> None:
    wider = struct(*[(one.name, one.schema) for one in SCHEMA.fields], ("at", Schema("int64", True, TIMESTAMP, 1)))
    sink = sink_of(db, auto_create="true", auto_evolve="true")
    sink.open(Owner("e", 1), [PLACE])
    sink.put(batch_of("growing", [{"id": 1, "name": "x"}]))
    sink.flush({PLACE: 1})
    sink.put(batch_of("growing", [{"id": 2, "name": "y", "at": 1_700_000_000_123}], wider))
    sink.flush({PLACE: 2})
    sink.close()
    rows = db.rows('SELECT id, "at"::text FROM growing ORDER BY id')
    assert rows == [(1, None), (2, "2023-11-14 22:13:20.123")]
    fixed = sink_of(db)
    fixed.open(Owner("f", 1), [PLACE])
    (refused,) = fixed.put(batch_of("missing_table", [{"id": 1, "name": "x"}]))
    assert "auto.create is off" in refused.reason
    fixed.close()


def test_a_record_without_a_value_deletes_its_row(db: Postgres) -> None:
    sink = sink_of(
        db, auto_create="true", insert_mode="upsert", pk_mode="record_key", pk_fields="key", delete_enabled="true"
    )
    sink.open(Owner("g", 1), [PLACE])
    sink.put(batch_of("gone", [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}], keys=["a", "b"]))
    sink.put(batch_of("gone", [None, {"id": 3, "name": "z"}], keys=["a", "c"]))
    sink.flush({PLACE: 4})
    sink.close()
    assert db.rows("SELECT key FROM gone ORDER BY key") == [("b",), ("c",)]


def source_of(db: Postgres, **config: str) -> Source:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    made = connector(
        "io.confluent.connect.jdbc.JdbcSourceConnector", {"connection.url": db.url, "topic.prefix": "p-", **keys}
    )
    assert isinstance(made, Source)
    return made


def test_a_row_that_commits_late_is_not_lost(db: Postgres) -> None:
    db.run("CREATE TABLE late (id SERIAL PRIMARY KEY, name TEXT)")
    source = source_of(db, mode="incrementing", incrementing_column_name="id", table_whitelist="late")
    (place,) = source.partitions()
    assert place.at == {"protocol": "1", "table": "postgres.public.late"}
    with db.connect() as slow:
        slow.autocommit = False
        slow.execute("INSERT INTO late (name) VALUES ('late')")
        db.run("INSERT INTO late (name) VALUES ('early')")
        rows, start = read_all(source, place)
        assert [one["name"] for one in rows] == ["early"]
        slow.commit()
    rows, start = read_all(source, place, start)
    assert [one["name"] for one in rows] == ["late"]
    assert read_all(source, place, start)[0] == []


def test_positions_that_somebody_deleted_are_stored_anew(db: Postgres) -> None:
    for statement in ("DELETE FROM twinlog_positions", "DROP TABLE twinlog_positions"):
        sink = sink_of(db, auto_create="true", table_name_format="unplaced")
        sink.open(Owner("unplaced", 1), [PLACE])
        sink.put(batch_of("t", [{"id": 1, "name": "a"}]))
        sink.flush({PLACE: 1})
        db.run(statement)
        sink.put(batch_of("t", [{"id": 2, "name": "b"}]))
        with pytest.raises(Retriable, match="twinlog_positions"):
            sink.flush({PLACE: 2})
        sink.close()
        assert sink.open(Owner("unplaced", 1), [PLACE]) == {}  # the task knows where it was
        sink.put(batch_of("t", [{"id": 2, "name": "b"}]))
        sink.flush({PLACE: 2})
        assert sink.positions("unplaced") == {PLACE: 2}
        sink.close()
        assert [tuple(row) for row in db.rows("SELECT id FROM unplaced ORDER BY id")] == [(1,), (2,)]
        db.run("DROP TABLE unplaced")


@pytest.mark.proves("R30")
@pytest.mark.parametrize("hours", [-1, 1])
def test_a_late_row_is_not_lost_to_a_wrong_clock(db: Postgres, monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    shift_clock(monkeypatch, hours)
    table = f"clock{hours + 1}"
    db.run(f"CREATE TABLE {table} (id SERIAL PRIMARY KEY, name TEXT)")
    source = source_of(db, mode="incrementing", incrementing_column_name="id", table_whitelist=table, gap_watch_ms="1")
    (place,) = source.partitions()
    with db.connect() as slow:
        slow.autocommit = False
        slow.execute(f"INSERT INTO {table} (name) VALUES ('late')")  # noqa: S608
        db.run(f"INSERT INTO {table} (name) VALUES ('early')")  # noqa: S608
        rows, start = read_all(source, place)
        time.sleep(0.05)
        more, start = read_all(source, place, start)
        assert [one["name"] for one in rows + more] == ["early"]
        slow.commit()
    assert [one["name"] for one in read_all(source, place, start)[0]] == ["late"]


def test_every_chunk_can_be_started_from(db: Postgres) -> None:
    db.run(
        "CREATE TABLE many (id BIGINT, at TIMESTAMP, amount NUMERIC(10,2), raw BYTEA, note TEXT)",
        "INSERT INTO many SELECT n, TIMESTAMP '2026-01-01' + (n / 3) * INTERVAL '1 second', n / 7.0, "
        "decode('00ff', 'hex'), CASE WHEN n % 2 = 0 THEN 'a\"b,' || chr(10) || n ELSE NULL END "
        "FROM generate_series(1, 50) n",
    )
    source = source_of(
        db, mode="timestamp+incrementing", incrementing_column_name="id", timestamp_column_name="at",
        table_whitelist="many", batch_max_rows="7", validate_non_null="false",
    )  # fmt: skip
    (place,) = source.partitions()
    starts: list[Any] = [None]
    rows: list[Any] = []
    for chunk in source.read(place, None, lambda: False):
        assert isinstance(chunk.rows, pa.RecordBatch)
        rows += chunk.rows.to_pylist()
        starts.append(dict(chunk.next))
    assert [one["id"] for one in rows] == list(range(1, 51))
    assert rows[1]["note"] == 'a"b,\n2'
    assert (rows[0]["note"], rows[0]["raw"]) == (None, b"\x00\xff")
    done = 0
    for start in starts:
        rest, _ = read_all(source, place, start)
        assert [one["id"] for one in rest] == list(range(done + 1, 51))
        done = min(done + 7, 50)


@pytest.mark.proves("R30")
def test_a_table_reaches_another_table_through_kafka(
    spark: Session, source_cluster: LocalCluster, db: Postgres, tmp_path: Path
) -> None:
    db.run(
        "CREATE TABLE shop (id BIGINT PRIMARY KEY, price NUMERIC(10,2) NOT NULL, name TEXT, at TIMESTAMP)",
        "INSERT INTO shop VALUES (1, 12.50, 'ä', '2026-01-02 03:04:05.678'), (2, -0.01, NULL, NULL)",
    )
    converter = {"value.converter": JSON, "value.converter.schemas.enable": "true"}
    source = converter | {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "connection.url": db.url,
        "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "shop", "topic.prefix": "pg-",
        "poll.interval.ms": "200",
    }  # fmt: skip
    sink = converter | {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "connection.url": db.url, "topics": "pg-shop",
        "auto.create": "true", "insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id",
        "table.name.format": "copy_${topic}",
    }  # fmt: skip
    with pipelines(spark, source_cluster, tmp_path) as worker:
        first = worker.start("shop-in", source)
        second = worker.start("shop-out", sink)

        def look() -> Any:
            there = db.rows("SELECT to_regclass('\"copy_pg-shop\"') IS NOT NULL")[0][0]
            rows = db.rows('SELECT id, price, name, "at"::text FROM "copy_pg-shop" ORDER BY id') if there else []
            return [(i, str(p), n, a) for i, p, n, a in rows], first.progress, second.progress

        want = [(1, "12.50", "ä", "2026-01-02 03:04:05.678"), (2, "-0.01", None, None)]
        wait_until(look, lambda seen: seen[0] == want, within_s=PATIENCE_S, what="the copy")
    ((_, value), _) = records_of(source_cluster, "pg-shop", 2)
    fields = json.loads(value or b"")["schema"]["fields"]
    assert [(one["field"], one["type"], one["optional"]) for one in fields] == [
        ("id", "int64", False), ("price", "bytes", False), ("name", "string", True), ("at", "int64", True),
    ]  # fmt: skip


def test_connectors_of_confluent_go_on_behind_their_positions(
    spark: Session, source_cluster: LocalCluster, db: Postgres, tmp_path: Path
) -> None:
    """Their classes cannot be had here, so the bytes that they store are written by hand: an older form of the key."""
    db.run("CREATE TABLE taken (id BIGINT PRIMARY KEY, name TEXT)", "INSERT INTO taken VALUES (1), (2), (3), (4)")
    rows = [json.dumps({"schema": SCHEMA.to_json(), "payload": {"id": n, "name": None}}).encode() for n in (1, 2)]
    produce(source_cluster, "their-taken", [(None, row) for row in rows])
    group = Consumer({"bootstrap.servers": source_cluster.bootstrap_servers, "group.id": "connect-taken-out"})
    group.commit(offsets=[TopicPartition("their-taken", 0, 1)], asynchronous=False)
    group.close()
    converter = {"value.converter": JSON, "value.converter.schemas.enable": "true", "connection.url": db.url}
    source = converter | {
        "connector.class": "JdbcSourceConnector", "mode": "incrementing", "incrementing.column.name": "id",
        "table.whitelist": "taken", "topic.prefix": "their-", "poll.interval.ms": "200",
    }  # fmt: skip
    sink = converter | {
        "connector.class": "JdbcSinkConnector", "topics": "their-taken", "auto.create": "true", "auto.evolve": "true",
        "insert.mode": "insert", "table.name.format": "copy_taken",
    }  # fmt: skip
    with pipelines(spark, source_cluster, tmp_path) as worker:
        key = b'["taken-in",{"table":"taken"}]'
        append_record(worker.worker.cluster, worker.worker.offsets_topic, key, b'{"incrementing":2}')
        engines = [worker.start("taken-in", source), worker.start("taken-out", sink)]

        def look() -> Any:
            there = db.rows("SELECT to_regclass('copy_taken') IS NOT NULL")[0][0]
            found = db.rows("SELECT id FROM copy_taken ORDER BY id") if there else []
            return [number for (number,) in found], [engine.progress for engine in engines]

        wait_until(look, lambda seen: seen[0][-1:] == [4], within_s=PATIENCE_S, what="the last row")
        assert look()[0] == [2, 3, 4], "nothing again, nothing left out"
        stored = OffsetsTopic(worker.worker.cluster, worker.worker.offsets_topic).read("taken-in", 2)
    assert [(entry.key, entry.offset["incrementing"]) for entry in stored] == [(key, 4)]


@pytest.mark.proves("R31")
def test_a_refused_row_is_parked_with_the_reason(
    spark: Session, source_cluster: LocalCluster, db: Postgres, tmp_path: Path
) -> None:
    db.run("CREATE TABLE narrow (id BIGINT PRIMARY KEY, name VARCHAR(3))")
    values = [{"id": number, "name": name} for number, name in enumerate(("a", "much too long", "c"))]
    records = [json.dumps({"schema": SCHEMA.to_json(), "payload": one}).encode() for one in values]
    produce(source_cluster, "narrow", [(None, one) for one in records])
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "connection.url": db.url, "topics": "narrow",
        "insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "value.converter": JSON,
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": "narrow-dead",
        "errors.deadletterqueue.context.headers.enable": "true",
    }  # fmt: skip
    with pipelines(spark, source_cluster, tmp_path) as worker:
        sink = worker.start("narrow-out", config)
        wait_until(
            lambda: (db.rows("SELECT id FROM narrow ORDER BY id"), sink.progress),
            lambda seen: seen[0] == [(0,), (2,)],
            within_s=PATIENCE_S,
            what="the good rows",
        )
    ((_, parked),) = records_of(source_cluster, "narrow-dead", 1)
    assert json.loads(parked or b"")["payload"]["name"] == "much too long"
