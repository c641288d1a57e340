"""Asks whether one JVM serves the mirror and tables, or whether each needs its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from bench.clusters import two_clusters
from bench.datasets import SETS
from bench.options import Options
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, Peer
from bench.report import listed, table
from bench.rounds import medians_table, rounds_table, run_rounds

from twinlog.spark.work import TABLES

_SET = "small-lz4"


@dataclass(frozen=True)
class WithTablesJvm:
    """Twinlog with the JVM that tables want: the second compiler, the parallel collector, 1 GB."""

    name: str = "tables-jvm"
    title: str = "Twinlog, JVM for tables"
    settings: str = f"--spark-conf spark.driver.extraJavaOptions={TABLES.jvm}, spark.driver.memory=1g"

    def command(self, errand: Errand) -> list[str]:
        options = {"spark.driver.extraJavaOptions": TABLES.jvm, "spark.driver.memory": "1g"}
        more = [word for name, value in options.items() for word in ("--spark-conf", f"{name}={value}")]
        return [*TWINLOG.command(errand), *more]


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    found = {kind: _tables(kind) for kind in ("mirror", "tables")}
    rows = [
        [
            f"JVM for {'batches of the mirror' if kind == 'mirror' else 'tables'}",
            *(f"{statistics.median(one[name]):.1f} ({min(one[name]):.1f} to {max(one[name]):.1f})" for name in _TIMES),
            f"{one['started_s']} s",
            f"{one['idle_mb']} / {one['worked_mb']} MB",
        ]
        for kind, one in found.items()
    ]
    peers: list[Peer] = [TWINLOG, WithTablesJvm()]
    (data,) = (one.scaled(options.scale) for one in SETS if one.name == _SET)
    with two_clusters() as pair:
        runs = run_rounds(pair, data, peers, options.rounds)
    head = ["process", "expressions, µs per row", "Arrow through Python, µs per row", "start", "JVM idle / after work"]
    parts = [
        "### Tables",
        table(head, rows),
        "### The mirror",
        f"{data.total:,} records, {data.gigabytes:.2f} GB of values, {data.title}. Medians of the rounds:",
        medians_table(runs, peers),
        "All rounds:",
        rounds_table(runs, peers),
        listed({peer.title: peer.settings for peer in peers}),
    ]
    return "\n\n".join(parts)


_TIMES = ("expressions_us", "arrow_us")


def _tables(kind: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.spark_work.tables", kind]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise RuntimeError(f"work on tables in the JVM for {kind}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
