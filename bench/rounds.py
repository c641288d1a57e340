"""Rounds of copies: every mirror over the same loaded topic, in turns, and the tables of what came out."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence

from bench.clusters import Pair
from bench.copying import CopyRun, copy_once
from bench.datasets import DataSet
from bench.goals import CopyFigures
from bench.loading import load
from bench.peers.mirrormaker import DEFAULT, TUNED
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, Peer
from bench.peers.raw import RAW
from bench.report import amount, ratio, table

PEERS: tuple[Peer, ...] = (DEFAULT, TUNED, RAW, TWINLOG)
_numbers = itertools.count(1)


def run_rounds(
    pair: Pair, data: DataSet, peers: Sequence[Peer], rounds: int, *, idle_s: float = 0.0
) -> dict[str, list[CopyRun]]:
    """Load the set once, then let the mirrors copy it one after the other, each into a topic of its own."""
    print(f"{data.title}: loading {data.total:,} records", flush=True)
    pair.source.clear()
    load(pair.source, data.name, data)
    runs: dict[str, list[CopyRun]] = {peer.name: [] for peer in peers}
    for turn in range(rounds):
        # In another order each round, so that no mirror always finds the brokers as cold as the first does.
        for peer in (*peers[turn % len(peers) :], *peers[: turn % len(peers)]):
            errand = Errand(pair, next(_numbers), data.name, data.partitions)
            run = copy_once(peer, errand, data, idle_s=idle_s)
            runs[peer.name].append(run)
            print(f"  round {turn + 1}, {peer.title}: {describe(run)}", flush=True)
            pair.target.clear()
    return runs


def describe(run: CopyRun) -> str:
    return (
        f"{amount(run.rate)} records/s, {run.copy_cpu_s:.1f} s of CPU, start {run.start_s:.1f} s, "
        f"{run.peak_bytes / 2**20:.0f} MiB, {run.census.verdict}"
    )


def medians(runs: dict[str, list[CopyRun]]) -> dict[str, CopyFigures]:
    return {
        peer: CopyFigures(
            rate=median(some, lambda run: run.rate),
            cpu_per_gigabyte=median(some, lambda run: run.cpu_per_gigabyte),
            peak_bytes=median(some, lambda run: run.peak_bytes),
        )
        for peer, some in runs.items()
        if some
    }


def median(runs: Sequence[CopyRun], figure: Callable[[CopyRun], float]) -> float:
    return statistics.median(figure(run) for run in runs)


def medians_table(runs: dict[str, list[CopyRun]], peers: Sequence[Peer]) -> str:
    """One row per mirror: the medians of its rounds, and how they stand to the others'."""
    rates = {peer: figures.rate for peer, figures in medians(runs).items()}
    head = [
        *("mirror", "records/s", "lowest-highest", "second half", "of mm2 default", "of mm2 tuned", "of raw"),
        *("CPU s per M", "CPU s per GB", "start s", "start CPU s", "memory MiB", "records"),
    ]
    return table(head, (_median_row(peer, runs[peer.name], rates) for peer in peers if runs[peer.name]))


def _median_row(peer: Peer, runs: list[CopyRun], rates: dict[str, float]) -> list[str]:
    rate = rates[peer.name]
    return [
        peer.title,
        amount(rate),
        f"{amount(min(run.rate for run in runs))} - {amount(max(run.rate for run in runs))}",
        amount(median(runs, lambda run: run.warm_rate)),
        *(ratio(rate, rates.get(other)) for other in ("mm2-default", "mm2-tuned", "raw")),
        f"{median(runs, lambda run: run.cpu_per_million):.2f}",
        f"{median(runs, lambda run: run.cpu_per_gigabyte):.1f}",
        f"{median(runs, lambda run: run.start_s):.1f}",
        f"{median(runs, lambda run: run.start_cpu_s):.1f}",
        f"{median(runs, lambda run: run.peak_bytes) / 2**20:.0f}",
        _worst_verdict(runs),
    ]


def _worst_verdict(runs: list[CopyRun]) -> str:
    bad = [run.census.verdict for run in runs if run.census.missing or run.census.extra]
    return "; ".join(bad) or "all once"


def rounds_table(runs: dict[str, list[CopyRun]], peers: Sequence[Peer]) -> str:
    """Every single run, so that the spread behind a median can be seen."""
    head = ["mirror", "round", "records/s", "copy s", "copy CPU s", "start s", "start CPU s", "memory MiB", "records"]
    return table(head, (row for peer in peers for row in _round_rows(peer, runs[peer.name])))


def _round_rows(peer: Peer, runs: list[CopyRun]) -> Iterator[list[str]]:
    for number, run in enumerate(runs, 1):
        yield [
            *(peer.title, str(number), amount(run.rate), f"{run.copy_s:.2f}", f"{run.copy_cpu_s:.2f}"),
            *(f"{run.start_s:.2f}", f"{run.start_cpu_s:.2f}", f"{run.peak_bytes / 2**20:.0f}", run.census.verdict),
        ]
