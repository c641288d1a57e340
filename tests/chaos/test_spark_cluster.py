"""A Spark cluster of its own processes: a link with two attempts of a task at once, pipelines whose executors die."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.kit.connect_process import connect_process, worker_config
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run
from tests.kit.jdbc_copies import NOTHING, differences, in_background, insert, jdbc_pair, rows_of
from tests.kit.pipelines import committed_values
from tests.kit.postgres import postgres
from tests.kit.spark_cluster import executors, spark_cluster
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

MakeEnds = Callable[..., Ends]

PATIENCE_S = 150.0
EAGER = (
    "spark.speculation=true",
    "spark.speculation.interval=200ms",
    "spark.speculation.task.duration.threshold=4s",
    "spark.task.maxFailures=1000",
    "spark.driver.host=127.0.0.1",
    "spark.executor.memory=512m",
)
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]


@pytest.fixture
def spark_master(tmp_path: Path) -> Iterator[str]:
    with spark_cluster(tmp_path) as address:
        yield address


@pytest.mark.proves("R1", "R2", "R3", "R9")
def test_speculation_on_a_spark_cluster_writes_every_record_once(
    make_ends: MakeEnds, tmp_path: Path, spark_master: str
) -> None:
    ends = make_ends(tasks_max="1", epoch_seconds="60")
    name = ends.create("orders", 4)
    load = ends.load(name, 4)
    options = [f"--spark-conf={option}" for option in EAGER]
    with twinlog_run(ends, tmp_path, "--master", spark_master, *options) as engine:
        with load.in_background(rate=500):
            await_copies(ends, 1_000)
            await_shut_out(tmp_path)
            await_copies(ends, 3_000)
        ends.await_copied(within_s=PATIENCE_S)
        assert engine.exit_code is None
    assert ends.check(name).source_records == load.count


def await_shut_out(folder: Path) -> None:
    """The second attempt took over from the first, which was at work and was told so."""
    wait_until(
        lambda: [
            log for log in folder.glob("work/app-*/*/stderr") if "OwnershipLost" in log.read_text(errors="replace")
        ],
        bool,
        within_s=PATIENCE_S,
        what="an attempt that was shut out",
    )


def await_copies(ends: Ends, more: int) -> None:
    """Wait for so many more records to be copied."""

    def copied() -> int:
        return sum(part.records for part in ends.status().partitions)

    before = copied()
    wait_until(copied, lambda now: now >= before + more, within_s=PATIENCE_S, what=f"{more} more copies")


@pytest.mark.proves("R30")
def test_pipelines_on_a_spark_cluster_lose_and_double_nothing_when_executors_die(
    source_cluster: LocalCluster, tmp_path: Path, spark_master: str
) -> None:
    config = worker_config(source_cluster, "on-spark")
    options = [f"--spark-conf={option}" for option in ("spark.driver.host=127.0.0.1", "spark.executor.memory=512m")]
    with postgres(tmp_path / "pg") as db:
        db.run("CREATE TABLE spread (id BIGSERIAL PRIMARY KEY, name TEXT)")
        source, sink = jdbc_pair(db, "spread")
        with connect_process(config, tmp_path, "--master", spark_master, *options) as worker:
            worker.put("rows-in", source)
            worker.put("rows-out", sink)
            dice = random.Random(7)
            with in_background(lambda number: insert(db, "spread", number), 0.1):
                for _ in range(3):
                    before = rows_of(db, "copy_spread").total()
                    wait_until(
                        lambda: rows_of(db, "copy_spread").total(),
                        lambda now, least=before: now > least,  # type: ignore[misc]
                        within_s=PATIENCE_S,
                        what="news",
                    )
                    dice.choice(wait_until(executors, bool, within_s=PATIENCE_S, what="an executor")).kill()
            want = rows_of(db, "spread")
            wait_until(
                lambda: differences(want, rows_of(db, "copy_spread")),
                lambda found: found == NOTHING,
                within_s=PATIENCE_S,
                what="the copy",
            )
            assert not [one for one in worker.family() if "pyspark.worker" in " ".join(one.cmdline())], (
                "the work was done by executors, not here"
            )
    found = Counter(value["payload"]["id"] for value in committed_values(source_cluster, "spread"))
    assert differences(Counter(key for key, _ in want), found) == NOTHING
