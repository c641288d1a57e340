"""Decisions about partitions that another mirror may have copied before, and their notes in the ledger. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from twinlog.model.ledger.records import ChoreNote
from twinlog.model.names import TopicPartition

_LISTED: Final = 50


@dataclass(frozen=True)
class Fresh:
    """MirrorMaker 2 left nothing to continue from: `start.from` decides."""

    remark: str | None = None


@dataclass(frozen=True)
class Inherited:
    """Copying continues at `resume`; `checked` against the data, or MirrorMaker 2's word alone."""

    last: int
    resume: int
    checked: bool
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """The data says otherwise than MirrorMaker 2."""

    last: int
    problem: str


@dataclass(frozen=True)
class Postponed:
    """Not to be decided now; it is asked again."""

    reason: str


Decision: TypeAlias = Fresh | Inherited | Refused | Postponed


def takeover_note(decisions: Mapping[TopicPartition, Decision], now_ms: int) -> ChoreNote | None:
    """What the ledger, and with it `twinlog status`, is told; nothing when all partitions simply begin."""
    counts = Counter[str]()
    findings: list[str] = []
    for partition, decision in decisions.items():
        match decision:
            case Fresh(remark):
                findings += [remark] if remark else []
                counts["begun"] += 1
            case Inherited(_, resume, checked, remarks):
                findings += [f"{partition}: continues at {resume}: {remark}" for remark in remarks]
                findings += [] if checked else [f"{partition}: continues at {resume}, not compared with the data"]
                counts["continued"] += 1
            case Refused(_, problem):
                findings.append(f"{partition}: {problem}")
                counts["refused"] += 1
            case Postponed(reason):
                findings.append(reason)
                counts["postponed"] += 1
    if not findings and set(counts) <= {"begun"}:
        return None
    return ChoreNote(
        chore="takeover", at_ms=now_ms, counts=dict(counts), findings=findings[:_LISTED], found=len(findings)
    )
