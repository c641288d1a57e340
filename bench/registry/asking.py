"""Registries as processes under load, of whatever make: rates, times and what they cost."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tests.kit.registry import RegistryProcess

from twinlog.local.cluster import LocalCluster

Figures = dict[str, float]


class Asked(Protocol):
    """A registry as a process."""

    port: int

    @property
    def cpu_s(self) -> float: ...

    @property
    def rss_mib(self) -> float: ...


def started(cluster: LocalCluster, folder: Path, topic: str, servers: str = "", **settings: str) -> RegistryProcess:
    """An instance of ours with a topic and a group of its own."""
    own = {"kafkastore.topic": topic, "schema.registry.group.id": f"sr-{topic}", **settings}
    return RegistryProcess(folder, servers or cluster.bootstrap_servers, **own).start()


def load(registry: Asked, kind: str, count: int, clients: int, mark: str, *, base: str = "") -> Figures:
    """So many requests from one process beside. Raises RuntimeError when an answer was wrong."""
    cpu = registry.cpu_s
    asked = (kind, str(registry.port), str(count), str(clients), mark, base)
    out = subprocess.run(
        [sys.executable, "-m", "bench.registry.load", *asked], check=True, capture_output=True, text=True
    ).stdout
    found: Figures = json.loads(out)
    if found["wrong"]:
        raise RuntimeError(f"{kind}: {found['wrong']:.0f} of {found['answered']:.0f} answers were wrong")
    found["rate"] = found["answered"] / found["seconds"]
    found["cpu_ms"] = (registry.cpu_s - cpu) * 1000 / found["answered"]
    return found


def median(runs: Sequence[Figures], name: str) -> float:
    return statistics.median(run[name] for run in runs)


def each(runs: Sequence[Figures], name: str, shown: Callable[[float], str]) -> str:
    """Every round, as the log keeps it."""
    return ", ".join(shown(run[name]) for run in runs)
