"""The ceiling: a plain Python process that moves batches and does nothing else (see `passthrough`)."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from bench.peers.peer import Errand


@dataclass(frozen=True)
class RawPassThrough:
    """No Spark, no ledger, no fence, no recovery; it does not even check what it reads."""

    name: str = "raw"
    title: str = "raw pass-through"
    settings: str = "one process, fetches of 8 MB (1 MB a partition), 5 produce requests under way per leader"

    def command(self, errand: Errand) -> list[str]:
        errand.pair.target.create(errand.remote, errand.partitions, {"retention.ms": "-1"})
        return [
            *(sys.executable, "-m", "bench.peers.passthrough"),
            *(errand.pair.mirror_servers("source"), errand.pair.mirror_servers("target"), errand.topic, errand.remote),
        ]


RAW = RawPassThrough()
