"""How many cores other programs of the machine used while a fault ran: their load makes everything late.

The namespaces of a run show its own processes only, while the counters of the processors are those of the machine.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class CoresUsed:
    """Seconds of processor time, at one moment."""

    at: float
    all_s: float
    own_s: float

    @classmethod
    def now(cls) -> CoresUsed:
        cpu = psutil.cpu_times()
        busy = cpu.user + cpu.nice + cpu.system + cpu.irq + cpu.softirq
        own = 0.0
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                spent = process.cpu_times()
                own += spent.user + spent.system + spent.children_user + spent.children_system
        return cls(time.monotonic(), busy, own)

    def others_since(self, before: CoresUsed) -> float:
        """Cores that others used on average since then."""
        elapsed = max(self.at - before.at, 0.001)
        return round(max(0.0, (self.all_s - before.all_s) - (self.own_s - before.own_s)) / elapsed, 2)
