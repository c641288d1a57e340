"""Measures a link for some seconds, for advice. Runs in a command, beside or without a running engine.

Processor time is known only where the engine runs on this machine; elsewhere it is unknown, and the advice says so.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from twinlog.config.settings import LinkSettings
from twinlog.doctor.advice.evidence import Evidence, Kernel, Processor
from twinlog.doctor.gather import gather
from twinlog.flow.plan import tasks_for
from twinlog.machine.sockets import read_socket_buffers
from twinlog.model.health.inspection import Unknown
from twinlog.service.questions import looking, observer
from twinlog.watch.processes import ProcessCosts

if TYPE_CHECKING:
    from twinlog.doctor.facts import Facts
    from twinlog.model.health.states import LinkStatus

_NET: Final = Path("/proc/sys/net/ipv4")
_STAT: Final = Path("/proc/stat")


async def measure_link(link: LinkSettings, seconds: float) -> Evidence:
    """Look at the link at both ends of an interval, then ask both clusters about quotas and round trips."""
    watcher = observer(link)
    before = await watcher.look()
    costs = _costs(before)
    started, busy = time.monotonic(), _machine_busy_s()
    used = None if costs is None else _used_s(costs)
    await asyncio.sleep(seconds)
    after = await watcher.look()
    took = time.monotonic() - started
    processor = None
    if costs is not None and used is not None and busy is not None:
        now = _machine_busy_s() or busy
        memory = sum(cost.memory_bytes for cost in costs.look().values())
        own = max(0.0, _used_s(costs) - used) / took
        processor = Processor(os.cpu_count() or 1, own, max(own, (now - busy) / took), memory)
    return _evidence(link, after, await gather(link, looking(link)), took, processor)


def _evidence(
    link: LinkSettings, seen: LinkStatus, facts: Facts, seconds: float, processor: Processor | None
) -> Evidence:
    partitions = len(seen.partitions)
    hindrances = {p.held_back for p in seen.partitions if p.held_back}
    hindrances |= {finding for chore in seen.chores if chore.chore == "hindrances" for finding in chore.findings}
    source, target = facts.source.round_trip_s, facts.target.round_trip_s
    return Evidence(
        link=link.name,
        seconds=seconds,
        phase=None if seen.engine is None else seen.engine.phase,
        lag_records=seen.lag,
        records_per_second=seen.records_per_second,
        bytes_per_second=seen.bytes_per_second,
        partitions=partitions,
        tasks=max(1, tasks_for(partitions, link.reading.tasks_max)) if partitions else 1,
        tasks_max=link.reading.tasks_max,
        stages=seen.stages,
        hindrances=tuple(sorted(hindrances)),
        quotas=tuple(_quotas(facts)),
        source_trip_s=None if isinstance(source, Unknown) else source,
        target_trip_s=None if isinstance(target, Unknown) else target,
        max_bytes_in_flight=link.writing.max_bytes_in_flight,
        merge_target_bytes=link.writing.merge_target_bytes,
        processor=processor,
        kernel=_kernel(),
    )


def _quotas(facts: Facts) -> list[str]:
    limits: list[str] = []
    for end in facts.ends:
        for quota in () if isinstance(end.quotas, Unknown) else end.quotas:
            whom = ", ".join(f"{kind} {name or 'default'}" for kind, name in quota.entity)
            limits += [f"{end.alias}: {whom}: {name} = {value:,.0f}" for name, value in quota.limits]
    return limits


def _costs(seen: LinkStatus) -> ProcessCosts | None:
    """Return the processes of the engine, when it runs here."""
    engine = seen.engine
    if engine is None or engine.host != socket.gethostname() or engine.phase != "running":
        return None
    costs = ProcessCosts(pid=engine.pid)
    return costs if costs.look() else None


def _used_s(costs: ProcessCosts) -> float:
    return sum(cost.cpu_s for cost in costs.look().values())


def _machine_busy_s() -> float | None:
    """Processor seconds that all processes of this machine have used; None where the kernel does not tell."""
    try:
        numbers = [int(word) for word in _STAT.read_text(encoding="ascii").splitlines()[0].split()[1:]]
    except (OSError, ValueError, IndexError):
        return None
    idle = numbers[3] + (numbers[4] if len(numbers) > 4 else 0)  # idle, and waiting for disks
    return (sum(numbers[:8]) - idle) / os.sysconf("SC_CLK_TCK")


def _kernel() -> Kernel | None:
    buffers = read_socket_buffers()
    if buffers is None:
        return None
    return Kernel(
        buffers.receive, buffers.send, _flag("tcp_window_scaling", True), _flag("tcp_slow_start_after_idle", False)
    )


def _flag(name: str, otherwise: bool) -> bool:
    try:
        return (_NET / name).read_text(encoding="ascii").strip() != "0"
    except OSError:
        return otherwise
