"""A long action, and the steps of a switch."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from twinlog.surface.http.operations import Operation


class StepLine(BaseModel):
    """One step of a switch."""

    number: int
    name: str
    title: str
    status: str = Field(description="to come, running, done or failed")
    says: str


class OperationAnswer(BaseModel):
    """A long action."""

    id: str
    kind: str
    link: str
    asked: dict[str, Any]
    by: str
    status: str
    what: str
    done: int
    total: int
    began_ms: int
    ended_ms: int | None
    lines: list[str]
    steps: list[StepLine] = Field(description="Of a switch: all of them, those to come too.")
    result: dict[str, Any] | None
    error: dict[str, str] | None


def operation_of(operation: Operation) -> OperationAnswer:
    """One operation."""
    known = {name: value for name, value in vars(operation).items() if name in OperationAnswer.model_fields}
    steps = [StepLine(**vars(step)) for step in operation.switch.steps]
    return OperationAnswer(**{**known, "lines": list(operation.lines), "steps": steps})
