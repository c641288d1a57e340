"""Asks how fast `twinlog verify` compares both logs, beside plain consumers that only read one of them."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.clusters import two_clusters
from bench.copying import copy_once
from bench.datasets import SETS, DataSet
from bench.loading import load
from bench.options import Options
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand
from bench.report import amount, table
from confluent_kafka import Consumer, TopicPartition

from twinlog.local.jars import KAFKA, class_path, resolve
from twinlog.machine.java import find_java

ASKED = ("small-lz4", "small-none", "large-zstd", "large-none", "tiny")
_CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Reading:
    """One reading of the data: how long, and how many bytes of logs went by."""

    seconds: float
    bytes: int
    wall_s: float  # with the start of the process

    @property
    def gigabytes_per_second(self) -> float:
        return self.bytes / 1e9 / self.seconds


class NotEqual(Exception):
    """The copy under measurement is not equal: the figures would mean nothing."""


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    rows: list[list[str]] = []
    with two_clusters() as pair:
        for data in (one.scaled(options.scale) for one in SETS if one.name in ASKED and options.wants_set(one.name)):
            print(f"{data.title}: loading {data.total:,} records", flush=True)
            pair.source.clear()
            load(pair.source, data.name, data)
            errand = Errand(pair, next(_numbers), data.name, data.partitions)
            copy_once(TWINLOG, errand, data)
            size, readers = 0, _readers(errand, data)
            runs: dict[str, list[Reading]] = {title: [] for title, _ in readers}
            for _ in range(options.rounds):
                for title, read in readers:
                    run = read(size)
                    size = size or run.bytes // 2
                    runs[title].append(run)
                    print(f"  {title}: {run.gigabytes_per_second:.3f} GB/s in {run.seconds:.1f} s", flush=True)
            rows += _rows(data, runs)
            pair.target.clear()
    head = ["reader", "data", "GB/s", "M records/s", "seconds", "with start"]
    words = (
        "GB of logs a second; `verify` reads both clusters and compares, the others read one. Medians of the rounds:"
    )
    return f"{words}\n\n{table(head, rows)}"


def _readers(errand: Errand, data: DataSet) -> list[tuple[str, Callable[[int], Reading]]]:
    """Verification first: it counts the bytes that the others read, too."""
    return [
        ("twinlog verify", lambda _: _verify(errand)),
        ("plain consumer", lambda size: _consume(errand, data, size)),
        ("console consumer", lambda size: _console(errand, data, size)),
    ]


def _verify(errand: Errand) -> Reading:
    began = time.monotonic()
    file = errand.folder / "links.properties"
    command = [sys.executable, "-m", "twinlog", "verify", f"{errand.source}->{errand.target}"]
    done = subprocess.run([*command, "-c", str(file), "-o", "json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotEqual(done.stdout + done.stderr)
    found = json.loads(done.stdout)
    return Reading(found["took_seconds"], found["source_bytes"] + found["target_bytes"], time.monotonic() - began)


def _consume(errand: Errand, data: DataSet, size: int) -> Reading:
    began = time.monotonic()
    consumer = Consumer({"bootstrap.servers": errand.pair.source.servers, "group.id": "bench"})
    try:
        consumer.assign([TopicPartition(data.name, p, 0) for p in range(data.partitions)])
        left = data.total
        while left > 0:
            left -= len(consumer.consume(10_000, 1.0))
        took = time.monotonic() - began
    finally:
        consumer.close()
    return Reading(took, size, took)


def _console(errand: Errand, data: DataSet, size: int) -> Reading:
    began = time.monotonic()
    java = find_java()
    options = ["--bootstrap-server", errand.pair.source.servers, "--topic", data.name, "--from-beginning"]
    command = [str(java.java), "-cp", class_path(resolve(KAFKA)), _CONSOLE, *options]
    subprocess.run(
        [*command, "--max-messages", str(data.total)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    took = time.monotonic() - began
    return Reading(took, size, took)


def _rows(data: DataSet, runs: dict[str, list[Reading]]) -> Iterator[list[str]]:
    for title, some in runs.items():
        seconds = statistics.median(run.seconds for run in some)
        yield [
            title,
            data.title,
            f"{statistics.median(run.gigabytes_per_second for run in some):.3f}",
            amount(data.total / seconds / 1e6),
            f"{seconds:.2f}",
            f"{statistics.median(run.wall_s for run in some):.1f}",
        ]
