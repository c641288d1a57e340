"""What long actions found, kept on this machine beyond the process: a file for each, the newest of them.

Runs in threads of the service.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from twinlog.machine.folders import write_atomically

log = logging.getLogger("twinlog.operations")

_MOST: Final = 100
"""How many are kept: with their lists cut off at 200 differences they stay below some ten MB together (R11)."""


@dataclass(frozen=True)
class ReportFolder:
    """One folder. Services of one machine may share it: a file is whole or not there, whoever writes beside."""

    path: Path
    most: int = _MOST

    def keep(self, name: str, report: Mapping[str, Any]) -> None:
        """Write one, again when it was there, and let go of the oldest. A disk that refuses it is told in the log."""
        try:
            write_atomically(self.path / f"{name}.json", json.dumps(report), 0o600)
            for old in self._oldest_first()[: -self.most]:
                old.unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s: the report of %s is not kept: %s", self.path, name, error)

    def read(self) -> list[dict[str, Any]]:
        """All reports, the oldest first. One that cannot be read is left out, and the log says so."""
        reports = []
        for file in self._oldest_first():
            try:
                report = json.loads(file.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                log.warning("%s: this report cannot be read: %s", file, error)
                continue
            if isinstance(report, dict):
                reports.append(report)
        return reports

    def _oldest_first(self) -> list[Path]:
        dated = []
        for file in self.path.glob("*.json") if self.path.exists() else ():
            try:
                dated.append((file.stat().st_mtime_ns, file))
            except FileNotFoundError:  # another service let go of it just now
                continue
        return [file for _, file in sorted(dated)]
