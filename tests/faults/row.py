"""One line of the page: what a fault cost one mirror, and which goals were missed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from tests.kit.verdict import Kind, Verdict

NAMED_WITHIN_S = 10.0
"""Every fault is named within this time. Where nobody must be told, no record stands still for longer."""

_MUCH = 0.3
NOT_NAMED = "the true cause was not named"


@dataclass(frozen=True)
class Cost:
    """What was counted and measured of one mirror."""

    records: int = 0
    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    changed: int = 0
    stood_still_s: float | None = None
    beside_still_s: float | None = None
    goes_on_s: float | None = None
    note: str = ""

    @classmethod
    def of(cls, verdict: Verdict, **measured: Any) -> Cost:
        counts = verdict.counts
        return cls(
            records=verdict.source_records,
            lost=counts[Kind.LOST],
            doubled=counts[Kind.DUPLICATED],
            reordered=counts[Kind.REORDERED],
            changed=counts[Kind.CHANGED] + counts[Kind.FOREIGN] + counts[Kind.ABORTED],
            **measured,
        )

    @property
    def sound(self) -> bool:
        return not (self.lost or self.doubled or self.reordered or self.changed)


@dataclass(frozen=True)
class Row:
    """One fault, once."""

    key: str
    family: str
    matrix: list[int | str]
    title: str
    done: str
    twinlog: Cost
    peer: Cost | None
    said: str
    named_s: float | None
    missed: list[str] = field(default_factory=list)
    """Goals that were not reached, in words; empty when all is well."""
    commit: str = ""
    at: str = ""
    took_s: float = 0.0
    notes: list[str] = field(default_factory=list)
    effect: list[str] = field(default_factory=list)
    """What shows that the fault was really there."""
    unnoticed: str = ""
    """Why nobody must be told."""
    brokers: int = 3
    """Of each cluster."""
    others: float | None = None
    """Cores that other programs of the machine used meanwhile, on average."""
    proof: bool = False
    """Made by tests of the project: nothing was counted here."""
    day: str = ""

    @property
    def beside_load(self) -> bool:
        """Whether other programs took so much of the machine that times are not the mirror's alone."""
        return self.others is not None and self.others > _MUCH

    @property
    def green(self) -> bool:
        return not self.missed

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Row:
        peer = facts.get("peer")
        return cls(**{**facts, "twinlog": Cost(**facts["twinlog"]), "peer": Cost(**peer) if peer else None})


def missed_goals(cost: Cost, *, named_s: float | None, unnoticed: bool, end_state: str | None) -> list[str]:
    """Hold one row against the goals: nothing lost, doubled or out of order, named in time, goes on by itself."""
    missed = [
        f"{count} {what}"
        for count, what in (
            (cost.lost, "lost"),
            (cost.doubled, "doubled"),
            (cost.reordered, "out of order"),
            (cost.changed, "changed or foreign"),
        )
        if count
    ]
    if cost.goes_on_s is None:
        missed.append("did not go on by itself")
    if unnoticed:
        if cost.stood_still_s is None or cost.stood_still_s > NAMED_WITHIN_S:
            missed.append(f"records stood still for longer than {NAMED_WITHIN_S:.0f} s")
    elif named_s is None:
        missed.append(NOT_NAMED)
    elif named_s > NAMED_WITHIN_S:
        missed.append(f"the true cause was named after {named_s:.0f} s")
    if end_state is not None:
        missed.append(f"afterwards status still says: {end_state}")
    return missed
