"""Asks whether anything grows, gets lost or comes twice in an hour under a changing load."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from bench.census import end_offsets
from bench.clusters import Pair, two_clusters
from bench.copying import MirrorFailed
from bench.options import Options
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, output_tail, running
from bench.report import listed, table
from bench.soak.check import Verdict
from bench.soak.load import PHASE_S
from bench.soak.reading import ledger_bytes, read_processes
from bench.soak.series import Trend, trend
from confluent_kafka import Consumer

SEED = 20_261_117
PARTITIONS = 6
LOOK_EVERY_S = 5.0
_TOPIC_WITHIN_S = 180.0
LEDGER = "own topics on the target: MiB"
_RETENTION = {"retention.bytes": str(48 << 20), "segment.bytes": str(12 << 20)}


def answer(options: Options) -> str:
    """Run it; return the page's section."""
    seconds, warm_up_s = (360.0, 120.0) if options.quick else (3600.0, 600.0)
    with two_clusters() as pair:
        verdict, times, readings = _soak(pair, seconds)
    kept = [index for index, at in enumerate(times) if at >= warm_up_s]
    names = sorted({name for reading in readings for name in reading})
    trends = {
        name: trend([times[index] for index in kept], [readings[index].get(name, 0.0) for index in kept])
        for name in names
    }
    return "\n\n".join(_section(verdict, trends, seconds, warm_up_s))


def _soak(pair: Pair, seconds: float) -> tuple[Verdict, list[float], list[dict[str, float]]]:
    errand = Errand(pair, 1, "soak", PARTITIONS)
    pair.source.create(errand.topic, PARTITIONS, _RETENTION)
    where = [pair.source.servers, errand.topic, str(PARTITIONS)]
    times: list[float] = []
    readings: list[dict[str, float]] = []
    with running(TWINLOG, errand) as mirror, _reading_group(pair, errand.topic):
        _await_topic(mirror, errand)
        load = _start("bench.soak.load", *where, str(seconds), str(SEED))
        check = _start("bench.soak.check", pair.target.servers, errand.remote, str(PARTITIONS))
        began, root = time.monotonic(), psutil.Process(mirror.pid)
        for number in itertools.count(1):
            if mirror.poll() is not None or check.poll() is not None:
                raise MirrorFailed(f"the mirror or the checker ended:\n{output_tail(errand)}")
            readings.append(read_processes(root) | {LEDGER: ledger_bytes(pair.folder / "target")})
            times.append(time.monotonic() - began)
            if load.poll() is not None:
                break
            if number % 60 == 0:
                print(f"  {times[-1] / 60:.0f} min: {readings[-1]}", flush=True)
            time.sleep(LOOK_EVERY_S)
        sent = json.loads(load.communicate()[0])
        told, _ = check.communicate(json.dumps(sent))
    return Verdict(**json.loads(told)), times, readings


def _await_topic(mirror: subprocess.Popen[bytes], errand: Errand) -> None:
    deadline = time.monotonic() + _TOPIC_WITHIN_S
    while end_offsets(errand.pair.target, errand.remote, PARTITIONS) is None:
        if mirror.poll() is not None or time.monotonic() > deadline:
            raise MirrorFailed(f"{errand.remote} was not created:\n{output_tail(errand)}")
        time.sleep(1)


def _start(module: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextmanager
def _reading_group(pair: Pair, topic: str) -> Iterator[None]:
    """A consumer group of the source that reads and commits while the block lasts."""
    ended = threading.Event()

    def read() -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": pair.source.servers,
                "group.id": "soak-readers",
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 1000,
            }
        )
        consumer.subscribe([topic])
        while not ended.is_set():
            consumer.consume(1000, 0.5)
        consumer.close()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        ended.set()
        reader.join()


def _section(verdict: Verdict, trends: dict[str, Trend], seconds: float, warm_up_s: float) -> Iterator[str]:
    yield (
        f"{seconds / 60:.0f} minutes, {PARTITIONS} partitions, a new rate every {PHASE_S:.0f} s. "
        f"{verdict.records:,} records: {verdict.lost:,} lost, {verdict.doubled:,} doubled or out of order."
    )
    yield f"Readings after the first {warm_up_s / 60:.0f} minutes:"
    yield table(
        ["figure", "mean", "growth", "spread around the line", "allowed growth", "verdict"],
        (
            [
                name,
                *(f"{value:,.1f}" for value in (line.middle, line.growth, line.spread, line.allowed)),
                "flat" if line.is_flat else "**grows**",
            ]
            for name, line in trends.items()
        ),
    )
    yield "### Settings"
    yield listed({TWINLOG.title: TWINLOG.settings, "retention of the topic": json.dumps(_RETENTION)})
