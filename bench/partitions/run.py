"""Asks how speed, start-up, memory and idle cost change with the number of partitions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from bench.clusters import Pair, two_clusters
from bench.copying import CopyRun
from bench.datasets import DataSet, Flavour
from bench.goals import Goal, partition_goals
from bench.loading import load
from bench.options import Options
from bench.partitions.busy import ONE_IN, BusyRun, busy_once
from bench.peers.mirrormaker import TUNED
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, Peer
from bench.peers.raw import RAW
from bench.report import amount, listed, table
from bench.rounds import median, rounds_table, run_rounds

COUNTS = (1, 100, 1000, 5000, 10_000)
MOST_BESIDE = 1000
"""Above it only Twinlog is measured: MirrorMaker 2 and the brokers of a small machine need too long."""
RECORDS = 1_000_000
BUSY_RECORDS = 1_000_000
IDLE_S = 10.0
_numbers = itertools.count(1001)
_PEERS: tuple[Peer, ...] = (TUNED, RAW, TWINLOG)


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    peers = [peer for peer in _PEERS if options.wants_peer(peer.name)]
    results: dict[int, dict[str, list[CopyRun]]] = {}
    busy: dict[int, dict[str, BusyRun]] = {}
    with two_clusters() as pair:
        for count in COUNTS:
            data = _data(count, options)
            if options.wants_set(data.name):
                idle_s = IDLE_S if not options.quick else IDLE_S / 2
                some = [peer for peer in peers if count <= MOST_BESIDE or peer is TWINLOG]
                results[count] = run_rounds(pair, data, some, options.rounds, idle_s=idle_s)
                if count >= ONE_IN:
                    busy[count] = _busy(pair, data, some, options)
    return "\n\n".join(_section(results, busy, peers))


def _busy(pair: Pair, data: DataSet, peers: list[Peer], options: Options) -> dict[str, BusyRun]:
    runs: dict[str, BusyRun] = {}
    for peer in peers:
        if peer is not RAW:
            pair.source.clear()
            load(pair.source, data.name, data)
            errand = Errand(pair, next(_numbers), data.name, data.partitions)
            runs[peer.name] = busy_once(peer, errand, data, int(BUSY_RECORDS * options.scale))
            print(f"  {peer.title}, one partition in {ONE_IN} busy: {runs[peer.name]}", flush=True)
            pair.target.clear()
    return runs


def _data(partitions: int, options: Options) -> DataSet:
    flavour = Flavour(100, "lz4", 100)
    name = f"partitions-{partitions}"
    return DataSet(name, f"{partitions} partitions", int(RECORDS * options.scale), (flavour,), partitions)


def _section(
    results: dict[int, dict[str, list[CopyRun]]], busy: dict[int, dict[str, BusyRun]], peers: list[Peer]
) -> Iterator[str]:
    goals = [goal for count, runs in results.items() for goal in _goals(count, runs)]
    if goals:
        yield "### Goals"
        yield table(["goal", "wanted", "got", "verdict"], (goal.row for goal in goals))
    yield (
        "The same records (100 B, lz4, batches of 100) spread over more and more partitions. Idle: CPU seconds a "
        "minute of a mirror that has copied everything. All moved: from the start of the process until every "
        "record of every partition lies on the target. Medians of the rounds:"
    )
    head = [
        "mirror",
        "partitions",
        "records/s",
        "CPU s per M",
        "start s",
        "all moved s",
        "start CPU s",
        "idle CPU s/min",
    ]
    yield table(
        [*head, "memory MiB"],
        (_row(peer, count, runs[peer.name]) for peer in peers for count, runs in results.items() if peer.name in runs),
    )
    yield f"The same with one partition in {ONE_IN} busy and the others idle; CPU from the first of these records on:"
    yield table(
        ["mirror", "partitions", "busy", "CPU s per M"],
        (
            [peer.title, str(count), str(runs[peer.name].busy), f"{runs[peer.name].cpu_per_million:.2f}"]
            for peer in peers
            for count, runs in busy.items()
            if peer.name in runs
        ),
    )
    yield "### All rounds"
    for count, runs in results.items():
        yield f"{count} partitions:"
        yield rounds_table(runs, [peer for peer in peers if peer.name in runs])
    yield "### Settings"
    yield listed({peer.title: peer.settings for peer in peers})


def _goals(count: int, runs: dict[str, list[CopyRun]]) -> Iterator[Goal]:
    ours, tuned = runs.get(TWINLOG.name), runs.get(TUNED.name)
    if ours:
        moved_s = median(ours, lambda run: run.start_s + run.copy_s)
        yield from partition_goals(count, moved_s, _idle(ours), _idle(tuned) if tuned else None)


def _idle(runs: list[CopyRun]) -> float:
    return median(runs, lambda run: run.idle_cpu_share or 0.0)


def _row(peer: Peer, count: int, runs: list[CopyRun]) -> list[str]:
    return [
        peer.title,
        str(count),
        amount(median(runs, lambda run: run.rate)),
        f"{median(runs, lambda run: run.cpu_per_million):.2f}",
        f"{median(runs, lambda run: run.start_s):.1f}",
        f"{median(runs, lambda run: run.start_s + run.copy_s):.1f}",
        f"{median(runs, lambda run: run.start_cpu_s):.1f}",
        f"{median(runs, lambda run: (run.idle_cpu_share or 0.0) * 60):.2f}",
        f"{median(runs, lambda run: run.peak_bytes) / 2**20:.0f}",
    ]
