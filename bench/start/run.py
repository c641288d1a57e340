"""Asks how long a mirror takes from its start, and from its death, until records flow."""

from __future__ import annotations

import itertools
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
from bench.census import end_offsets
from bench.clusters import Pair, two_clusters
from bench.copying import LOOK_EVERY_S, MirrorFailed
from bench.goals import start_goals
from bench.latency.run import PARTITIONS, producing, send_probes
from bench.options import Options
from bench.peers.mirrormaker import DEFAULT
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, Peer, output_tail, running
from bench.report import listed, table

RATE = 200
SETTLE_S = 10.0
_WITHIN_S = 240.0
_PEERS: tuple[Peer, ...] = (DEFAULT, TWINLOG)
_numbers = itertools.count(1)


@dataclass(frozen=True)
class StartRun:
    """Seconds without a record."""

    cold_s: float
    killed_s: float


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    peers = [peer for peer in _PEERS if options.wants_peer(peer.name)]
    runs: dict[str, list[StartRun]] = {peer.name: [] for peer in peers}
    with two_clusters() as pair:
        for turn in range(options.rounds):
            for peer in peers:
                run = _start_twice(peer, pair)
                runs[peer.name].append(run)
                print(f"  round {turn + 1}, {peer.title}: {run}", flush=True)
                pair.source.clear()
                pair.target.clear()
    return "\n\n".join(_section(runs, peers))


def _start_twice(peer: Peer, pair: Pair) -> StartRun:
    errand = Errand(pair, next(_numbers), "started", PARTITIONS)
    pair.source.create(errand.topic, PARTITIONS)
    send_probes(errand)
    with producing(errand, RATE):
        began = time.monotonic()
        with running(peer, errand) as first:
            cold_s = _await_more(first, errand, PARTITIONS) - began
            time.sleep(SETTLE_S)
            killed = time.monotonic()
            _kill_all(first)
            copied = _copied(errand)
        with running(peer, errand) as second:
            killed_s = _await_more(second, errand, copied) - killed
    return StartRun(cold_s, killed_s)


def _copied(errand: Errand) -> int:
    return sum((end_offsets(errand.pair.target, errand.remote, PARTITIONS) or {}).values())


def _await_more(process: subprocess.Popen[bytes], errand: Errand, than: int) -> float:
    """The time at which more than so many offsets of the target were taken: a marker per partition is no record."""
    deadline = time.monotonic() + _WITHIN_S
    while _copied(errand) <= than + PARTITIONS:
        if process.poll() is not None or time.monotonic() > deadline:
            raise MirrorFailed(f"no record arrived (exit code {process.poll()}):\n{output_tail(errand)}")
        time.sleep(LOOK_EVERY_S)
    return time.monotonic()


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    family = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
    for pid in family:
        os.kill(pid, signal.SIGKILL)
    process.wait()


def _section(runs: dict[str, list[StartRun]], peers: list[Peer]) -> Iterator[str]:
    ours = runs.get(TWINLOG.name)
    if ours:
        medians = [
            statistics.median(figure) for figure in zip(*((run.cold_s, run.killed_s) for run in ours), strict=True)
        ]
        yield "### Goals"
        yield table(["goal", "wanted", "got", "verdict"], (goal.row for goal in start_goals(*medians)))
    yield f"Seconds without a record; {PARTITIONS} partitions, {RATE} records/s. Medians (lowest-highest):"
    yield table(
        ["mirror", "cold start", "after kill -9"],
        (
            [
                peer.title,
                _figure([run.cold_s for run in runs[peer.name]]),
                _figure([run.killed_s for run in runs[peer.name]]),
            ]
            for peer in peers
        ),
    )
    yield "### Settings"
    yield listed({peer.title: peer.settings for peer in peers})


def _figure(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f}-{max(values):.1f})"
