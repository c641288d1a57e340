"""One JVM per session: what a stopped session leaves, and what the next one of the process runs in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twinlog.spark.place import SparkPlace, spark_session
from twinlog.spark.session import stop_session


def test_a_stopped_session_leaves_no_jvm_and_the_next_one_has_its_own(tmp_path: Path) -> None:
    pids = []
    for folder in (tmp_path / "a-folder-whose-path-is-too-long-for-the-path-of-a-socket" / "first", tmp_path / "2"):
        folder.mkdir(parents=True)
        started = spark_session(SparkPlace(), 2, folder)
        gateway: Any = started.sparkContext._gateway
        pids.append(gateway.proc.pid)
        assert gateway.jvm.java.lang.System.getProperty("java.io.tmpdir") == str(folder)
        assert started.range(10).count() == 10
        stop_session(started)
        assert not Path(f"/proc/{pids[-1]}").exists()
    assert len(set(pids)) == 2
