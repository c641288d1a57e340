"""Tables of a real PostgreSQL on the real Spark: rows that differ are named, a part is read again, a database that is
away or refuses is a state with its cause, and a preview shows rows without a change anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kit.pipelines import PATIENCE_S, committed_values, pipelines, produce
from tests.kit.postgres import Postgres, postgres
from tests.kit.waiting import wait_until

from twinlog.errors import ConnectorRefused
from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.api import Retriable
from twinlog.pipelines.backfill import check_selection, run_backfill
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.databases.addresses import read_address
from twinlog.pipelines.preview import preview
from twinlog.pipelines.sources.jdbc.compare import TableSide, compare_tables
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(420)
SOURCE = "io.confluent.connect.jdbc.JdbcSourceConnector"
SINK = "io.confluent.connect.jdbc.JdbcSinkConnector"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    with postgres(tmp_path_factory.mktemp("postgres")) as server:
        server.run(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, name TEXT, price NUMERIC(10,2))",
            "INSERT INTO orders SELECT n, 'name ' || n, n * 1.5 FROM generate_series(1, 500) n",
            "CREATE TABLE copied AS SELECT id, name, price::float8 AS price FROM orders",
        )
        yield server


def test_rows_that_differ_are_named_and_equal_ones_are_not(db: Postgres, spark: Session) -> None:
    ours, theirs = (TableSide(read_address(db.url), table) for table in ("orders", "copied"))
    same = compare_tables(spark, ours, theirs, "id", parts=4, settle_s=0)
    assert (same.source_rows, same.target_rows, same.differences) == (500, 500, [])
    db.run("UPDATE copied SET name = 'broken' WHERE id = 77", "DELETE FROM copied WHERE id = 42",
           "INSERT INTO copied VALUES (9000, 'nobody', 1)")  # fmt: skip
    found = compare_tables(spark, ours, theirs, "id", parts=4, settle_s=0.1)
    assert [(one.kind, one.key) for one in found.differences] == [
        ("different", "77"),
        ("extra", "9000"),
        ("missing", "42"),
    ]
    assert (found.differences[0].source, found.differences[0].target) == ("name=name 77", "name=broken")
    db.run("CREATE VIEW alike AS SELECT 1 AS id, name FROM orders")
    with pytest.raises(Retriable, match="id=1 names several rows"):
        compare_tables(spark, replace(ours, table="alike"), replace(theirs, table="alike"), "id", settle_s=0)
    with pytest.raises(ValueError, match="is not in both tables"):
        compare_tables(spark, ours, theirs, "nothing", settle_s=0)


@pytest.mark.chaos
def test_a_part_of_a_table_is_read_again_beside_the_stream(
    db: Postgres, source_cluster: LocalCluster, spark: Session, tmp_path: Path
) -> None:
    config = {
        "connector.class": SOURCE, "connection.url": db.url, "mode": "incrementing", "table.whitelist": "orders",
        "incrementing.column.name": "id", "topic.prefix": "again-", "poll.interval.ms": "200",
        "topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1",
    }  # fmt: skip

    def until_written(count: int) -> None:
        wait_until(
            lambda: (stream.progress.totals()["written"], stream.progress.trace),
            lambda seen: seen[0] == count,
            within_s=PATIENCE_S,
            what=f"{count} rows",
        )

    with pipelines(spark, source_cluster, tmp_path) as running:
        stream = running.start("orders-in", config)
        until_written(500)
        named = read_connector("orders-in", config, running.worker.config)
        for where in ("id < 0", "nonsense >>"):
            with pytest.raises(ConnectorRefused):
                check_selection(named, "orders", where)
        before = dict(stream.progress.positions)
        done = run_backfill(running, named, "orders", "id IN (42, 77)", PATIENCE_S)
        assert (done.written, done.problem) == (2, "")
        assert stream.running
        assert stream.progress.positions == before, "the stream keeps its position"
        db.run("INSERT INTO orders VALUES (501, 'late', 1)")
        until_written(501)
    ids = [one["id"] for one in committed_values(source_cluster, "again-orders")]
    assert sorted(ids) == sorted([*range(1, 502), 42, 77])


@pytest.mark.chaos
@pytest.mark.proves("R31")
def test_a_database_that_is_away_or_refuses_is_a_state_with_its_cause_and_ends_by_itself(
    db: Postgres, source_cluster: LocalCluster, spark: Session, tmp_path: Path
) -> None:
    db.run("CREATE ROLE writer LOGIN", "CREATE SCHEMA kept AUTHORIZATION writer")
    config = {
        "connector.class": SINK, "connection.url": db.url.replace("user=app", "user=writer&currentSchema=kept"),
        "topics": "kept-rows", "auto.create": "true", "insert.mode": "upsert", "pk.mode": "record_value",
        "pk.fields": "id", "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true", "errors.retry.delay.max.ms": "1000",
    }  # fmt: skip
    schema = {"type": "struct", "optional": False, "fields": [{"type": "int64", "optional": False, "field": "id"}]}

    def send(number: int) -> None:
        produce(
            source_cluster, "kept-rows", [(None, json.dumps({"schema": schema, "payload": {"id": number}}).encode())]
        )

    def trouble() -> dict[int, str]:
        return sink.progress.troubles()

    def rows() -> list[Any]:
        return db.rows('SELECT id FROM kept."kept-rows" ORDER BY id')

    send(1)
    with pipelines(spark, source_cluster, tmp_path) as running:
        sink = running.start("kept", config)
        wait_until(lambda: sink.progress.totals()["put"], lambda seen: seen == 1, within_s=PATIENCE_S, what="a row")
        db.kill()
        send(2)
        told = wait_until(trouble, bool, within_s=PATIENCE_S, what="a cause")
        assert "refused" in told[0] or "server closed" in told[0] or "terminat" in told[0], told
        db.start()
        wait_until(trouble, lambda seen: not seen, within_s=PATIENCE_S, what="the end of it")
        assert rows() == [(1,), (2,)]
        db.run('REVOKE ALL ON kept."kept-rows" FROM writer', 'ALTER TABLE kept."kept-rows" OWNER TO app')
        send(3)
        wait_until(trouble, lambda seen: "permission denied" in seen.get(0, ""), within_s=PATIENCE_S, what="the right")
        db.run('GRANT ALL ON kept."kept-rows" TO writer')
        wait_until(trouble, lambda seen: not seen, within_s=PATIENCE_S, what="the end of it")
        assert rows() == [(1,), (2,), (3,)]
        assert sink.progress.restarts == 0, "a wait is no failure"


def test_a_preview_shows_rows_and_records_and_changes_nothing(
    db: Postgres, source_cluster: LocalCluster, spark: Session, tmp_path: Path
) -> None:
    config = {
        "connector.class": SOURCE, "connection.url": db.url, "mode": "bulk", "table.whitelist": "copied",
        "topic.prefix": "seen-", "transforms": "only",
        "transforms.only.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.only.include": "id",
    }  # fmt: skip
    with pipelines(spark, source_cluster, tmp_path) as running:
        named = read_connector("seen", config, running.worker.config)
        found = preview(spark, named, running.worker, 2)
    assert [(one.name, len(one.rows)) for one in found.steps] == [("source", 2), ("only", 2), ("record", 2)]
    assert set(found.steps[0].rows[0]["value"]) == {"id", "name", "price"}
    assert set(found.steps[1].rows[0]["value"]) == {"id"}
    assert found.steps[2].rows[0]["topic"] == "seen-copied"
    assert found.steps[2].rows[0]["value"].startswith('{"id":')
