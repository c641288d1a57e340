"""What a drill came to: the same shape for every kind, ready to become evidence. Pure."""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from twinlog.model.health.exposed import LinkExposure
from twinlog.model.health.objectives import Objectives, kept

Kind: TypeAlias = Literal["paper", "shadow", "canary"]
Verdict: TypeAlias = Literal["passed", "passed with remarks", "failed"]


@dataclass
class DrillOutcome:
    """One drill. `failures` are what would have gone wrong; `remarks` what somebody should look at."""

    kind: Kind
    failures: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    steps: list[Mapping[str, Any]] = field(default_factory=list)  # step, seconds, says
    facts: dict[str, Any] = field(default_factory=dict)
    rto_seconds: float | None = None  # None: this drill measures none
    rto_covers: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.failures:
            return "failed"
        return "passed with remarks" if self.remarks else "passed"

    def step(self, step: str, seconds: float, says: str = "") -> None:
        """Note one measured step."""
        self.steps.append({"step": step, "seconds": round(seconds, 3), "says": says})


def measured_rpo(exposure: LinkExposure | None) -> dict[str, Any]:
    """What would have been lost at the moment of the drill. Unknown is null."""
    if exposure is None:
        return {"records": None, "bytes": None, "seconds": None, "source_answers": False}
    total = exposure.total
    return {
        "records": total.records,
        "bytes": total.bytes,
        "seconds": total.seconds,
        "known_at_ms": total.known_at_ms,
        "source_answers": exposure.live,
        "objectives_not_kept": [topic.topic for topic in exposure.broken],
    }


def report_of(
    outcome: DrillOutcome, link: str, exposure: LinkExposure | None, objectives: Objectives, began_ms: int
) -> dict[str, Any]:
    """The report, before it becomes a link of a chain."""
    return {
        "kind": outcome.kind,
        "link": link,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began_ms / 1000)),
        "at_ms": began_ms,
        "by": f"{getpass.getuser()}@{socket.gethostname()}",
        "verdict": outcome.verdict,
        "rpo": measured_rpo(exposure),
        "rto_seconds": None if outcome.rto_seconds is None else round(outcome.rto_seconds, 3),
        "rto_covers": outcome.rto_covers,
        "rto_objective_seconds": objectives.strictest_rto_seconds,
        "rto_kept": kept(outcome.rto_seconds, objectives.strictest_rto_seconds),
        "failures": list(outcome.failures),
        "remarks": list(outcome.remarks),
        "steps": [dict(step) for step in outcome.steps],
        "facts": outcome.facts,
    }


def memo_body(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the ledger keeps of the last drill."""
    names: Sequence[str] = ("kind", "at_ms", "verdict", "rto_seconds", "hash", "number")
    return {name: report[name] for name in names}
