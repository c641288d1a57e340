"""The paper drill: the plan of a switch, what is at risk, what the doctor says. Nothing is changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from twinlog.doctor.answers import Diagnosis
from twinlog.drill.outcome import DrillOutcome
from twinlog.model.switch.plan import Plan


def paper_outcome(plans: Mapping[str, Plan | str], diagnoses: Iterable[Diagnosis]) -> DrillOutcome:
    """Judge what would happen. A plan that was refused is its reason."""
    outcome = DrillOutcome("paper")
    for command, plan in plans.items():
        if isinstance(plan, str):
            outcome.failures.append(f"{command} would be refused: {plan}")
            continue
        outcome.facts[command] = _plan(plan)
        outcome.remarks += [f"{command}: {warning}" for warning in plan.warnings]
    # Whether there was ever a drill is no question to ask in one.
    others = [diagnose for diagnose in diagnoses if diagnose.name != "drilled"]
    for diagnosis in others:
        line = f"{diagnosis.name}: {diagnosis.seen}" + (f"; try: {diagnosis.remedy}" if diagnosis.remedy else "")
        if diagnosis.verdict == "fail":
            outcome.failures.append(line)
        elif diagnosis.verdict in {"warn", "unknown"}:
            outcome.remarks.append(line)
    in_order = sum(diagnosis.verdict == "ok" for diagnosis in others)
    # Percentage of checks that pass; comparable between drills.
    outcome.facts["readiness"] = round(100 * in_order / len(others)) if others else None
    outcome.facts["checks"] = {diagnosis.name: diagnosis.verdict for diagnosis in others}
    return outcome


def _plan(plan: Plan) -> dict[str, Any]:
    risk = plan.at_risk
    return {
        "steps": [
            {"step": step.id, "title": step.title, "changes": step.changes, "risk": step.risk} for step in plan.steps
        ],
        "at_risk": {
            "records": risk.records,
            "bytes": risk.bytes,
            "seconds": risk.seconds,
            "groups": risk.groups,
            "sentences": list(risk.sentences),
        },
    }
