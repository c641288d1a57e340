"""Debezium's MariaDB connector on a real Connect worker beside ours: equal records, and each goes on for the other."""

# ruff: noqa: S608  statements of tests

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.binlog_changes import EVERY_TYPE, VALUES, config_of
from tests.kit.connect_process import connect_process, worker_config
from tests.kit.connect_worker import ask, connect_running
from tests.kit.pipelines import JSON, committed
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.mariadb import MariaDb
from twinlog.local.server_jars import CONNECT_DEBEZIUM

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]
PATIENCE_S = 180.0
TABLES = ("kinds", "people", "keyless")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[MariaDb]:
    server = MariaDb(tmp_path / "mariadb")
    server.start()
    yield server
    server.stop()


def config(db: MariaDb, cluster: LocalCluster, tables: str, prefix: str) -> dict[str, str]:
    return config_of(db, tables, topic_prefix=prefix) | {
        "database.ssl.mode": "disable", "tasks.max": "1", "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "schema.history.internal.kafka.bootstrap.servers": cluster.bootstrap_servers,
        "schema.history.internal.kafka.topic": f"{prefix}-history",
        "key.converter": JSON, "key.converter.schemas.enable": "true",
        "value.converter": JSON, "value.converter.schemas.enable": "true",
    }  # fmt: skip


def normal(record: Any, *, has_positions: bool) -> Any:
    """A record without what must differ: times of reading, the program's version, marks of the first and last row.

    MariaDB 11.4 leaves the position out of events with rows. Debezium then tells that of the transaction, we count.
    """
    key, value = (None if one is None else json.loads(one) for one in (record.key(), record.value()))
    if value is not None:
        payload = value["payload"]
        for name in ("ts_ms", "ts_us", "ts_ns"):
            payload.pop(name)
        source = payload["source"]
        source.pop("version")
        if not has_positions:
            source.pop("pos")
        if source["snapshot"] != "false":
            source["snapshot"] = "true"
            for name in ("ts_ms", "ts_us", "ts_ns"):
                source.pop(name)
    return key, value


