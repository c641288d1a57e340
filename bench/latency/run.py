"""Asks how long a record is on its way, from the producer's hand to the consumer's."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.census import end_offsets
from bench.clusters import End, Pair, two_clusters
from bench.copying import MirrorFailed
from bench.goals import latency_goals
from bench.latency.percentiles import RANKS
from bench.options import Options
from bench.peers.mirrormaker import DEFAULT
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, Peer, output_tail, running
from bench.report import listed, table
from confluent_kafka import Producer

RATES = (1000, 20_000)
PARTITIONS = 6
FLOOR = "source cluster alone"
_PEERS: tuple[Peer, ...] = (DEFAULT, TWINLOG)
_PROBES_WITHIN_S = 180.0
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Times:
    """How long to wait and how long to measure."""

    warm_up_s: float
    seconds: float


@dataclass(frozen=True)
class LatencyRun:
    """What one consumer saw."""

    count: int
    lost: int
    doubled: int
    ms: dict[str, float]

    @property
    def verdict(self) -> str:
        parts = [f"{name} {n:,}" for name, n in (("LOST", self.lost), ("DOUBLED", self.doubled)) if n]
        return ", ".join(parts) or "all once"


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    times = Times(3, 8) if options.quick else Times(10, 45)
    peers = [peer for peer in _PEERS if options.wants_peer(peer.name)]
    results: dict[int, dict[str, list[LatencyRun]]] = {}
    with two_clusters() as pair:
        for rate in RATES:
            if options.wants_set(str(rate)):
                results[rate] = _rounds(pair, rate, peers, options.rounds, times)
    return "\n\n".join(_section(results, peers, times))


def _rounds(pair: Pair, rate: int, peers: list[Peer], rounds: int, times: Times) -> dict[str, list[LatencyRun]]:
    runs: dict[str, list[LatencyRun]] = {FLOOR: [], **{peer.name: [] for peer in peers}}
    for turn in range(rounds):
        for peer in (None, *peers):
            errand = Errand(pair, next(_numbers), "paced", PARTITIONS)
            run = measure_once(peer, errand, rate, times)
            name = peer.name if peer else FLOOR
            runs[name].append(run)
            shown = ", ".join(f"{p} {value:.1f}" for p, value in run.ms.items())
            print(f"  {rate:,}/s, round {turn + 1}, {name}: {shown} ms, {run.verdict}", flush=True)
            pair.source.clear()
            pair.target.clear()
    return runs


def measure_once(peer: Peer | None, errand: Errand, rate: int, times: Times) -> LatencyRun:
    """One mirror, or none, under paced records."""
    errand.pair.source.create(errand.topic, PARTITIONS)
    send_probes(errand)
    if peer is None:
        with producing(errand, rate):
            return consume(errand.pair.source, errand.topic, times)
    # The paced records begin when the mirror works: a backlog from its start-up would be measured with them.
    with running(peer, errand) as process:
        await_probes(process, errand)
        with producing(errand, rate):
            return consume(errand.pair.target, errand.remote, times)


def send_probes(errand: Errand) -> None:
    """One empty record for each partition."""
    producer = Producer({"bootstrap.servers": errand.pair.source.servers})
    for partition in range(PARTITIONS):
        producer.produce(errand.topic, b"", partition=partition)
    if producer.flush(30):
        raise RuntimeError(f"{errand.topic}: the probes were not accepted")


@contextmanager
def producing(errand: Errand, rate: int) -> Iterator[None]:
    """Paced records while the block lasts."""
    command = [sys.executable, "-m", "bench.latency.produce", errand.pair.source.servers, errand.topic]
    with subprocess.Popen([*command, str(PARTITIONS), str(rate)], stdin=subprocess.PIPE) as producer:
        yield
        producer.communicate()
    if producer.returncode:
        raise RuntimeError(f"the producer failed with exit code {producer.returncode}")


def await_probes(process: subprocess.Popen[bytes], errand: Errand) -> None:
    """Until the mirror has carried one record for each partition."""
    deadline = time.monotonic() + _PROBES_WITHIN_S
    while True:
        ends = end_offsets(errand.pair.target, errand.remote, PARTITIONS)
        if ends is not None and all(ends.values()):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise MirrorFailed(f"probes arrived: {ends}, exit code {process.poll()}:\n{output_tail(errand)}")
        time.sleep(0.1)


def consume(end: End, topic: str, times: Times, *, from_end: bool = False) -> LatencyRun:
    """Measure; from the end on where the topic has been written for a while."""
    command = [sys.executable, "-m", "bench.latency.consume", end.servers, topic, str(PARTITIONS)]
    command += [str(times.warm_up_s), str(times.seconds), *(["end"] if from_end else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return LatencyRun(**json.loads(done.stdout))


def _section(results: dict[int, dict[str, list[LatencyRun]]], peers: list[Peer], times: Times) -> Iterator[str]:
    titles = {FLOOR: FLOOR, **{peer.name: peer.title for peer in peers}}
    medians = {
        rate: {name: {p: statistics.median(run.ms[p] for run in some) for p in RANKS} for name, some in runs.items()}
        for rate, runs in results.items()
    }
    yield "### Goals"
    goals = [goal for rate, by_name in medians.items() for goal in latency_goals(rate, by_name)]
    yield table(["goal", "wanted", "got", "verdict"], (goal.row for goal in goals))
    yield "### Milliseconds from producer to consumer"
    yield (
        f"100 B records, {PARTITIONS} partitions, {times.seconds:.0f} s after {times.warm_up_s:.0f} s of warm-up. "
        "Medians of the rounds:"
    )
    yield table(
        ["mirror", "records/s", *RANKS],
        (
            [titles[name], f"{rate:,}", *(f"{value:.1f}" for value in figures.values())]
            for rate, by_name in medians.items()
            for name, figures in by_name.items()
        ),
    )
    yield "All rounds:"
    yield table(
        ["mirror", "records/s", "round", *RANKS, "measured", "records"],
        (
            [titles[name], f"{rate:,}", str(turn), *(f"{run.ms[p]:.1f}" for p in RANKS), f"{run.count:,}", run.verdict]
            for rate, runs in results.items()
            for name, some in runs.items()
            for turn, run in enumerate(some, 1)
        ),
    )
    yield "### Settings"
    yield listed(
        {peer.title: peer.settings for peer in peers} | {"clients": "linger.ms=1, idempotent; fetch.min.bytes=1"}
    )
