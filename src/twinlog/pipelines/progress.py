"""What is known of a running pipeline: state, counts, positions, what it waits for.

The engine writes it, the service reads it. A task reports in a thread of its connection. A field is replaced as a
whole, or is a dictionary of tasks, so readers need no lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from twinlog.config.text.provided import NOTHING_PROVIDED, Provided
from twinlog.model.clock import SYSTEM_CLOCK

State: TypeAlias = Literal["UNASSIGNED", "RUNNING", "PAUSED", "STOPPED", "FAILED", "RESTARTING"]
_START = "start"
_FAULTS_KEPT = 1000
_FAILED_KEPT = 100


@dataclass
class Progress:
    """One pipeline since it was started."""

    state: State = "UNASSIGNED"
    trace: str = ""  # why it failed last
    failed_at: float = 0.0
    waiting: str = ""  # what must come before there is anything to run
    failures_in_a_row: int = 0
    restarts: int = 0  # how often its tasks were started again after a failure
    epochs: int = 0
    tasks: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # of ended epochs
    by_task: dict[int, dict[str, int]] = field(default_factory=dict)  # of the epoch that runs
    task_waiting: dict[tuple[int, str], str] = field(default_factory=dict)  # by task and end: what it waits for
    faults: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)
    positions: dict[str, Any] = field(default_factory=dict)
    newest_ms: int = 0  # the time of the newest record that a sink stored
    moved_at: float = 0.0
    caught_up: bool = False
    caught_up_at: float = 0.0  # of run=available: when everything was handled last
    next_run_at: float = 0.0  # of a schedule; 0: it runs now
    provided: Provided = NOTHING_PROVIDED  # masked in everything that is told here

    def totals(self) -> Counter[str]:
        """Counts since the start."""
        total = Counter(self.counts)
        for counts in list(self.by_task.values()):
            total.update(counts)
        return total

    @property
    def hindrance(self) -> str:
        """Why nothing, or not everything, moves while it runs; empty: nothing is in the way."""
        told = [self.waiting, *self.task_waiting.values()]
        return "; ".join(dict.fromkeys(reason for reason in told if reason))

    def troubles(self) -> dict[int, str]:
        """Why single tasks do not advance: what they wait for, and their partitions that stand still."""
        by_task: dict[int, list[str]] = {}
        for (task, _), reason in list(self.task_waiting.items()):
            by_task.setdefault(task, []).append(reason)
        for fault in list(self.faults):
            by_task.setdefault(int(fault.get("task", 0)), []).append(fault_words(fault))
        if self.waiting:
            for task in range(max(1, self.tasks)):
                by_task.setdefault(task, []).append(self.waiting)
        return {task: "; ".join(dict.fromkeys(reasons)) for task, reasons in by_task.items()}

    def take(self, report: Mapping[str, Any]) -> None:
        """What a task reported."""
        task, end = int(report.get("task", 0)), str(report.get("end_of", ""))
        if "counts" in report:
            self.by_task[task] = dict(report["counts"])
            self.positions.update(report.get("positions", {}))
            self.newest_ms = max(self.newest_ms, int(report.get("newest_ms") or 0))
            self.waiting = ""
            self.task_waiting.pop((task, end), None)
            self.moved_at = SYSTEM_CLOCK.now_s()
            self.sound(moved=True)
        if "waiting" in report:
            if report["waiting"]:
                self.task_waiting[task, end] = self.provided.masked(str(report["waiting"]))
            else:
                self.task_waiting.pop((task, end), None)
        if "fault" in report:
            self._add_fault({"task": task, **self.provided.masked_deep(dict(report["fault"]))})
        if "failed" in report:
            self.failed = (self.failed + self.provided.masked_deep(list(report["failed"])))[-_FAILED_KEPT:]

    def name_not_started(self, tasks: Collection[int], reason: str) -> None:
        """These tasks of the epoch have not been started yet."""
        for number in range(self.tasks):
            if number in tasks:
                self.task_waiting[number, _START] = reason
            else:
                self.task_waiting.pop((number, _START), None)

    def _add_fault(self, fault: dict[str, Any]) -> None:
        """A source comes to the same record again at each restart: it is one fault."""
        if fault not in self.faults:
            self.faults = [*self.faults, fault][-_FAULTS_KEPT:]

    def sound(self, *, moved: bool = False) -> None:
        """It runs. `moved`: it has stored something since it failed, so the failure is over."""
        self.state = "RUNNING"
        if moved:
            self.failures_in_a_row = 0

    def fail(self, reason: str) -> None:
        """It broke, and will be started again."""
        self.failures_in_a_row += 1
        self.state, self.trace, self.failed_at = "FAILED", self.provided.masked(reason), SYSTEM_CLOCK.now_s()

    def end_epoch(self) -> None:
        """Add up what the tasks counted; nobody waits any more."""
        for counts in self.by_task.values():
            self.counts.update(counts)
        self.by_task.clear()
        self.task_waiting.clear()


def fault_words(fault: Mapping[str, Any]) -> str:
    """A sentence about one record that stops its partition or task, with the reason."""
    where = str(fault["topic"])
    if "partition" in fault:
        where += f"-{fault['partition']} offset {fault['offset']}"
    return f"{where}: {fault['stage']}: {fault['exception']}: {fault['message']}"
