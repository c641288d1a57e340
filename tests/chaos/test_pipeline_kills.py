"""Pipelines under load while their worker, its JVM, its Python workers or the database are killed -9.

Every row and line has a number. In the end the target has each of them once, and so has the topic.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.kit.connect_process import ConnectProcess, Victim, connect_process, worker_config
from tests.kit.pipelines import committed_values
from tests.kit.postgres import Postgres, postgres
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1_800)]
PATIENCE_S = 240.0
VICTIMS: tuple[Victim, ...] = ("python", "jvm", "worker", "python", "worker")
SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "poll.interval.ms": "100"}
SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"}


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


def faults(
    worker: ConnectProcess, start: Callable[[], ConnectProcess], seen: Callable[[], int], dice: random.Random
) -> None:
    """Kill each kind of victim once the target has moved on since the last kill."""
    for victim in VICTIMS:
        before = seen()
        wait_until(seen, lambda now, least=before: now > least, within_s=PATIENCE_S, what=f"news before the {victim}")  # type: ignore[misc]
        time.sleep(dice.random())
        worker.kill(victim, dice.choice)
        if victim == "worker":
            worker = start()


def test_lines_survive_every_kill_once_and_in_order(source_cluster: LocalCluster, tmp_path: Path) -> None:
    told, heard = tmp_path / "in.txt", tmp_path / "out.txt"
    told.write_text("")
    config = worker_config(source_cluster, "kills-files")
    with ExitStack() as stack:

        def start() -> ConnectProcess:
            return stack.enter_context(connect_process(config, tmp_path))

        def write(number: int) -> None:
            with told.open("a") as file:
                file.writelines(f"line {number * 20 + n}\n" for n in range(20))

        worker = start()
        worker.put("lines-in", SOURCE | {"file": str(told), "topic": "kills-lines"})
        worker.put("lines-out", SINK | {"file": str(heard), "topics": "kills-lines"})
        with in_background(write, 0.1):
            faults(worker, start, lambda: heard.stat().st_size if heard.exists() else 0, random.Random(1))
        want = told.read_text()
        wait_until(
            lambda: heard.stat().st_size, lambda size: size >= len(want), within_s=PATIENCE_S, what="the last line"
        )
    assert heard.read_text() == want
    lines = [value["payload"] for value in committed_values(source_cluster, "kills-lines")]
    assert lines == want.splitlines()


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


def test_rows_survive_every_kill_once(source_cluster: LocalCluster, tmp_path: Path) -> None:
    config = worker_config(source_cluster, "kills-jdbc")
    with ExitStack() as stack:
        db = stack.enter_context(postgres(tmp_path / "pg"))
        db.run("CREATE TABLE kills (id BIGSERIAL PRIMARY KEY, name TEXT)")

        def start() -> ConnectProcess:
            return stack.enter_context(connect_process(config, tmp_path))

        def write(number: int) -> None:
            insert(db, "kills", number)

        source, sink = jdbc_pair(db, "kills")
        worker = start()
        worker.put("rows-in", source)
        worker.put("rows-out", sink)
        with in_background(write, 0.1):
            faults(worker, start, lambda: rows_of(db, "copy_kills").total(), random.Random(2))
        want = rows_of(db, "kills")
        wait_until(
            lambda: differences(want, rows_of(db, "copy_kills")),
            lambda found: found == NOTHING,
            within_s=PATIENCE_S,
            what="the copy",
        )
    found = Counter(value["payload"]["id"] for value in committed_values(source_cluster, "kills"))
    assert differences(Counter(key for key, _ in want), found) == NOTHING


def test_a_database_that_is_killed_loses_and_doubles_nothing(source_cluster: LocalCluster, tmp_path: Path) -> None:
    config = worker_config(source_cluster, "kills-db")
    with ExitStack() as stack:
        db = stack.enter_context(postgres(tmp_path / "pg"))
        db.run("CREATE TABLE downs (id BIGSERIAL PRIMARY KEY, name TEXT)")

        def write(number: int) -> None:
            try:
                insert(db, "downs", number)
            except psycopg.Error:
                return  # it is down

        source, sink = jdbc_pair(db, "downs")
        worker = stack.enter_context(connect_process(config, tmp_path))
        worker.put("rows-in", source)
        worker.put("rows-out", sink)
        with in_background(write, 0.1):
            for _ in range(2):
                before = rows_of(db, "copy_downs").total()
                wait_until(
                    lambda: rows_of(db, "copy_downs").total(),
                    lambda now, least=before: now > least,  # type: ignore[misc]
                    within_s=PATIENCE_S,
                    what="news",
                )
                db.kill()
                told = wait_until(
                    lambda: str([worker.status(name) for name in ("rows-in", "rows-out")]),
                    lambda text: "refused" in text or "terminat" in text or "closed" in text,
                    within_s=PATIENCE_S,
                    what="the reason in status",
                )
                assert str(db.port) in told
                db.start()
        want = rows_of(db, "downs")
        wait_until(
            lambda: differences(want, rows_of(db, "copy_downs")),
            lambda found: found == NOTHING,
            within_s=PATIENCE_S,
            what="the copy",
        )


def test_two_workers_of_a_group_never_write_side_by_side(source_cluster: LocalCluster, tmp_path: Path) -> None:
    told, heard = tmp_path / "in.txt", tmp_path / "out.txt"
    told.write_text("")
    config = worker_config(source_cluster, "kills-two")
    with ExitStack() as stack:
        first = stack.enter_context(connect_process(config, tmp_path))
        first.put("two-in", SOURCE | {"file": str(told), "topic": "kills-two"})
        first.put("two-out", SINK | {"file": str(heard), "topics": "kills-two"})
        second = stack.enter_context(connect_process(config, tmp_path))

        def write(number: int) -> None:
            with told.open("a") as file:
                file.writelines(f"line {number * 20 + n}\n" for n in range(20))

        def size() -> int:
            return heard.stat().st_size if heard.exists() else 0

        with in_background(write, 0.1):
            wait_until(size, bool, within_s=PATIENCE_S, what="lines of the first")
            first.freeze()
            before = size()
            wait_until(size, lambda now: now > before, within_s=PATIENCE_S, what="lines of the second")
            first.thaw()
            wait_until(
                lambda: second.status("two-out")["connector"]["state"],
                lambda state: state == "RUNNING",
                within_s=PATIENCE_S,
                what="the second",
            )
            before = size()
            wait_until(size, lambda now: now > before + 2000, within_s=PATIENCE_S, what="lines after the thaw")
        want = told.read_text()
        wait_until(size, lambda now: now >= len(want), within_s=PATIENCE_S, what="the last line")
    assert heard.read_text() == want
    assert [value["payload"] for value in committed_values(source_cluster, "kills-two")] == want.splitlines()
