"""What this machine could carry, and how long catching up takes after an outage. Pure.

Capacity is estimated from processor time per record while the link ran: measured speed divided by the busy share, times
0.78, because above that waiting times grow quickly. It is an estimate of this machine only, and says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from twinlog.doctor.advice.evidence import Evidence

SAFE_SHARE: Final = 0.78
OUTAGES_H: Final = (1, 4, 24)
_LEAST_BUSY: Final = 0.02
"""Below this share of a core the figures are noise."""
ENOUGH_PARTITIONS: Final = 100
"""With fewer of them the memory of the processes says nothing about a partition."""


@dataclass(frozen=True)
class Capacity:
    """What a link could carry here. Each value is None when it cannot be said; `why` then says the reason."""

    records_per_second: float | None
    bytes_per_second: float | None
    cores_free: float | None
    catch_up_s: dict[int, float | None]  # by hours of outage
    cores_to_add: int | None  # to catch up with a day within a day
    memory_per_1000_partitions: float | None
    why: str = ""


def capacity(seen: Evidence) -> Capacity:
    """Estimate what this machine could carry."""
    cpu, speed = seen.processor, seen.records_per_second
    nothing: dict[int, float | None] = dict.fromkeys(OUTAGES_H, None)
    if cpu is None:
        return Capacity(
            None, None, None, nothing, None, None, "no running engine of this link was found on this machine"
        )
    memory = cpu.memory_bytes / seen.partitions * 1000 if seen.partitions >= ENOUGH_PARTITIONS else None
    free = max(0.0, cpu.cores - cpu.machine_busy)
    if speed is None or speed <= 0 or cpu.busy_cores < _LEAST_BUSY:
        why = "too little was copied while it was looked at: repeat it while records flow, or with --seconds 60"
        return Capacity(None, None, free, nothing, None, memory, why)
    usable = max(0.0, SAFE_SHARE * cpu.cores - (cpu.machine_busy - cpu.busy_cores))
    most = speed * usable / cpu.busy_cores
    most_bytes = None if seen.bytes_per_second is None else seen.bytes_per_second * usable / cpu.busy_cores
    spare = most - speed
    catch_up = {hours: hours * 3600 * speed / spare if spare > 0 else None for hours in OUTAGES_H}
    need = 2 * speed - most  # twice the present speed makes up for a day within a day
    add = 0 if need <= 0 else math.ceil(need / speed * cpu.busy_cores / SAFE_SHARE)
    why = "" if spare > 0 else "it does not catch up at all: other processes or the link itself use this machine up"
    return Capacity(most, most_bytes, free, catch_up, add, memory, why)
