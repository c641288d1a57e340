"""Asks what authentication and encryption of Spark's own ports cost."""

from __future__ import annotations

from dataclasses import dataclass

from bench.clusters import two_clusters
from bench.datasets import SETS
from bench.options import Options
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, Peer
from bench.report import listed
from bench.rounds import medians_table, rounds_table, run_rounds

_SET = "small-lz4"


@dataclass(frozen=True)
class OpenDoors:
    """Twinlog with Spark's ports as Spark has them by default."""

    name: str = "open"
    title: str = "Twinlog, open ports"
    settings: str = "--spark-conf spark.authenticate=false --spark-conf spark.network.crypto.enabled=false"

    def command(self, errand: Errand) -> list[str]:
        return [*TWINLOG.command(errand), *self.settings.split()]


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    peers: list[Peer] = [OpenDoors(), TWINLOG]
    (data,) = (one.scaled(options.scale) for one in SETS if one.name == _SET)
    with two_clusters() as pair:
        runs = run_rounds(pair, data, peers, options.rounds)
    parts = [
        f"{data.total:,} records, {data.gigabytes:.2f} GB of values, {data.title}. Medians of the rounds:",
        medians_table(runs, peers),
        "All rounds:",
        rounds_table(runs, peers),
        listed({peer.title: peer.settings for peer in peers}),
    ]
    return "\n\n".join(parts)
