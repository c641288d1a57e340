"""Twinlog as its users run it: `twinlog run` with a file that names two clusters and a topic, and no tuning."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from bench.peers.peer import Errand


@dataclass(frozen=True)
class Twinlog:
    """Spark in local mode, all settings at their defaults."""

    name: str = "twinlog"
    title: str = "Twinlog"
    settings: str = "all defaults; Spark in local mode"

    def command(self, errand: Errand) -> list[str]:
        file = errand.properties_file({})
        return [sys.executable, "-m", "twinlog", "run", "-c", str(file), "-o", "json"]


@dataclass(frozen=True)
class TwinlogListening:
    """The same, answering over HTTP."""

    port: int
    name: str = "twinlog"
    title: str = "Twinlog"
    settings: str = "all defaults with --listen; Spark in local mode"

    def command(self, errand: Errand) -> list[str]:
        return [*TWINLOG.command(errand), "--listen", f"127.0.0.1:{self.port}"]


TWINLOG = Twinlog()
