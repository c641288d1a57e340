"""Asks how fast a backlog goes over, at what cost, and how soon it begins."""

from __future__ import annotations

from collections.abc import Iterator

from bench.clusters import two_clusters
from bench.copying import CopyRun
from bench.datasets import SETS, DataSet, Flavour
from bench.goals import copy_goals
from bench.options import Options
from bench.peers.peer import Peer
from bench.report import listed, table
from bench.rounds import PEERS, medians, medians_table, rounds_table, run_rounds


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    peers = [peer for peer in PEERS if options.wants_peer(peer.name)]
    sets = [data.scaled(options.scale) for data in SETS if options.wants_set(data.name)]
    with two_clusters() as pair:
        results = [(data, run_rounds(pair, data, peers, options.rounds)) for data in sets]
    return "\n\n".join(_section(results, peers))


def _section(results: list[tuple[DataSet, dict[str, list[CopyRun]]]], peers: list[Peer]) -> Iterator[str]:
    goals = [goal for data, runs in results for goal in copy_goals(data.title, data.name, data.tiny, medians(runs))]
    if goals:
        yield "### Goals"
        yield table(["goal", "wanted", "got", "verdict"], (goal.row for goal in goals))
    for data, runs in results:
        yield f"### {data.title}"
        yield _describe(data)
        yield medians_table(runs, peers)
        yield "All rounds:"
        yield rounds_table(runs, peers)
    yield "### Settings"
    yield listed({peer.title: peer.settings for peer in peers})


def _describe(data: DataSet) -> str:
    kinds = ", ".join(_flavour(flavour) for flavour in data.flavours)
    return (
        f"{data.total:,} records, {data.gigabytes:.2f} GB of values, {data.partitions} partitions; "
        f"{kinds}. Medians of the rounds:"
    )


def _flavour(flavour: Flavour) -> str:
    return f"{flavour.record_bytes} B {flavour.codec} in batches of {flavour.batch_records}"
