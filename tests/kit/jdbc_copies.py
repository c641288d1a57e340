"""A table that is copied through Kafka to another one while rows are added, and how the two compare."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from tests.kit.postgres import Postgres


@contextmanager
def in_background(work: Callable[[int], None], pause_s: float) -> Iterator[Callable[[], int]]:
    """Calls `work` with 0, 1, 2 … until the block ends; gives how often it was called."""
    ending, count, broken = threading.Event(), [0], list[BaseException]()

    def run() -> None:
        while not ending.wait(pause_s):
            try:
                work(count[0])
            except BaseException as error:  # noqa: BLE001  told to the test
                broken.append(error)
                return
            count[0] += 1

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield lambda: count[0]
    finally:
        ending.set()
        thread.join(60)
        assert not broken, broken


def jdbc_pair(db: Postgres, topic: str) -> tuple[dict[str, str], dict[str, str]]:
    """From table `topic` to table `copy_topic`. Plain inserts without a key: a repeat would be seen."""
    source = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "connection.url": db.url,
        "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": topic, "topic.prefix": "",
        "poll.interval.ms": "100",
    }  # fmt: skip
    sink = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "connection.url": db.url, "topics": topic,
        "auto.create": "true", "insert.mode": "insert", "pk.mode": "none", "table.name.format": "copy_${topic}",
    }  # fmt: skip
    return source, sink


def insert(db: Postgres, table: str, number: int) -> None:
    db.run(f"INSERT INTO {table} (name) SELECT 'n{number}-' || g FROM generate_series(1, 20) g")  # noqa: S608


def rows_of(db: Postgres, table: str) -> Counter[Any]:
    try:
        return Counter(db.rows(f"SELECT id, name FROM {table}"))  # noqa: S608  a table of this test
    except psycopg.Error:
        return Counter()


def differences(want: Counter[Any], seen: Counter[Any]) -> dict[str, list[Any]]:
    """What a target lacks, has too often, or has without reason."""
    return {"missing": sorted((want - seen).elements())[:10], "too many": sorted((seen - want).elements())[:10]}


NOTHING: dict[str, list[Any]] = {"missing": [], "too many": []}
