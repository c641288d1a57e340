"""What the mirror costs: by role, with every process counted once, and a processor time that never falls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.surface.metrics.processes import process_families
from twinlog.watch.processes import ProcessCosts

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
SPARK = "java\0-cp\0x\0org.apache.spark.deploy.SparkSubmit\0"


class Paper(NamedTuple):
    """A process on paper."""

    pid: int
    parent: int
    own_s: int = 0
    children_s: int = 0
    command: str = "python\0"
    pss_kib: int | None = None
    started: int = 7


def write(proc: Path, *processes: Paper) -> None:
    for old in proc.glob("*/*"):
        old.unlink()
    for one in processes:
        folder = proc / str(one.pid)
        folder.mkdir(parents=True, exist_ok=True)
        numbers = ["0"] * 49
        numbers[10:14] = [str(one.own_s * TICKS), "0", str(one.children_s * TICKS), "0"]
        numbers[18], numbers[20] = str(one.started), "10"
        numbers[0] = str(one.parent)
        (folder / "stat").write_text(f"{one.pid} (a) name (of) S {' '.join(numbers)}\n")
        (folder / "cmdline").write_text(one.command)
        if one.pss_kib is not None:
            (folder / "smaps_rollup").write_text(f"0-1 ---p\nRss: 999 kB\nPss:   {one.pss_kib} kB\n")


def test_each_process_of_the_mirror_is_counted_once_and_no_other(tmp_path: Path) -> None:
    write(
        tmp_path,
        Paper(1, 0, 500),
        Paper(10, 1, 3),
        Paper(11, 10, 20, 5, SPARK),
        Paper(12, 10, 900, 0, "java\0kafka.Kafka\0"),
        Paper(20, 11, 2, 8, pss_kib=4),
        Paper(21, 20, 6, pss_kib=3),
        Paper(22, 20, 7),
    )
    found = ProcessCosts(tmp_path, 10).look()
    assert found["service"] == (1, 3, 10 * PAGE)
    assert found["jvm"] == (1, 20, 10 * PAGE)
    assert found["worker"] == (3, 5 + 2 + 8 + 6 + 7, 7 * 1024 + 10 * PAGE)


def test_before_spark_begins_there_is_the_service_alone(tmp_path: Path) -> None:
    write(tmp_path, Paper(10, 1, 3))
    assert set(ProcessCosts(tmp_path, 10).look()) == {"service"}
    assert ProcessCosts(tmp_path / "no-proc-here", 10).look() == {}


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 50), max_size=3)), min_size=2, max_size=8))
def test_processor_time_never_falls(
    tmp_path_factory: pytest.TempPathFactory, looks: list[tuple[int, list[int]]]
) -> None:
    """Whatever JVM is there (its number comes again), and whoever of its workers is gone."""
    proc = tmp_path_factory.mktemp("proc")
    process_costs = ProcessCosts(proc, 10)
    last = 0.0
    for jvm, workers in looks:
        write(
            proc,
            Paper(10, 1),
            Paper(11, 10, 1, 0, SPARK, started=jvm),
            *(Paper(20 + place, 11, spent) for place, spent in enumerate(workers)),
        )
        now = process_costs.look()["worker"].cpu_s
        assert now >= last
        last = now


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_the_kernel_tells_it_of_real_processes() -> None:
    wait = "import sys; sys.stdin.read()"
    child = subprocess.Popen([sys.executable, "-c", wait, "org.apache.spark.deploy.SparkSubmit"], stdin=subprocess.PIPE)
    try:
        found = ProcessCosts().look()
    finally:
        child.communicate(b"")
    assert found["jvm"].processes == 1
    assert found["service"].cpu_s > 0
    assert found["service"].memory_bytes > found["jvm"].memory_bytes > 0
    told = {family.name for family in process_families()}
    assert {"twinlog_processes", "twinlog_process_cpu_seconds", "process_cpu_seconds"} <= told


def test_many_who_ask_at_once_stop_the_workers_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process_costs = ProcessCosts(tmp_path, 10)
    write(tmp_path, Paper(10, 1, 3))
    before = process_costs.lately()
    write(tmp_path, Paper(10, 1, 5))
    assert process_costs.lately() is before
    monkeypatch.setattr("twinlog.watch.processes.KEPT_SECONDS", 0.0)
    assert process_costs.lately()["service"].cpu_s == 5
