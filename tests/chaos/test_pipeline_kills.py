"""Pipelines under load while their worker, its JVM, its Python workers, the database or the search server is killed.

Every row and line has a number. In the end the target has each of them once, and so has the topic.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from tests.kit.connect_process import ConnectProcess, connect_process, worker_config
from tests.kit.jdbc_copies import NOTHING, differences, in_background, insert, jdbc_pair, rows_of
from tests.kit.killing import PATIENCE_S, faults
from tests.kit.pipelines import committed_values, produce
from tests.kit.postgres import postgres
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.search_engine import SearchEngine

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1_800)]
SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "poll.interval.ms": "100"}
SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"}


@pytest.mark.proves("R30")
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


@pytest.mark.proves("R30")
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


@pytest.mark.proves("R30")
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


@pytest.mark.proves("R30")
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


def test_documents_and_files_survive_every_kill_once(source_cluster: LocalCluster, tmp_path: Path) -> None:
    """One topic into Elasticsearch and into a lake of files; the search server is killed, too."""
    config = worker_config(source_cluster, "kills-lake", **{"value.converter.schemas.enable": "false"})
    search, lake = SearchEngine("elasticsearch", tmp_path / "search"), tmp_path / "lake"
    sinks = {
        "to-search": {
            "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", "topics": "kills-docs",
            "connection.url": search.url, "key.ignore": "true", "schema.ignore": "true",
        },
        "to-lake": {
            "connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": "kills-docs",
            "store.url": f"file://{lake}", "flush.size": "50", "rotate.schedule.interval.ms": "1000",
        },
    }  # fmt: skip

    def write(number: int) -> None:
        produce(source_cluster, "kills-docs", [(None, b'{"n": %d}' % (number * 3 + n)) for n in range(3)])

    def files() -> Counter[int]:
        found = sorted((lake / "topics" / "kills-docs").rglob("*.json"))
        return Counter(json.loads(line)["n"] for one in found for line in one.read_text().splitlines())

    def documents() -> Counter[int]:
        return Counter(one["n"] for one in search.documents("kills-docs").values())

    with ExitStack() as stack:
        search.start()
        stack.callback(search.stop)

        def start() -> ConnectProcess:
            return stack.enter_context(connect_process(config, tmp_path))

        produce(source_cluster, "kills-docs", [])
        worker = start()
        for name, sink in sinks.items():
            worker.put(name, sink)
        with in_background(write, 0.2) as written:
            wait_until(documents, bool, within_s=PATIENCE_S, what="the first document")
            search.kill()
            search.start()
            faults(worker, start, lambda: min(documents().total(), files().total()), random.Random(3))
        want = Counter(range(written() * 3))
        for look in (documents, files):
            wait_until(
                lambda one=look: differences(want, one()),  # type: ignore[misc]
                lambda found: found == NOTHING,
                within_s=PATIENCE_S,
                what=look.__name__,
            )
