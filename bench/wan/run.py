"""Asks how fast, how late and at what cost a mirror copies when one of its clusters is far away."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.clusters import SIDES, Pair, Side, two_clusters
from bench.copying import CopyRun, copy_once
from bench.datasets import DataSet, Flavour
from bench.goals import Goal, wan_copy_goals, wan_latency_goals
from bench.latency.percentiles import RANKS
from bench.latency.run import LatencyRun, Times, measure_once
from bench.loading import load
from bench.options import Options
from bench.peers.mirrormaker import TUNED
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, Peer
from bench.peers.raw import RAW
from bench.report import listed, table
from bench.rounds import describe
from bench.wan.line import LineKind, laid

from twinlog.local.blueprint import free_ports

_PEERS: tuple[Peer, ...] = (TUNED, RAW, TWINLOG)
ROUND_TRIPS_MS = (20, 80, 200)
WIDTHS_MBIT = (0, 1000, 100)
PARTITIONS = 6
RATE = 1000
_RECORDS = {0: 1_000_000, 1000: 1_000_000, 100: 200_000}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Cell:
    """One line and which cluster is behind it; without a line both are near."""

    kind: LineKind | None
    far: Side | None

    @property
    def name(self) -> str:
        if self.kind is None:
            return "local"
        width = f"-{self.kind.mbit}mbit" if self.kind.mbit else ""
        return f"{self.kind.round_trip_ms}ms{width}-{self.far}"

    @property
    def title(self) -> str:
        return "no line" if self.kind is None else f"{self.kind.title}, the {self.far} is far"

    @property
    def mbit(self) -> int:
        return self.kind.mbit if self.kind else 0


CELLS = (
    Cell(None, None),
    *(Cell(LineKind(trip, width), side) for width, trip, side in itertools.product(WIDTHS_MBIT, ROUND_TRIPS_MS, SIDES)),
)


@dataclass(frozen=True)
class WanRun:
    """One mirror over one line, once."""

    copy: CopyRun
    crossed: int  # bytes both ways, from the mirror's start to its end; 0 without a line

    @property
    def megabytes_per_s(self) -> float:
        return self.copy.gigabytes * 1000 / self.copy.copy_s


@dataclass
class Results:
    """Everything that was seen."""

    copies: dict[tuple[Cell, str], list[WanRun]]
    latencies: dict[tuple[Cell, str], list[LatencyRun]]


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    peers = [peer for peer in _PEERS if options.wants_peer(peer.name)]
    cells = [cell for cell in CELLS if options.wants_set(cell.name)]
    latency_cells = [cell for cell in CELLS if not cell.mbit and options.wants_set(f"latency-{cell.name}")]
    if options.sets:
        cells = [cell for cell in cells if cell.name in options.sets]
    results = Results({}, {})
    ports = dict(zip(SIDES, free_ports(2), strict=True))
    with two_clusters(ports) as pair:
        for data, some in itertools.groupby(cells, lambda cell: _data(cell.mbit, options)):
            pair.source.clear()
            load(pair.source, data.name, data)
            for cell, peer, turn in itertools.product(list(some), peers, range(options.rounds)):
                run = _copy(pair, cell, peer, data, ports)
                results.copies.setdefault((cell, peer.name), []).append(run)
                print(f"  {cell.name}, round {turn + 1}, {peer.title}: {run.megabytes_per_s:.1f} MB/s, "
                      f"{describe(run.copy)}", flush=True)  # fmt: skip
        pair.source.clear()
        times = Times(3, 8) if options.quick else Times(8, 30)
        for cell, peer, _ in itertools.product(latency_cells, peers, range(options.rounds)):
            if peer is not RAW:
                late = _latency(pair, cell, peer, times, ports)
                results.latencies.setdefault((cell, peer.name), []).append(late)
                shown = ", ".join(f"{p} {value:.1f}" for p, value in late.ms.items())
                print(f"  {cell.name}, {RATE}/s, {peer.title}: {shown} ms, {late.verdict}", flush=True)
    return "\n\n".join(_section(results, peers))


def _data(mbit: int, options: Options) -> DataSet:
    records = int(_RECORDS[mbit] * options.scale)
    return DataSet(f"wan-{records}", "1 KB, none", records, (Flavour(1000, "none", 64),), PARTITIONS)


def _over(pair: Pair, cell: Cell, ports: dict[Side, int], work: Callable[[Pair], CopyRun]) -> WanRun:
    if cell.kind is None or cell.far is None:
        return WanRun(work(pair), 0)
    far = pair.source if cell.far == "source" else pair.target
    with laid(cell.kind, far.cluster.brokers[0].port, ports[cell.far]) as line:
        run = work(dataclasses.replace(pair, far=cell.far))
        return WanRun(run, sum(line.crossed()))


def _copy(pair: Pair, cell: Cell, peer: Peer, data: DataSet, ports: dict[Side, int]) -> WanRun:
    def work(seen: Pair) -> CopyRun:
        return copy_once(peer, Errand(seen, next(_numbers), data.name, PARTITIONS), data)

    run = _over(pair, cell, ports, work)
    pair.target.clear()
    return run


def _latency(pair: Pair, cell: Cell, peer: Peer, times: Times, ports: dict[Side, int]) -> LatencyRun:
    try:
        if cell.kind is None or cell.far is None:
            return measure_once(peer, Errand(pair, next(_numbers), "paced", PARTITIONS), RATE, times)
        far = pair.source if cell.far == "source" else pair.target
        with laid(cell.kind, far.cluster.brokers[0].port, ports[cell.far]):
            seen = dataclasses.replace(pair, far=cell.far)
            return measure_once(peer, Errand(seen, next(_numbers), "paced", PARTITIONS), RATE, times)
    finally:
        pair.source.clear()
        pair.target.clear()


def _section(results: Results, peers: list[Peer]) -> Iterator[str]:
    titles = {peer.name: peer.title for peer in peers}
    goals = list(_goals(results))
    if goals:
        yield "### Goals"
        yield table(["goal", "wanted", "got", "verdict"], (goal.row for goal in goals))
    if results.copies:
        yield "### A backlog"
        yield (
            "1 KB uncompressed records in batches of 64, 6 partitions; the line is a relay of our own on this machine, "
            "which takes CPU like everything else. Medians of the rounds, and their lowest and highest:"
        )
        yield table(
            ["line", "mirror", "MB/s", "lowest-highest", "CPU s per GB", "bytes over the line per byte", "records"],
            (_copy_row(cell, titles[name], runs) for (cell, name), runs in results.copies.items()),
        )
    if results.latencies:
        yield f"### {RATE:,} records a second"
        yield "Milliseconds from producer to consumer, medians of the rounds:"
        yield table(
            ["line", "mirror", *RANKS, "records"],
            (_latency_row(cell, titles[name], runs) for (cell, name), runs in results.latencies.items()),
        )
    yield "### Settings"
    yield listed({peer.title: peer.settings for peer in peers})


def _copy_row(cell: Cell, title: str, runs: list[WanRun]) -> list[str]:
    rates = [run.megabytes_per_s for run in runs]
    crossed = statistics.median(run.crossed / run.copy.gigabytes / 1e9 for run in runs)
    verdicts = {run.copy.census.verdict for run in runs}
    return [
        *(cell.title, title, f"{statistics.median(rates):.1f}", f"{min(rates):.1f}-{max(rates):.1f}"),
        f"{statistics.median(run.copy.cpu_per_gigabyte for run in runs):.1f}",
        f"{crossed:.2f}" if crossed else "-",
        ", ".join(sorted(verdicts)),
    ]


def _latency_row(cell: Cell, title: str, runs: list[LatencyRun]) -> list[str]:
    figures = [f"{statistics.median(run.ms[p] for run in runs):.1f}" for p in RANKS]
    return [cell.title, title, *figures, ", ".join(sorted({run.verdict for run in runs}))]


def _goals(results: Results) -> Iterator[Goal]:
    rates = {where: statistics.median(run.megabytes_per_s for run in runs) for where, runs in results.copies.items()}
    for cell in dict.fromkeys(cell for cell, _ in results.copies):
        ours = rates.get((cell, TWINLOG.name))
        if cell.kind is not None and ours is not None:
            local = rates.get((CELLS[0], TWINLOG.name))
            tuned = rates.get((cell, TUNED.name))
            yield from wan_copy_goals(cell.title, (cell.kind.round_trip_ms, cell.kind.mbit), ours, tuned, local)
    waits = {
        where: {p: statistics.median(run.ms[p] for run in runs) for p in RANKS}
        for where, runs in results.latencies.items()
    }
    for cell in dict.fromkeys(cell for cell, _ in results.latencies):
        ours_ms = waits.get((cell, TWINLOG.name))
        if cell.kind is not None and ours_ms is not None:
            one_way = cell.kind.round_trip_ms / 2
            yield from wan_latency_goals(
                cell.title, one_way, cell.far == "target", ours_ms, waits.get((cell, TUNED.name))
            )
