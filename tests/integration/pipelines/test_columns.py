"""Documents as Arrow columns through Spark: what columns cannot tell comes out by expressions, and nothing is lost.

Also sinks that rest: they give their tasks back, and wake up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kit.file_pipelines import SINK
from tests.kit.pipelines import PATIENCE_S, pipelines, produce
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(300)
KAFKA = "org.apache.kafka.connect.transforms"
PLAIN = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
}  # fmt: skip
STEPS = {
    "transforms": "add,cast", "transforms.add.type": f"{KAFKA}.InsertField$Value", "transforms.add.offset.field": "at",
    "transforms.cast.type": f"{KAFKA}.Cast$Value", "transforms.cast.spec": "id:string",
}  # fmt: skip


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.proves("R30")
def test_documents_that_columns_cannot_tell_follow_the_others_in_order(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    out, many = tmp_path / "out", 12_000  # more than two batches
    flat: list[dict[str, Any]] = [{"id": n, "name": f"n{n}", "price": n / 7} for n in range(many)]
    odd: list[dict[str, Any]] = [{"id": many, "name": ["a", {"b": None}], "price": 1}, {"id": "x", "price": None}]
    documents = [*flat, *odd, *flat[:10]]
    produce(source_cluster, "mixed-documents", [(b"k", json.dumps(one).encode()) for one in documents])
    wanted = [one | {"id": str(one["id"]), "at": at} for at, one in enumerate(documents)]
    with pipelines(spark, source_cluster, tmp_path) as worker:
        sink = worker.start("columns-out", SINK | PLAIN | STEPS | {"file": str(out), "topics": "mixed-documents"})
        assert isinstance(sink.planner, SinkPlanner)
        wait_until(
            lambda: len(lines_of(out)), lambda count: count >= len(wanted), within_s=PATIENCE_S, what="all of them"
        )
        assert sink.planner._unfit_until > 0, "no batch was left to expressions"
        assert sink.progress.epochs >= 2
    assert lines_of(out) == wanted


def test_a_sink_that_rests_has_no_tasks_and_wakes_up(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    config = SINK | PLAIN | {"file": str(out), "topics": "rare", "idle.ms": "300"}
    with pipelines(spark, source_cluster, tmp_path) as worker:
        produce(source_cluster, "rare", [(None, b"1")])
        sink = worker.start("rare-out", config)
        for number in (2, 3):
            before = list(range(1, number))
            wait_until(lambda: lines_of(out), before.__eq__, within_s=PATIENCE_S, what="the record")
            wait_until(lambda: sink._job, lambda job: job is None, within_s=PATIENCE_S, what="the end of the epoch")
            assert sink.progress.state == "RUNNING"
            produce(source_cluster, "rare", [(None, str(number).encode())])
        wait_until(lambda: lines_of(out), lambda lines: lines == [1, 2, 3], within_s=PATIENCE_S, what="all records")
