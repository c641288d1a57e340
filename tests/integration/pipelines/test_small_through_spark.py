"""Folder sources of every format, the syslog source and the HTTP sink on the real Spark, with a real broker."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.kit.connect_worker import free_port
from tests.kit.http_notes import Server
from tests.kit.pipelines import JSON, PATIENCE_S, committed, committed_values, pipelines, produce
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(300)
ROWS: list[Any] = [{"id": 1, "name": "a,b"}, {"id": 2, "name": "Émile"}]
AVRO: Any = {"type": "record", "name": "R", "fields": [
    {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}]}  # fmt: skip


def avro_file(path: Path) -> None:
    with path.open("wb") as file:
        fastavro.writer(file, AVRO, ROWS)


FILES: dict[str, Callable[[Path], object]] = {
    "csv": lambda path: path.write_text('id,name\n1,"a,b"\n2,Émile\n'),
    "json": lambda path: path.write_text("".join(json.dumps(row) + "\n" for row in ROWS)),
    "text": lambda path: path.write_text("one\ntwo ä\n"),
    "parquet": lambda path: pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), path),
    "avro": avro_file,
    "xml": lambda path: path.write_text(
        "<r><row id='1'><name>a,b</name></row><row id='2'><name>Émile</name></row></r>"
    ),
}
COLUMNS = {"csv", "json", "xml"}


@pytest.mark.chaos
@pytest.mark.proves("R30")
def test_files_of_every_format_become_records_once(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    with pipelines(spark, source_cluster, tmp_path) as worker:
        for form, write in FILES.items():
            for name in ("in", "done"):
                (tmp_path / form / name).mkdir(parents=True)
            write(tmp_path / form / "in" / f"one.{form}")
            config = {
                "connector.class": "io.twinlog.FolderSourceConnector", "format": form, "topic": f"folder-{form}",
                "input.path": str(tmp_path / form / "in"), "finished.path": str(tmp_path / form / "done"),
                "error.path": str(tmp_path), "poll.interval.ms": "200",
            }  # fmt: skip
            worker.start(f"folder-{form}", config | ({"columns": "id BIGINT, name STRING"} if form in COLUMNS else {}))
        engines = [worker.engine(f"folder-{form}") for form in FILES]
        # A file is moved when its position is stored: then all of its records are.
        wait_until(
            lambda: ({form for form in FILES if list((tmp_path / form / "done").iterdir())}, engines),
            lambda seen: seen[0] == set(FILES),
            within_s=PATIENCE_S,
            what="all files moved away",
        )
        FILES["csv"](tmp_path / "csv" / "in" / "two.csv")
        wait_until(
            lambda: len(list((tmp_path / "csv" / "done").iterdir())),
            lambda count: count == 2,
            within_s=PATIENCE_S,
            what="the second file",
        )
    for form in FILES.keys() - {"text", "csv"}:
        assert committed_values(source_cluster, f"folder-{form}") == ROWS, form
    assert committed_values(source_cluster, "folder-csv") == ROWS * 2
    assert committed_values(source_cluster, "folder-text") == ["one", "two ä"]


@pytest.mark.parametrize("listener", ["UDP", pytest.param("TCP", marks=pytest.mark.chaos)])
def test_syslog_messages_become_records(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path, listener: str
) -> None:
    port, topic = free_port(), f"syslog-{listener.lower()}"
    config = {
        "connector.class": "io.confluent.connect.syslog.SyslogSourceConnector", "syslog.listener": listener,
        "syslog.host": "127.0.0.1", "syslog.port": str(port), "topic": topic,
    }  # fmt: skip
    produce(source_cluster, topic, [])

    def sent(number: int) -> int:
        """Send a message; how many records there are. Messages without a listener are lost, as syslog's are."""
        kind = socket.SOCK_DGRAM if listener == "UDP" else socket.SOCK_STREAM
        try:
            with socket.socket(socket.AF_INET, kind) as sender:
                sender.connect(("127.0.0.1", port))
                sender.sendall(f"<34>1 2026-01-02T03:04:05Z host app 77 ID{number} - message {number}\n".encode())
        except OSError:
            return 0
        return len(committed(source_cluster, topic))

    with pipelines(spark, source_cluster, tmp_path) as worker:
        engine = worker.start(topic, config)
        numbers = iter(range(10_000))
        wait_until(
            lambda: (sent(next(numbers)), engine.progress),
            lambda seen: seen[0] >= 3,
            within_s=PATIENCE_S,
            what="three records",
        )
    found = committed_values(source_cluster, topic)
    assert {(one["severity"], one["facility"], one["host"], one["appName"]) for one in found} == {(2, 4, "host", "app")}
    texts = [one["message"] for one in found]
    assert len(set(texts)) == len(texts), "no message twice"
    assert [int(text.split()[1]) for text in texts] == sorted(int(text.split()[1]) for text in texts)


@pytest.mark.proves("R31")
def test_records_become_requests_and_a_refused_one_is_parked(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    server = Server()
    values = [b'{"id":1}', b'{"id":400}', b'{"id":3}']  # the server answers with the status that a body holds
    produce(source_cluster, "to-http", [(str(n).encode(), value) for n, value in enumerate(values)])
    config = {
        "connector.class": "io.confluent.connect.http.HttpSinkConnector", "topics": "to-http",
        "http.api.url": f"{server.url}/in/${{topic}}/${{key}}", "value.converter": JSON,
        "value.converter.schemas.enable": "false", "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "http-parked", "errors.deadletterqueue.topic.replication.factor": "1",
    }  # fmt: skip
    try:
        with pipelines(spark, source_cluster, tmp_path) as worker:
            sink = worker.start("to-http", config)
            wait_until(
                lambda: (sink.progress.totals(), sink.progress),
                lambda seen: seen[0]["put"] + seen[0]["parked"] >= 3,
                within_s=PATIENCE_S,
                what="three records",
            )
    finally:
        server.http.shutdown()
    assert [(method, path, body) for method, path, body, _ in server.requests] == [
        ("POST", f"/in/to-http/{n}", value.decode()) for n, value in enumerate(values)
    ]
    assert [one.value() for one in committed(source_cluster, "http-parked")] == [b'{"id":400}']
