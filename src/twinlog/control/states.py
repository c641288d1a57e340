"""The states of connectors and tasks, in Connect's words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from twinlog.model.connectors import TargetState

State: TypeAlias = Literal["RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING"]

_PHASES: Final[dict[str, State]] = {
    "running": "RUNNING",
    "starting": "UNASSIGNED",
    "stopped": "UNASSIGNED",
    # Data does not move: whoever watches for FAILED must see it, and the trace says why (R14).
    "waiting": "FAILED",
    "superseded": "FAILED",
    "switched": "PAUSED",
}


@dataclass(frozen=True)
class EngineView:
    """What is known of a job: of a link's engine, or of a pipeline.

    `task_troubles` says by task why it does not advance while the others continue. `topics` are those of a pipeline.
    """

    phase: str
    trouble: str | None
    tasks: int = 1
    task_troubles: Mapping[int, str] = field(default_factory=dict)
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConnectorStatus:
    """A connector and its tasks."""

    state: State
    trace: str | None = None
    tasks: int = 0
    task_state: State = "UNASSIGNED"
    task_trace: str | None = None
    task_troubles: Mapping[int, str] = field(default_factory=dict)  # single tasks that failed

    def of_task(self, number: int) -> tuple[State, str | None]:
        """State and trace of one task."""
        if number in self.task_troubles:
            return "FAILED", self.task_troubles[number]
        return self.task_state, self.task_trace


def judge(wanted: TargetState, trouble: str | None, engine: EngineView | None, *, copies: bool) -> ConnectorStatus:
    """From what is wanted and what is there to what is shown. `copies` is false for a sync job, which has one task."""
    if wanted == "STOPPED":
        return ConnectorStatus("STOPPED")
    tasks = 1 if engine is None or not copies else max(1, engine.tasks)
    if trouble is not None:
        return ConnectorStatus("FAILED", trouble, 0)
    if wanted == "PAUSED":
        return ConnectorStatus("PAUSED", None, tasks, "PAUSED")
    if engine is None:
        return ConnectorStatus("UNASSIGNED", None, tasks, "UNASSIGNED")
    state = _PHASES.get(engine.phase, "UNASSIGNED")
    trace = engine.trouble if state != "RUNNING" else None
    # A partition keeps its fault when its task has another number, or is gone.
    troubles = {min(task, tasks - 1): why for task, why in engine.task_troubles.items()} if state == "RUNNING" else {}
    return ConnectorStatus(state, trace, tasks, state, trace, troubles)
