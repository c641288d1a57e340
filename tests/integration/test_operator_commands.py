"""Commands of an operator's first hour, on real brokers: traffic, why a link is slow, racks of a cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import engine_running
from typer.testing import CliRunner

from twinlog.errors import UsageError
from twinlog.local.cluster import LocalCluster
from twinlog.surface.cli.main import app


def asked(*arguments: str, code: int = 0) -> Any:
    answer = CliRunner().invoke(app, [*arguments, "-o", "json"])
    assert answer.exit_code == code, (answer.output, answer.exception)
    return json.loads(answer.stdout)


def of(cluster: LocalCluster) -> tuple[str, ...]:
    return cluster.folder.name, "--dir", str(cluster.folder.parent)


def test_records_and_a_group_without_any_other_kafka_client(make_ends: Callable[..., Ends]) -> None:
    ends = make_ends()
    topic, (name, *home) = ends.name("tour"), of(ends.source_cluster)
    sent = asked("local", "produce", name, topic, "--rate", "200", "--seconds", "1.5", "--partitions", "2", *home)
    assert sent["acknowledged"] > 50
    read = asked("local", "consume", name, topic, "--group", topic, "--records", str(sent["acknowledged"]), *home)
    assert (read["records"], read["again"], read["unsound"]) == (sent["acknowledged"], 0, 0)
    again = asked("local", "consume", name, topic, "--group", topic, "--seconds", "4", *home, code=1)
    assert again["records"] == 0  # the position was committed
    wrong = CliRunner().invoke(app, ["local", "produce", "nope", topic, *home])
    assert isinstance(wrong.exception, UsageError)


def test_advice_for_a_link_that_keeps_up_and_for_one_whose_engine_is_elsewhere(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends()
    ends.load(ends.create("orders"), 1).produce(50)
    file = str(ends.write_file(tmp_path))
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
        told = asked("advise", ends.link.name, "-c", file, "--seconds", "2", "--capacity")
    assert told["bottleneck"]["place"] == "none"
    assert "it is not slow" in told["bottleneck"]["sentence"]
    assert any(
        one.startswith("round trip to the target: ") and "unknown" not in one for one in told["bottleneck"]["figures"]
    )
    assert told["capacity"]["records_per_second"] is None
    assert told["capacity"]["why"]
    never = make_ends()
    never.create("orders")
    silent = asked("advise", never.link.name, "-c", str(never.write_file(tmp_path)), "--seconds", "1")
    assert silent["bottleneck"]["place"] in {"unknown", "none"}


@pytest.mark.parametrize("cluster", ["source", "target"])
def test_a_cluster_without_racks_is_no_stretch_cluster(
    make_ends: Callable[..., Ends], tmp_path: Path, cluster: str
) -> None:
    ends = make_ends()
    ends.create("orders")
    alias = getattr(ends.link, cluster)
    found = asked("doctor", "--stretch", alias, "-c", str(ends.write_file(tmp_path)), "--trip-ms", "4", code=1)
    verdicts = {one["name"]: one["verdict"] for one in found["checks"]}
    assert (verdicts["racks"], verdicts["fit"]) == ("fail", "ok")
