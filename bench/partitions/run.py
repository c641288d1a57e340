"""Asks how speed, start-up, memory and idle cost change with the number of partitions."""

from __future__ import annotations

from collections.abc import Iterator

from bench.clusters import two_clusters
from bench.copying import CopyRun
from bench.datasets import DataSet, Flavour
from bench.options import Options
from bench.peers.mirrormaker import TUNED
from bench.peers.ours import TWINLOG
from bench.peers.peer import Peer
from bench.peers.raw import RAW
from bench.report import amount, listed, table
from bench.rounds import median, rounds_table, run_rounds

COUNTS = (1, 10, 100, 1000)
RECORDS = 1_000_000
IDLE_S = 10.0
_PEERS: tuple[Peer, ...] = (TUNED, RAW, TWINLOG)


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    peers = [peer for peer in _PEERS if options.wants_peer(peer.name)]
    results: dict[int, dict[str, list[CopyRun]]] = {}
    with two_clusters() as pair:
        for count in COUNTS:
            data = _data(count, options)
            if options.wants_set(data.name):
                idle_s = IDLE_S if not options.quick else IDLE_S / 2
                results[count] = run_rounds(pair, data, peers, options.rounds, idle_s=idle_s)
    return "\n\n".join(_section(results, peers))


def _data(partitions: int, options: Options) -> DataSet:
    flavour = Flavour(100, "lz4", 100)
    name = f"partitions-{partitions}"
    return DataSet(name, f"{partitions} partitions", int(RECORDS * options.scale), (flavour,), partitions)


def _section(results: dict[int, dict[str, list[CopyRun]]], peers: list[Peer]) -> Iterator[str]:
    yield (
        "The same records (100 B, lz4, batches of 100) spread over more and more partitions. Idle: CPU seconds a "
        "minute of a mirror that has copied everything. Medians of the rounds:"
    )
    head = ["mirror", "partitions", "records/s", "CPU s per M", "start s", "start CPU s", "idle CPU s/min"]
    yield table(
        [*head, "memory MiB"],
        (_row(peer, count, runs[peer.name]) for peer in peers for count, runs in results.items()),
    )
    yield "### All rounds"
    for count, runs in results.items():
        yield f"{count} partitions:"
        yield rounds_table(runs, peers)
    yield "### Settings"
    yield listed({peer.title: peer.settings for peer in peers})


def _row(peer: Peer, count: int, runs: list[CopyRun]) -> list[str]:
    return [
        peer.title,
        str(count),
        amount(median(runs, lambda run: run.rate)),
        f"{median(runs, lambda run: run.cpu_per_million):.2f}",
        f"{median(runs, lambda run: run.start_s):.1f}",
        f"{median(runs, lambda run: run.start_cpu_s):.1f}",
        f"{median(runs, lambda run: (run.idle_cpu_share or 0.0) * 60):.2f}",
        f"{median(runs, lambda run: run.peak_bytes) / 2**20:.0f}",
    ]
