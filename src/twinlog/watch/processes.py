"""What the mirror costs this machine: processor time and memory of the service, of Spark's JVM, of its Python workers.

Runs in the service, where the kernel has a /proc (Linux). Executors of a Spark cluster are elsewhere and not in it.

    service ── JVM (Spark's driver; on one machine it runs the tasks too) ── daemon ── workers
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal["service", "jvm", "worker"]
_SPARK: Final = b"org.apache.spark.deploy.SparkSubmit"
_TICKS: Final = os.sysconf("SC_CLK_TCK")
KEPT_SECONDS: Final = 5.0
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Seen(NamedTuple):
    """One process at one moment, as the kernel tells of it."""

    pid: int
    parent: int
    started: int  # with the pid it names a process: numbers come again
    own_s: float
    ended_children_s: float  # processor time of those it waited for
    resident_bytes: int


class Cost(NamedTuple):
    """All processes of a role."""

    processes: int
    cpu_s: float
    memory_bytes: int


@dataclass
class ProcessCosts:
    """The processes of one service. Processor time only rises, also when workers end or Spark is restarted."""

    proc: Path = Path("/proc")
    pid: int = field(default_factory=os.getpid)
    _jvm: tuple[int, int] | None = None
    _kept: tuple[float, dict[Role, Cost]] | None = None
    _before: dict[Role, float] = field(default_factory=dict)  # under JVMs that are gone
    _last: dict[Role, float] = field(default_factory=dict)  # under the JVM that lives

    def lately(self) -> dict[Role, Cost]:
        """The same, a few seconds old: to add a worker's pages up the kernel stops it, and many may ask."""
        now = time.monotonic()
        if self._kept is None or now - self._kept[0] >= KEPT_SECONDS:
            self._kept = now, self.look()
        return self._kept[1]

    def look(self) -> dict[Role, Cost]:
        """What each role costs; nothing where the kernel does not tell."""
        seen = {process.pid: process for process in _processes(self.proc)}
        service = seen.get(self.pid)
        if service is None:
            return {}
        costs: dict[Role, Cost] = {"service": Cost(1, service.own_s, service.resident_bytes)}
        jvm = next(
            (process for process in seen.values() if process.parent == self.pid and _is_spark(self.proc, process.pid)),
            None,
        )
        if jvm is not None:
            self._meet(jvm)
            workers = list(_below(seen.values(), jvm.pid))
            worked_s = jvm.ended_children_s + sum(worker.own_s + worker.ended_children_s for worker in workers)
            memory = sum(_memory(self.proc, worker) for worker in workers)
            costs["jvm"] = Cost(1, self._risen("jvm", jvm.own_s), jvm.resident_bytes)
            costs["worker"] = Cost(len(workers), self._risen("worker", worked_s), memory)
        return costs

    def _meet(self, jvm: Seen) -> None:
        if self._jvm != (jvm.pid, jvm.started):
            self._jvm = (jvm.pid, jvm.started)
            for role, last in self._last.items():
                self._before[role] = self._before.get(role, 0.0) + last
            self._last = {}

    def _risen(self, role: Role, now_s: float) -> float:
        # A process that nobody waited for takes its time along; a counter that falls would look like a restart.
        self._last[role] = max(now_s, self._last.get(role, 0.0))
        return self._before.get(role, 0.0) + self._last[role]


def _processes(proc: Path) -> Iterator[Seen]:
    for folder in proc.glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text(errors="replace")
        except OSError:  # it ended while we looked
            continue
        # The name stands in brackets and may hold anything, brackets and blanks too.
        pid, (_, parent, *rest) = text.partition(" ")[0], text.rpartition(")")[2].split()
        user, system, children_user, children_system = (int(number) / _TICKS for number in rest[9:13])
        yield Seen(
            int(pid), int(parent), int(rest[17]), user + system, children_user + children_system, int(rest[19]) * _PAGE
        )


def _below(processes: Iterable[Seen], pid: int) -> Iterator[Seen]:
    """Children, their children, and so on."""
    children: dict[int, list[Seen]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    waiting = [*children.get(pid, ())]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process.pid, ())


def _is_spark(proc: Path, pid: int) -> bool:
    try:
        return _SPARK in (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def _memory(proc: Path, seen: Seen) -> int:
    """Its share: workers are forks, and what they have in common counts once among them."""
    try:
        text = (proc / str(seen.pid) / "smaps_rollup").read_text()
    except OSError:
        return seen.resident_bytes
    share = next((line.split()[1] for line in text.splitlines() if line.startswith("Pss:")), None)
    return seen.resident_bytes if share is None else int(share) * 1024
