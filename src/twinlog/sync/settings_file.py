"""The sync job that shows whether the settings file on disk is the one that is running. Runs in the service's loop.

A wrong file changes nothing, and that must be seen in the status of every link, not only in the log of one process.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twinlog.ledger.view import LedgerView
from twinlog.sync.jobs import Outcome


@dataclass
class SettingsFile:
    """What became of the file when it was read last; one for all links of a process."""

    name: str = "settings"
    seconds: float = 2.0
    _reasons: tuple[str, ...] = ()

    def accepted(self) -> None:
        """The file is in order and in force."""
        self._reasons = ()

    def rejected(self, reasons: Iterable[str]) -> None:
        """The file is wrong; what was read before stays in force."""
        self._reasons = tuple(reasons)

    async def step(self, view: LedgerView) -> Outcome:
        del view
        told = [f"{reason}; the file is not in force, the settings read before it are" for reason in self._reasons]
        return Outcome({"errors": len(told)}, told)
