"""A switch: its plan, and the state of a pair of clusters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel

from twinlog.model.switch.plan import Facts, Plan
from twinlog.recovery.switching import Standing, reports

SwitchCommand = Literal["failover-planned", "failover-unplanned", "failback-delta", "failback-full"]


class PlanAnswer(BaseModel):
    """What a switch would do, and what is at stake."""

    link: str
    command: SwitchCommand
    active: str
    will_be_active: str
    at_risk: dict[str, Any]
    warnings: list[str]
    wiped: list[str]
    steps: list[dict[str, Any]]


class SwitchStanding(BaseModel):
    """Which side is active, and every switch there was, the open one last."""

    state: dict[str, Any] | None
    open: bool
    switches: list[dict[str, Any]]


def plan_answer(facts: Facts, plan: Plan) -> PlanAnswer:
    """A plan as an answer."""
    return PlanAnswer(
        link=str(plan.link),
        command=plan.command,
        active=facts.active,
        will_be_active=facts.new_active,
        at_risk=asdict(plan.at_risk),
        warnings=list(plan.warnings),
        wiped=list(plan.wiped),
        steps=[asdict(step) for step in plan.steps],
    )


def standing_answer(standing: Standing) -> SwitchStanding:
    """Which side is active, and every switch there was."""
    return SwitchStanding(
        state=standing.state.model_dump(exclude={"runner"}) if standing.state else None,
        open=standing.open is not None,
        switches=[report.as_json() for report in reports(standing)],
    )
