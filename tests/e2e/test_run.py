"""The life of an engine as an operator sees it: start, status, fault, clean stop, restart; secure clusters."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.engine import EngineProcess, twinlog, twinlog_run
from tests.kit.records import Shape
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.local.cluster import LocalCluster
from twinlog.surface.cli.main import app

MakeEnds = Callable[..., Ends]
MakeCluster = Callable[..., LocalCluster]

PATIENCE_S = 120.0
pytestmark = pytest.mark.timeout(600)


def status_of(engine: EngineProcess) -> dict[str, Any]:
    """What `twinlog status` answers, and its exit code."""
    answer = twinlog("status", "-c", str(engine.file), "-o", "json")
    (link,) = json.loads(answer.stdout)
    return {**link, "exit": answer.returncode}


def await_status(engine: EngineProcess, accept: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
    """The same command in this process: a new one for every look would take the engine's time."""

    def look() -> dict[str, Any]:
        answer = CliRunner().invoke(app, ["status", "-c", str(engine.file), "-o", "json"])
        (link,) = json.loads(answer.stdout)
        return {**link, "exit": answer.exit_code}

    return wait_until(look, accept, within_s=PATIENCE_S, what=what)


def set_limit(ends: Ends, topic: str, max_bytes: str | None) -> None:
    """Change how large a batch the target topic takes."""
    remote = ends.remote(topic)
    assert ends.target.apply_topic_configs({remote: {"max.message.bytes": max_bytes}}) == {remote: None}


def at_rest(status: dict[str, Any]) -> bool:
    """Heartbeats are under way every second: the lag is 0 only between two of them."""
    return bool(status["state"] == "RUNNING" and status["lag_records"] < 5)


@pytest.mark.proves("R1", "R2", "R3", "R4", "R7", "R8", "R14")
def test_a_clean_stop_takes_less_than_ten_seconds_and_the_next_start_continues(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends(tasks_max="2")
    loads = [
        ends.load(ends.create(codec, 2), 2, compression=codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")
    ]
    for load in loads:
        load.produce(1_000)
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(within_s=PATIENCE_S)
        status = await_status(engine, at_rest, "a running link")
        assert (status["exit"], status["fault_list"]) == (0, [])
        timed = await_status(engine, lambda s: "note" in s["stages"], "times of records that went through Spark")
        assert timed["stages"]["parcel"]["p50_ms"] > 0

        guilty = loads[0].topic
        set_limit(ends, guilty, "30000")
        ends.load(guilty, 2, seed=2, shape=Shape.PLAIN, max_record_bytes=60_000).produce(1, partition=0)
        status = await_status(engine, lambda s: bool(s["fault_list"]), "a fault")
        assert (status["exit"], status["state"]) == (1, "DEGRADED")
        assert [(f["code"], f["facts"]["offset"]) for f in status["fault_list"]] == [("RECORD_TOO_LARGE", 500)]
        assert "max.message.bytes" in status["fault_list"][0]["remedy"]

        with loads[-1].in_background(rate=500):
            before = time.monotonic()
            assert engine.stop() == 0
            assert time.monotonic() - before < 10
        status = status_of(engine)
        assert (status["exit"], status["state"]) == (1, "STOPPED")
    set_limit(ends, guilty, None)
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(within_s=PATIENCE_S)
        await_status(engine, at_rest, "a healthy link")
    assert ends.check().target_records == 1 + sum(load.count for load in loads)


@pytest.mark.proves("R1", "R4", "R12")
def test_secure_clusters_are_mirrored_and_no_password_appears_anywhere(
    secure_cluster: LocalCluster, make_cluster: MakeCluster, tmp_path: Path
) -> None:
    source, target = secure_cluster, make_cluster("west", secure=True)
    ends = Ends(source, target)
    name = ends.create("orders", 2)
    ends.load(name, 2).produce(1_000)
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(within_s=PATIENCE_S)
        answers = [
            twinlog(*command, "-c", str(engine.file)) for command in (("status",), ("status", "-p"), ("validate",))
        ]
        assert [answer.returncode for answer in answers] == [0, 0, 0]
        command_lines = engine.command_lines()
        files = [path.read_text(errors="replace") for path in engine.scratch.rglob("*") if path.is_file()]
        assert engine.stop() == 0
    assert ends.check(name).target_records == 1_000
    said = [engine.output, *command_lines, *files, *(answer.stdout + answer.stderr for answer in answers)]
    for cluster in (source, target):
        assert cluster.password("admin") not in "\n".join(said)


@pytest.mark.proves("R12", "R14")
def test_a_wrong_file_is_explained_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "links.properties"
    secret = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter2";'
    file.write_text(
        "clusters = A, B\nA.bootstrap.servers = 127.0.0.1:1\nA->B.enabled = true\n"
        f"A->B.tasks.max = many\nA.sasl.jaas.config = {secret}\n"
    )
    answer = twinlog("run", "-c", str(file))
    assert answer.returncode == 2
    assert "B.bootstrap.servers" in answer.stderr
    assert "tasks.max" in answer.stderr
    assert "many" in answer.stderr
    assert "hunter2" not in answer.stdout + answer.stderr