def differences(wanted: Any, found: Any, path: str) -> list[str]:
    """Where two documents differ."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        names = [*wanted, *(name for name in found if name not in wanted)]
        return [line for one in names for line in differences(wanted.get(one), found.get(one), f"{path}.{one}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [line for n, (one, other) in pairs for line in differences(one, other, f"{path}[{n}]")]
    return [] if wanted == found else [f"{path}: {wanted!r} from Debezium, {found!r} from us"]


def until(cluster: LocalCluster, topic: str, count: int) -> list[Any]:
    return wait_until(
        lambda: committed(cluster, topic), lambda found: len(found) >= count, within_s=PATIENCE_S, what=topic
    )


def test_the_same_statements_give_the_same_records(db: MariaDb, source_cluster: LocalCluster, tmp_path: Path) -> None:
    db.run(
        "SET time_zone = '+00:00'", EVERY_TYPE.format(name="kinds"),
        "CREATE TABLE people (id BIGINT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) NOT NULL DEFAULT 'nobody', "
        "n INT DEFAULT 7, price DECIMAL(6,2) NOT NULL DEFAULT 1.50, kind ENUM('a','b') DEFAULT 'b', "
        "flag BIT(1) DEFAULT 1)",
        "CREATE TABLE keyless (n INT, t TEXT)",
        *(f"INSERT INTO kinds VALUES ({row})" for row in VALUES), "INSERT INTO people (id) VALUES (1), (2), (3)",
        "INSERT INTO keyless VALUES (1, 'x')",
    )  # fmt: skip
    counts = {"kinds": (3, 3), "people": (3, 10), "keyless": (1, 2)}  # before and behind the snapshot
    ours, theirs = (config(db, source_cluster, ",".join(TABLES), prefix) for prefix in ("twinlogx", "debezium"))
    with (
        connect_running(source_cluster, tmp_path, CONNECT_DEBEZIUM) as base,
        connect_process(worker_config(source_cluster, "beside"), tmp_path) as worker,
    ):
        answer = ask(base, "PUT", "/connectors/theirs/config", theirs)
        assert answer.status == 201, answer.body
        worker.put("ours", ours)
        for prefix in ("debezium", "twinlogx"):
            for table, (there, _) in counts.items():
                until(source_cluster, f"{prefix}.shop.{table}", there)
        db.run(
            "SET time_zone = '+00:00'", "UPDATE kinds SET tx = 'new' WHERE id = 1", "DELETE FROM kinds WHERE id = 2",
            "UPDATE people SET name = 'Bea' WHERE id = 2", "DELETE FROM people WHERE id = 1",
            "UPDATE people SET id = 30 WHERE id = 3", "INSERT INTO people (n) VALUES (NULL), (5)",
            "ALTER TABLE people ADD COLUMN shoe SMALLINT UNSIGNED NOT NULL DEFAULT 40 AFTER id, DROP COLUMN n",
            "INSERT INTO people (name) VALUES ('Dan')", "UPDATE people SET shoe = 41 WHERE name = 'Dan'",
            "DELETE FROM keyless",
        )  # fmt: skip
        legacy = dict(db.rows("SHOW GLOBAL VARIABLES LIKE 'binlog_legacy_event_pos'"))
        has_positions = legacy.get("binlog_legacy_event_pos", "ON") == "ON"
        found: list[str] = []
        for table, numbers in counts.items():
            topics = [f"{prefix}.shop.{table}" for prefix in ("debezium", "twinlogx")]
            theirs_, ours_ = (
                [normal(one, has_positions=has_positions) for one in until(source_cluster, name, sum(numbers))]
                for name in topics
            )
            renamed = json.loads(json.dumps(ours_).replace("twinlogx", "debezium"))
            found += differences(json.loads(json.dumps(theirs_)), renamed, table)
        assert found == [], "\n".join(found)


def test_what_debezium_read_goes_on_here(db: MariaDb, source_cluster: LocalCluster, tmp_path: Path) -> None:
    db.run("CREATE TABLE steps (id INT PRIMARY KEY, n INT)", "INSERT INTO steps VALUES (1, 0), (2, 0)")
    its = config(db, source_cluster, "steps", "taken")
    topic = "taken.shop.steps"
    with connect_running(source_cluster, tmp_path, CONNECT_DEBEZIUM) as base:
        assert ask(base, "PUT", "/connectors/steps/config", its).status == 201
        until(source_cluster, topic, 2)
        # Two events of one transaction: Debezium's position stands behind the last row, inside the transaction.
        with db.connect() as client, client.cursor() as cursor:
            for statement in ("BEGIN", "UPDATE steps SET n = 1", "UPDATE steps SET n = 2", "COMMIT"):
                cursor.execute(statement)
        until(source_cluster, topic, 6)

        def stored() -> str:
            return json.dumps(ask(base, "GET", "/connectors/steps/offsets").body)

        assert ask(base, "PUT", "/connectors/steps/stop").status == 204
        position = wait_until(stored, lambda text: '"event"' in text, within_s=PATIENCE_S, what="Debezium's position")
    db.run("UPDATE steps SET n = 3")
    settings = worker_config(source_cluster, "connect-oracle") | {
        f"{what}.storage.topic": f"connect-{what}" for what in ("config", "offset", "status")
    }
    with connect_process(settings, tmp_path) as ours:
        assert json.dumps(ask(ours.base, "GET", "/connectors/steps/offsets").body) == position
        wait_until(lambda: ask(ours.base, "PUT", "/connectors/steps/resume").status, lambda status: status == 202,
                   within_s=PATIENCE_S, what="the election")  # fmt: skip
        records = until(source_cluster, topic, 8)
        db.run("UPDATE steps SET n = 4")
        records = until(source_cluster, topic, 10)
        assert ask(ours.base, "PUT", "/connectors/steps/stop").status == 204
    afters = [json.loads(one.value())["payload"]["after"] for one in records]
    assert [(one["id"], one["n"]) for one in afters] == [(row, n) for n in range(5) for row in (1, 2)]
    db.run("UPDATE steps SET n = 5")
    with connect_running(source_cluster, tmp_path, CONNECT_DEBEZIUM) as base:  # and back
        wait_until(lambda: ask(base, "PUT", "/connectors/steps/resume").status, lambda status: status == 202,
                   within_s=PATIENCE_S, what="the worker")  # fmt: skip
        records = until(source_cluster, topic, 12)
    afters = [json.loads(one.value())["payload"]["after"] for one in records]
    assert [(one["id"], one["n"]) for one in afters] == [(row, n) for n in range(6) for row in (1, 2)]
