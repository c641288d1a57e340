"""The file of drill reports: one line each, chained by their hashes (model/drills/evidence). Runs in commands."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinlog.errors import EvidenceBroken
from twinlog.machine.folders import open_private
from twinlog.model.drills.evidence import Break, breaks, chained


@dataclass(frozen=True)
class Reports:
    """One file. Drills that end at the same moment wait for each other."""

    path: Path

    def append(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """Add a report behind the last one. Raises EvidenceBroken rather than continue behind a broken chain."""
        with open_private(self.path, "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            lines = file.read().splitlines()
            broken = breaks(lines)
            if broken:
                raise EvidenceBroken(str(self.path), str(broken[0]))
            linked = chained(report, json.loads(lines[-1]) if lines else None)
            file.write(json.dumps(linked, sort_keys=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
        return linked

    def read(self) -> list[str]:
        """The lines; none when there is no file yet."""
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []

    def breaks(self, last_hash: str | None = None) -> list[Break]:
        """Where the chain does not hold."""
        return breaks(self.read(), last_hash)
