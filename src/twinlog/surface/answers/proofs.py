"""How ready a link is, in percent, and when that was last proven: checks, verification, drill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from twinlog.surface.http.operations import Operation


class Proofs(BaseModel):
    """What was proven of a link, by what this machine knows. Null: never."""

    readiness_percent: int | None = Field(description="Share of readiness checks that passed when they last ran.")
    checked_ms: int | None
    verified_ms: int | None
    verified: str | None = Field(description="The verdict of the last verification.")
    drilled_ms: int | None
    drilled: str | None = Field(description="The verdict of the last drill, with its kind.")


def proofs_of(operations: Sequence[Operation], drills: Sequence[Mapping[str, Any]]) -> Proofs:
    """Find the newest proofs; operations are newest first, drills oldest first."""
    ended = [operation for operation in operations if operation.status == "done" and operation.result]
    examined = next((operation for operation in ended if operation.kind == "examination"), None)
    verified = next((operation for operation in ended if operation.kind == "verification"), None)
    drilled = drills[-1] if drills else None
    paper = next(
        (drill for drill in reversed(drills) if drill.get("kind") == "paper" and _share(drill) is not None), None
    )
    checked_ms, percent = None, None
    if examined is not None:
        verdicts = [check["verdict"] for check in (examined.result or {}).get("checks", ())]
        checked_ms, percent = examined.ended_ms, _percent(verdicts)
    if paper is not None and (checked_ms or 0) < int(paper["at_ms"]):
        checked_ms, percent = int(paper["at_ms"]), _share(paper)
    return Proofs(
        readiness_percent=percent,
        checked_ms=checked_ms,
        verified_ms=verified.ended_ms if verified else None,
        verified=("equal" if (verified.result or {}).get("equal") else "not equal") if verified else None,
        drilled_ms=int(drilled["at_ms"]) if drilled else None,
        drilled=f"{drilled['kind']}: {drilled['verdict']}" if drilled else None,
    )


def _percent(verdicts: Sequence[str]) -> int | None:
    return round(100 * sum(verdict == "ok" for verdict in verdicts) / len(verdicts)) if verdicts else None


def _share(drill: Mapping[str, Any]) -> int | None:
    readiness = (drill.get("facts") or {}).get("readiness")
    return None if readiness is None else int(readiness)
