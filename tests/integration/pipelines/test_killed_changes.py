"""Change data capture whose process is killed with SIGKILL, again and again, while the tables change."""

from __future__ import annotations

# ruff: noqa: S608  statements of tests
import json
import random
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from tests.kit.pipeline_process import PipelineProcess
from tests.kit.pipelines import JSON, PATIENCE_S
from tests.kit.postgres import postgres
from tests.kit.postgres_changes import CLASS, config_of
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

TABLES, ROWS = ("one", "two"), 40


def committed_records(cluster: LocalCluster, topics: list[str], found: list[tuple[Any, Any]]) -> Consumer:
    reader = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest",
         "isolation.level": "read_committed", "topic.metadata.refresh.interval.ms": 1000}
    )  # fmt: skip
    reader.subscribe(topics)
    found.clear()
    return reader


@pytest.mark.chaos
@pytest.mark.timeout(900)
def test_kill_9_loses_and_doubles_no_change(source_cluster: LocalCluster, tmp_path: Path) -> None:
    dice, done = random.Random(7), threading.Event()
    prefix = f"killed{uuid.uuid4().hex[:6]}"
    with postgres(tmp_path / "db") as db:
        for table in TABLES:
            db.run(f"CREATE TABLE {table} (id int PRIMARY KEY, n int NOT NULL)",
                   f"INSERT INTO {table} SELECT i, 0 FROM generate_series(1, {ROWS}) i")  # fmt: skip
        # Every update adds one: the changes of a row must be 1, 2, 3 … without a gap and without a repeat.
        config = config_of(db, "public.one,public.two", topic_prefix=prefix, max_batch_size="5") | {
            "connector.class": CLASS, "key.converter": JSON, "key.converter.schemas.enable": "false",
            "value.converter": JSON, "value.converter.schemas.enable": "false",
            "topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1",
        }  # fmt: skip

        def load() -> None:
            with db.connect() as client:
                while not done.wait(0.01):
                    with client.transaction():
                        for _ in range(dice.randint(1, 6)):
                            table, row = dice.choice(TABLES), dice.randint(1, ROWS)
                            client.execute(f"UPDATE {table} SET n = n + 1 WHERE id = {row}".encode())

        found: list[tuple[Any, Any]] = []
        topics = [f"{prefix}.public.{table}" for table in TABLES]
        reader = committed_records(source_cluster, topics, found)

        def look() -> int:
            new = [one for one in reader.consume(5000, 1.0) if one.error() is None]
            found.extend((one.topic(), json.loads(one.value() or b"null")) for one in new)
            return len(found)

        writer = threading.Thread(target=load)
        writer.start()
        group = f"workers-{uuid.uuid4().hex[:8]}"
        for round_number in range(4):
            process = PipelineProcess(tmp_path / f"p{round_number}", group, source_cluster.bootstrap_servers, "kill",
                                      config)  # fmt: skip
            seen = len(found) + (2 * ROWS if round_number == 0 else 0)  # the rows of the beginning, then changes
            wait_until(look, lambda now, seen=seen: now > seen + 30, within_s=PATIENCE_S, what=str(process.log))  # type: ignore[misc]
            if round_number < 3:
                threading.Event().wait(dice.random())
                process.kill()
        done.set()
        writer.join()
        wanted = {(table, row): n for table in TABLES for row, n in db.rows(f"SELECT id, n FROM {table}")}

        def reached() -> int:
            look()
            latest = {(topic.rpartition(".")[2], value["after"]["id"]): value["after"]["n"] for topic, value in found}
            return sum(latest.get(key) == n for key, n in wanted.items())

        wait_until(reached, lambda good: good == len(wanted), within_s=PATIENCE_S, what="all changes")
        process.kill()
        reader.close()
    by_row: dict[tuple[str, int], list[int]] = {}
    for topic, value in found:
        by_row.setdefault((topic.rpartition(".")[2], value["after"]["id"]), []).append(value["after"]["n"])
    wrong = {key: ns for key, ns in by_row.items() if ns != list(range(ns[0], ns[0] + len(ns)))}
    assert wrong == {}
    assert sum(wanted.values()) > 100
    assert {key: ns[-1] for key, ns in by_row.items()} == wanted
