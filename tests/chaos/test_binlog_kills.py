"""Change data capture from MariaDB under load while worker, JVM, Python workers or the database are killed -9.

Every update adds one, so the records of a row must be 1, 2, 3 … without a gap and without a repeat. Columns are added
meanwhile.
"""

# ruff: noqa: S608  statements of tests

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest
from confluent_kafka import Consumer
from tests.kit.binlog_changes import config_of
from tests.kit.connect_process import ConnectProcess, connect_process, worker_config
from tests.kit.jdbc_copies import in_background
from tests.kit.killing import PATIENCE_S, faults
from tests.kit.pipelines import committed_values
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.mariadb import MariaDb

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1_500)]
TABLES, ROWS = ("one", "two"), 40
PAUSE_S = 0.1
"""Between two transactions, each of some 35 changes."""


def prepared(folder: Path) -> MariaDb:
    db = MariaDb(folder)
    db.start()
    for table in TABLES:
        db.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL)",
               f"INSERT INTO {table} SELECT seq, 0 FROM seq_1_to_{ROWS}")  # fmt: skip
    return db


def change(db: MariaDb, dice: random.Random, number: int) -> None:
    """One transaction over both tables; now and then a table gets a column."""
    with db.connect() as client, client.cursor() as cursor:
        cursor.execute("BEGIN")
        for _ in range(dice.randint(1, 6)):
            cursor.execute(f"UPDATE {dice.choice(TABLES)} SET n = n + 1 WHERE id % 4 = {dice.randint(0, 3)}")
        cursor.execute(dice.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))
        if number % 50 == 49:
            cursor.execute(f"ALTER TABLE {dice.choice(TABLES)} ADD COLUMN c{number} INT")


@contextmanager
def counting(cluster: LocalCluster, prefix: str) -> Iterator[Callable[[], int]]:
    """Count the records that readers of committed records see; a look reads only what is new."""
    reader = Consumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": f"count-{prefix}", "auto.offset.reset": "earliest",
        "isolation.level": "read_committed", "topic.metadata.refresh.interval.ms": 1000,
    })  # fmt: skip
    reader.subscribe([f"{prefix}.shop.{table}" for table in TABLES])
    count = 0

    def look() -> int:
        nonlocal count
        while messages := reader.consume(10_000, 0.2):
            count += sum(message.error() is None for message in messages)
        return count

    try:
        yield look
    finally:
        reader.close()


def seen(cluster: LocalCluster, prefix: str) -> dict[tuple[str, int], list[int]]:
    """What the topics have of each row, in their order."""
    numbers: dict[tuple[str, int], list[int]] = {}
    for table in TABLES:
        for value in committed_values(cluster, f"{prefix}.shop.{table}"):
            after: Any = value["payload"]["after"]
            numbers.setdefault((table, after["id"]), []).append(after["n"])
    return numbers


def checked(cluster: LocalCluster, db: MariaDb, prefix: str) -> None:
    wanted = {(table, row): n for table in TABLES for row, n in db.rows(f"SELECT id, n FROM {table}")}
    wait_until(
        lambda: {key: ns[-1] for key, ns in seen(cluster, prefix).items()},
        lambda latest: latest == wanted, within_s=PATIENCE_S, what="all changes",
    )  # fmt: skip
    wrong = {key: ns for key, ns in seen(cluster, prefix).items() if ns != list(range(ns[0], ns[0] + len(ns)))}
    assert wrong == {}
    assert sum(wanted.values()) > 1000


def test_changes_survive_every_kill_once(source_cluster: LocalCluster, tmp_path: Path) -> None:
    dice = random.Random(11)
    config = worker_config(source_cluster, "kills-binlog")
    with ExitStack() as stack:
        db = prepared(tmp_path / "db")
        stack.callback(db.stop)

        def start() -> ConnectProcess:
            return stack.enter_context(connect_process(config, tmp_path))

        worker, count = start(), stack.enter_context(counting(source_cluster, "killed"))
        worker.put("changes", config_of(db, ",".join(TABLES), topic_prefix="killed", max_batch_size="50"))
        wait_until(count, lambda rows: rows >= 2 * ROWS, within_s=PATIENCE_S, what="the rows that are there")
        with in_background(lambda number: change(db, dice, number), PAUSE_S):
            faults(worker, start, count, random.Random(12))
        checked(source_cluster, db, "killed")


def test_a_database_that_is_killed_loses_and_doubles_no_change(source_cluster: LocalCluster, tmp_path: Path) -> None:
    dice = random.Random(13)
    with ExitStack() as stack:
        db = prepared(tmp_path / "db")
        stack.callback(db.stop)

        def write(number: int) -> None:
            try:
                change(db, dice, number)
            except (pymysql.Error, OSError):
                return  # it is down

        worker = stack.enter_context(connect_process(worker_config(source_cluster, "kills-maria"), tmp_path))
        worker.put("changes", config_of(db, ",".join(TABLES), topic_prefix="downs", max_batch_size="50"))
        count = stack.enter_context(counting(source_cluster, "downs"))
        with in_background(write, PAUSE_S):
            for _ in range(3):
                before = count()
                wait_until(count, lambda now, least=before: now > least + 100, within_s=PATIENCE_S, what="news")  # type: ignore[misc]
                db.kill()
                told = wait_until(
                    lambda: str(worker.status("changes")),
                    lambda text: str(db.port) in text, within_s=PATIENCE_S, what="the reason in status",
                )  # fmt: skip
                assert "127.0.0.1" in told
                db.start()
        checked(source_cluster, db, "downs")
