"""What a configuration means, told without secrets; what a backfill would read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.kit.lake import iceberg_config

from twinlog.errors import ConnectorRefused
from twinlog.pipelines.backfill import backfill_config
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.explain import explained
from twinlog.pipelines.worker_settings import read_worker

WORKER = read_worker({"group.id": "g", "offset.storage.topic": "offs"})
SINK = {
    "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "topics": "orders", "pk.mode": "none",
    "connection.url": "jdbc:postgresql://h/shop?user=app&password=geheim", "connection.password": "topsecret",
    "errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead",
}  # fmt: skip
SOURCE = {
    "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "connection.url": "jdbc:mysql://h/shop",
    "mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "p-", "table.whitelist": "a,b",
}  # fmt: skip


@pytest.mark.proves("R12")
def test_no_secret_is_told() -> None:
    facts = explained(read_connector("s", SINK, {}), WORKER)
    assert "geheim" not in json.dumps(facts)
    assert "topsecret" not in json.dumps(facts)
    assert facts["delivery"].startswith("exactly once")
    assert facts["bad records"] == "parked in topic dead"
    origins = {row["key"]: row["from"] for row in facts["settings"]}
    assert (origins["pk.mode"], origins["insert.mode"]) == ("configuration", "default")


def test_a_source_keeps_its_positions_where_connect_does() -> None:
    facts = explained(read_connector("s", SOURCE, {}), WORKER)
    assert facts["positions"] == "topic offs, as Connect writes them"
    assert facts["bad records"] == "a bad record stops its task, in front of the record"


def test_a_backfill_reads_one_table_and_moves_no_position() -> None:
    config = backfill_config(read_connector("s", SOURCE, {}), "a", "id < 5")
    assert (config["name"], config["mode"], config["table.whitelist"]) == ("s-backfill", "bulk", "a")
    assert (config["query.suffix"], config["run"], config["topic.prefix"]) == ("WHERE id < 5", "available", "p-")
    with pytest.raises(ConnectorRefused, match="no JDBC source"):
        backfill_config(read_connector("s", SINK, {}), "a", "id < 5")


def test_keys_of_a_family_are_told_without_their_secrets(tmp_path: Path) -> None:
    config = {**iceberg_config(tmp_path), "topics": "t", "iceberg.catalog.credential": "id:planted",
              "iceberg.control.commit.interval-ms": "7"}  # fmt: skip
    facts = explained(read_connector("lake", config, {}), WORKER)
    told = [(one["key"], one["value"]) for one in facts["settings"] if one["from"] == "configuration"]
    assert ("iceberg.catalog.type", "sql") in told
    assert ("iceberg.catalog.credential", "***") in told
    assert [value for key, value in told if key == "iceberg.control.commit.interval-ms"] == ["7"]
