"""Records that the broker refuses: the source fails in sight of all, stores no position, and goes on when it may."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kit.file_pipelines import SOURCE
from tests.kit.pipelines import PATIENCE_S, committed_values, pipelines
from tests.kit.waiting import wait_until

from twinlog.kafka.admin import ClusterAdmin
from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.worker_settings import read_worker
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(240)
TOPIC = "refused-lines"


def allow(cluster: LocalCluster, size: int) -> None:
    admin = ClusterAdmin(read_worker({"bootstrap.servers": cluster.bootstrap_servers}).cluster)
    assert admin.apply_topic_configs({TOPIC: {"max.message.bytes": str(size)}}) == {TOPIC: None}


@pytest.mark.chaos
@pytest.mark.proves("R30", "R31")
def test_a_record_larger_than_its_topic_allows_fails_the_source_and_is_not_passed_over(
    spark: Session, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    told = tmp_path / "in.txt"
    lines = ["first", "x" * 5_000, "last"]
    told.write_text("".join(f"{line}\n" for line in lines))
    config = SOURCE | {
        "file": str(told), "topic": TOPIC, "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "1", "topic.creation.default.max.message.bytes": "1000",
    }  # fmt: skip
    with pipelines(spark, source_cluster, tmp_path) as worker:
        source = worker.start("refused-in", config)
        wait_until(
            lambda: (source.progress.state, source.progress.trace),
            lambda seen: seen[0] == "FAILED" and "MSG_SIZE_TOO_LARGE" in seen[1] and TOPIC in seen[1],
            within_s=PATIENCE_S,
            what="the failure with its cause",
        )
        assert committed_values(source_cluster, TOPIC) == []
        assert (source.progress.totals()["written"], source.progress.positions) == (0, {})
        allow(source_cluster, 100_000)
        wait_until(
            lambda: source.progress.totals()["written"], lambda n: n == 3, within_s=PATIENCE_S, what="all three lines"
        )
    assert committed_values(source_cluster, TOPIC) == lines
