"""A Spark cluster of its own processes, which speculates: two attempts of a task at once, on two executors."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pyspark
import pytest
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run
from tests.kit.waiting import wait_until

from twinlog.machine.java import spark_java_home

MakeEnds = Callable[..., Ends]

PATIENCE_S = 150.0
SPARK = Path(pyspark.__file__).parent
# Hosts must differ: Spark never puts two attempts of a task on one.
HOSTS = ("127.0.0.1", "127.0.0.2")
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
    """A standalone cluster with a worker of one slot on each of two hosts."""
    with ExitStack() as stack:
        master = stack.enter_context(spark_process(tmp_path, "master.Master", "--host", HOSTS[0], "--port", "0"))
        address = wait_until(
            lambda: [word for word in master.read_text(errors="replace").split() if word.startswith("spark://")],
            bool,
            within_s=PATIENCE_S,
            what="the address of the master",
        )[0].rstrip(",.")
        for host in HOSTS:
            stack.enter_context(
                spark_process(tmp_path, "worker.Worker", "--host", host, "--cores", "2", "-m", "1g", address)
            )
        wait_until(
            lambda: master.read_text(errors="replace").count("Registering worker"),
            lambda count: count == len(HOSTS),
            within_s=PATIENCE_S,
            what="two workers",
        )
        yield address


class spark_process:  # noqa: N801  used as `with spark_process(...)`
    """One daemon of Spark while the block runs; yields its log."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self._log = folder / f"{name}-{time.monotonic_ns()}.log"
        work = ("--work-dir", str(folder / "work")) if name.startswith("worker") else ()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(Path(spark_java_home(), "bin", "java")),
                    *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                    *("-cp", str(SPARK / "jars" / "*")),
                    *(f"org.apache.spark.deploy.{name}", *arguments[:-1], *work, arguments[-1]),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # What Spark's start scripts would tell it.
                env=os.environ
                | {"SPARK_HOME": str(SPARK), "SPARK_SCALA_VERSION": "2.13", "JAVA_HOME": str(spark_java_home())},
            )

    def __enter__(self) -> Path:
        return self._log

    def __exit__(self, *_: object) -> None:
        family = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        self._process.wait(20)
        for process in family:
            if process.is_running():
                process.kill()
        psutil.wait_procs(family, timeout=20)


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
