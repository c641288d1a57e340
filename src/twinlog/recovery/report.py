"""The report of a switch, from its journal: for people (Markdown) and for programs (JSON)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from twinlog.machine.folders import write_atomically
from twinlog.model.health.loss_range import LossRange, count
from twinlog.model.names import LinkName
from twinlog.model.switch.card import card_of
from twinlog.model.switch.facts import Loss, StepFacts, TailFacts
from twinlog.model.switch.log import StepRecord, Switch

_RTO_ENDS_WITH: Final = "redirect"
_WRITES_END_WITH: Final = {
    "failover-planned": "fence-source",
    "failback-delta": "fence-target",
    "failback-full": "fence-target",
}
"""Which step shuts the side that producers write to. When an unplanned failover began to matter, nobody knows."""


@dataclass(frozen=True)
class Report:
    """What happened, step by step, and how long it took."""

    link: str
    command: str
    switch: str
    outcome: str
    operator: str
    active: str
    generation: int
    began_ms: int
    ended_ms: int
    rto_ms: int | None
    writes_stopped_ms: int | None  # from the fence around the active side to redirected clients; None is unknown
    steps: tuple[Mapping[str, Any], ...]
    lost: Mapping[str, Any]
    tail: Mapping[str, Any]
    found: Mapping[str, Any] = field(default_factory=dict)  # of a failover: what the failback found to be lost
    card: Mapping[str, Any] = field(default_factory=dict)  # what application teams must know; empty while it runs
    card_text: str = ""

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {name: value if not isinstance(value, tuple) else list(value) for name, value in vars(self).items()}


def report_of(switch: Switch, true: Mapping[str, Any] | None = None) -> Report:
    """Read the journal of one switch. Who is active is told as of its end, whatever was decided later.

    `found` is what a later failback counted: the true loss of this failover.
    """
    state = switch.state
    steps = tuple(
        {
            "step": step.step,
            "title": switch.titles.get(step.step, ""),
            "status": step.status,
            "says": step.says,
            "began_ms": step.began_ms,
            "took_ms": step.took_ms,
            "runs": step.runs,
            "findings": list(step.facts.get("findings", ())),
        }
        for step in switch.steps.values()
    )
    told = switch.steps.get(_RTO_ENDS_WITH)
    card = card_of(switch)
    # Recovered is when clients were sent on: what follows only sets the other direction up.
    rto = told.ended_ms - switch.since_ms if told is not None and told.status == "done" else None
    return Report(
        link=switch.claim.link,
        command=switch.claim.command,
        switch=switch.id,
        outcome=switch.end.outcome if switch.end else "open",
        operator=f"{switch.claim.operator}@{switch.claim.host}",
        active=state.active if state else LinkName.parse(switch.claim.link).source,
        generation=state.generation if state else 0,
        began_ms=switch.since_ms,
        ended_ms=switch.ended_ms,
        rto_ms=rto,
        writes_stopped_ms=None if told is None else _writes_stopped_ms(switch, told),
        steps=steps,
        lost=_as_json(switch, Loss),
        tail=_as_json(switch, TailFacts),
        found=dict(true or {}),
        card={} if card is None else card.as_json(),
        card_text="" if card is None else card.markdown(),
    )


def _as_json(switch: Switch, kind: type[StepFacts]) -> dict[str, Any]:
    facts = switch.facts(kind)
    return {} if facts is None else facts.as_json()


def _writes_stopped_ms(switch: Switch, told: StepRecord) -> int | None:
    """How long producers could write nowhere."""
    shut = switch.steps.get(_WRITES_END_WITH.get(switch.claim.command, ""))
    return told.ended_ms - shut.began_ms if shut is not None and told.status == "done" else None


def reports_of(switches: Sequence[Switch]) -> list[Report]:
    """Of all switches in their order; a failover is corrected by the first failback that counted what was left."""
    reports: list[Report] = []
    for number, switch in enumerate(switches):
        counted = ((other.id, tail) for other in switches[number + 1 :] if (tail := other.facts(TailFacts)))
        later = next(counted, None)
        true = None
        if later is not None and Loss.step in switch.steps:
            true = {"records": later[1].records, "switch": later[0]}
        reports.append(report_of(switch, true))
    return reports


def write_report(report: Report, folder: Path) -> tuple[Path, Path]:
    """Write both forms; returns their paths."""
    as_json, as_text = report_paths(report.switch, folder)
    write_atomically(as_json, json.dumps(report.as_json(), indent=2) + "\n")
    write_atomically(as_text, "\n".join(_lines(report)) + "\n")
    return as_json, as_text


def report_paths(switch: str, folder: Path) -> tuple[Path, Path]:
    """Where the report of a switch is."""
    return folder / f"{switch}.json", folder / f"{switch}.md"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {report.command} of {report.link}"
    yield ""
    if report.card_text:
        yield report.card_text
    yield f"- outcome: **{report.outcome}**; active side: **{report.active}**"
    yield f"- started {_clock(report.began_ms)} by {report.operator}, ended {_clock(report.ended_ms)}"
    rto = "not reached" if report.rto_ms is None else f"{report.rto_ms / 1000:.1f} s"
    yield f"- recovery time (claim to redirected clients): **{rto}**"
    if report.writes_stopped_ms is not None:
        yield f"- producers could not write for: **{report.writes_stopped_ms / 1000:.1f} s** (fence to redirect)"
    if report.lost:
        yield f"- not copied: **{_loss(report)}**"
    if report.found:
        yield f"- found after the failback {report.found['switch']}: **{count(report.found['records'])}** were lost"
    if report.tail:
        yield f"- divergent tail: **{count(report.tail.get('records', 0))}**, {report.tail.get('file', 'no file')}"
    yield ""
    yield "| step | status | seconds | runs | what |"
    yield "|---|---|--:|--:|---|"
    for line in report.steps:
        says = str(line["says"]).replace("|", "\\|")
        yield f"| {line['step']} | {line['status']} | {line['took_ms'] / 1000:.1f} | {line['runs']} | {says} |"
    findings = [f"- {step['step']}: {finding}" for step in report.steps for finding in step["findings"]]
    if findings:
        yield ""
        yield "## Details"
        yield ""
        yield from findings
    for title, rows in (("Not copied", report.lost.get("lost")), ("Divergent tail", report.tail.get("tails"))):
        if rows:
            yield ""
            yield f"## {title}"
            yield ""
            yield from (f"- {name}: {json.dumps(row)}" for name, row in rows.items())


def _loss(report: Report) -> str:
    """The range with its times; a journal of an older version has no upper end."""
    facts = report.lost
    loss_range = LossRange(facts.get("records"), facts.get("at_most"), facts.get("known_at_ms"), facts.get("copied_ms"))
    return loss_range.says(LinkName.parse(report.link).source)


def _clock(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms / 1000)) if at_ms else "-"
