"""Replicator's connector file as an operator has it: `twinlog run` and `twinlog status` take it as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.checker import check_load
from tests.kit.ends import Ends
from tests.kit.engine import twinlog, twinlog_run
from tests.kit.waiting import wait_until

MakeEnds = Callable[..., Ends]
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


@pytest.mark.proves("R1", "R2")
def test_a_connector_file_runs_as_it_is(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    topic = ends.create("orders", 2)
    load = ends.load(topic, 2)
    load.produce(500)
    file = tmp_path / "replicator.json"
    config = {
        "connector.class": "io.confluent.connect.replicator.ReplicatorSourceConnector",
        "src.kafka.bootstrap.servers": ends.source_cluster.client_properties()["bootstrap.servers"],
        "dest.kafka.bootstrap.servers": ends.target_cluster.client_properties()["bootstrap.servers"],
        "topic.whitelist": topic,
        "topic.rename.format": "${topic}.copy",
        "topic.poll.interval.ms": 1000,
        "src.consumer.group.id": "replicator",
        "tasks.max": "1",
    }
    file.write_text(json.dumps({"name": f"{ends.alias}-to-T", "config": config}, indent=2))
    with twinlog_run(ends, tmp_path, settings=file) as engine:
        ends.await_topic(ends.target, f"{topic}.copy", 2)

        def copied() -> int:
            (status,) = json.loads(twinlog("status", "-c", str(file), "-o", "json").stdout)
            return sum(part["records"] for part in status["partition_list"])

        wait_until(copied, lambda count: count == 500, within_s=60, what="500 copies")
        assert engine.stop() == 0
    verdict = check_load(load, ends.target_logs, f"{topic}.copy")
    assert verdict.ok, str(verdict)
