"""How a connector stands, in Connect's words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
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
class EngineSight:
    """What is known of a job: of a link's engine, or of a pipeline.

    `fault` says why some of its partitions stand still while the others go on. `topics` are those that a pipeline uses.
    """

    phase: str
    trouble: str | None
    tasks: int = 1
    fault: str | None = None
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConnectorStatus:
    """A connector and its tasks."""

    state: State
    trace: str | None = None
    tasks: int = 0
    task_state: State = "UNASSIGNED"
    task_trace: str | None = None


def judge(wanted: TargetState, trouble: str | None, engine: EngineSight | None, *, copies: bool) -> ConnectorStatus:
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
    if state == "RUNNING" and engine.fault is not None:
        return ConnectorStatus(state, None, tasks, "FAILED", engine.fault)
    trace = engine.trouble if state != "RUNNING" else None
    return ConnectorStatus(state, trace, tasks, state, trace)
