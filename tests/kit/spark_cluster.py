"""A standalone Spark cluster as processes of this machine: a master and two workers, each on a host of its own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pyspark
from tests.kit.waiting import wait_until

from twinlog.machine.java import spark_java_home

PATIENCE_S = 150.0
SPARK = Path(pyspark.__file__).parent
# Hosts must differ: Spark never puts two attempts of a task on one.
HOSTS = ("127.0.0.1", "127.0.0.2")


@contextmanager
def spark_cluster(folder: Path) -> Iterator[str]:
    """Its address, while the block runs. A worker has two slots. Logs of executors are in `folder`/work."""
    with ExitStack() as stack:
        master = stack.enter_context(spark_process(folder, "master.Master", "--host", HOSTS[0], "--port", "0"))
        address = wait_until(
            lambda: [word for word in master.read_text(errors="replace").split() if word.startswith("spark://")],
            bool,
            within_s=PATIENCE_S,
            what="the address of the master",
        )[0].rstrip(",.")
        for host in HOSTS:
            stack.enter_context(
                spark_process(folder, "worker.Worker", "--host", host, "--cores", "2", "-m", "1g", address)
            )
        wait_until(
            lambda: master.read_text(errors="replace").count("Registering worker"),
            lambda count: count == len(HOSTS),
            within_s=PATIENCE_S,
            what="two workers",
        )
        yield address


def executors() -> list[psutil.Process]:
    """The JVMs of executors that this test's workers started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


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
