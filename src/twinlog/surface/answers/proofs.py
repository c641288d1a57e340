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
    ended = [one for one in operations if one.status == "done" and one.result]
    examined = next((one for one in ended if one.kind == "examination"), None)
    verified = next((one for one in ended if one.kind == "verification"), None)
    drilled = drills[-1] if drills else None
    paper = next((one for one in reversed(drills) if one.get("kind") == "paper" and _share(one) is not None), None)
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
    found = (drill.get("facts") or {}).get("readiness")
    return None if found is None else int(found)
