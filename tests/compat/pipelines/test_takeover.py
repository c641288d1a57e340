"""Connectors that a real Kafka Connect worker ran: they go on here with equal records, behind its positions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.kit.connect_process import connect_process
from tests.kit.connect_worker import ask, connect_running
from tests.kit.pipelines import JSON, TEXT, committed, produce
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.local.server_jars import CONNECT_FILE

pytestmark = pytest.mark.timeout(420)
PATIENCE_S = 120.0
CONVERTERS = {"key.converter": TEXT, "value.converter": JSON, "value.converter.schemas.enable": "true"}


def until(path: Path, text: str) -> None:
    wait_until(
        lambda: path.read_text() if path.exists() else "",
        lambda seen: seen == text,
        within_s=PATIENCE_S,
        what=str(path),
    )


def test_file_connectors_of_a_connect_worker_go_on_here(source_cluster: LocalCluster, tmp_path: Path) -> None:
    told, heard = tmp_path / "in.txt", tmp_path / "out.txt"
    told.write_text("one\ntwo ä\nhalf")
    produce(source_cluster, "taken", [])  # brokers of the tests make no topics by themselves
    source = CONVERTERS | {"connector.class": "FileStreamSource", "file": str(told), "topic": "taken"}
    sink = CONVERTERS | {"connector.class": "FileStreamSink", "file": str(heard), "topics": "taken"}
    with connect_running(source_cluster, tmp_path, CONNECT_FILE) as base:
        for name, config in (("taken-in", source), ("taken-out", sink)):
            answer = ask(base, "PUT", f"/connectors/{name}/config", config)
            assert answer.status == 201, answer.body
        until(heard, "one\ntwo ä\n")
        for name in ("taken-in", "taken-out"):
            assert ask(base, "PUT", f"/connectors/{name}/stop").status == 204
        wait_until(
            lambda: ask(base, "GET", "/connectors/taken-in/offsets").body,
            lambda found: "position" in json.dumps(found),
            within_s=PATIENCE_S,
            what="the worker's own positions",
        )
        positions = ask(base, "GET", "/connectors/taken-in/offsets").body
    before = committed(source_cluster, "taken")
    with told.open("a") as file:
        file.write(" a line\nlast\n")
    settings = {
        "bootstrap.servers": source_cluster.bootstrap_servers, "group.id": "connect-oracle",
        "session.timeout.ms": "10000",
        **{f"{what}.storage.topic": f"connect-{what}" for what in ("config", "offset", "status")},
        **{f"{what}.storage.replication.factor": "1" for what in ("config", "offset", "status")},
        "key.converter": TEXT, "value.converter": JSON,
    }  # fmt: skip
    with connect_process(settings, tmp_path) as ours:
        assert ask(ours.base, "GET", "/connectors").body == ["taken-in", "taken-out"]
        assert ask(ours.base, "GET", "/connectors/taken-in/offsets").body == positions
        for name in ("taken-in", "taken-out"):
            wait_until(
                lambda one=name: ask(ours.base, "PUT", f"/connectors/{one}/resume").status,  # type: ignore[misc]
                lambda status: status == 202,
                within_s=PATIENCE_S,
                what="the election",
            )
        until(heard, "one\ntwo ä\nhalf a line\nlast\n")
    records = committed(source_cluster, "taken")
    assert [json.loads(one.value())["payload"] for one in records] == ["one", "two ä", "half a line", "last"]
    # Byte by byte as the worker wrote them, but for the line itself.
    assert records[0].value().replace(b"one", b"last") == records[3].value()
    assert [one.key() for one in records] == [one.key() for one in before] + [None, None]
