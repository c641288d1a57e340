"""One link: its state, its cause, what is at risk, sync jobs and faults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, Field

from twinlog.model.health.exposed import LinkExposure, TopicExposure
from twinlog.model.health.movement import worst
from twinlog.model.health.states import LinkStatus, silent_seconds, source_down_since
from twinlog.model.ledger.stage_times import figures
from twinlog.model.switch.log import held_because
from twinlog.watch.monitor import LinkSnapshot


class Fault(BaseModel):
    """Something that cannot be copied: why, since when, and the way out."""

    thing: str
    code: str
    says: str
    remedy: str
    since_ms: int
    facts: dict[str, Any] = Field(default_factory=dict)


class AtRisk(BaseModel):
    """What would be lost if the source vanished now."""

    records: int | None
    bytes: int | None
    seconds: float | None
    known_at_ms: int | None
    maybe_more: int
    time_to_loss_seconds: float | None
    objective: str
    objective_seconds: int | None
    kept: str | None
    age_seconds: float | None = Field(
        None, description="How old what is not copied is. Of a source that is away: at its last sign of life."
    )
    covered_ms: int | None = Field(None, description="Everything that the source held at this time is copied.")
    partitions: int = 0
    unknown: int = Field(0, description="Partitions of which nothing is known; the sums are without them.")


class LinkSummary(BaseModel):
    """One link in a line."""

    link: str
    source: str
    target: str
    state: str
    trouble: str | None
    remedy: str
    reason: str = Field(description="Why it is not well, in one sentence; empty when it is.")
    source_down_since_ms: int | None = Field(None, description="When the source was last heard, while it is down.")
    loss: str | None = Field(None, description="While the source does not answer: what is lost, a range with times.")
    looked_ms: int
    lag_records: int | None
    lag_seconds: float | None
    rpo: AtRisk | None
    catch_up_seconds: float | None
    records_per_second: float | None
    bytes_per_second: float | None
    latency_ms: int | None
    copied_p50_ms: float | None
    copied_p99_ms: float | None
    records: int
    bytes: int
    topics: int
    partitions: int
    faults: int
    movement: str | None
    active: str | None
    switch_open: bool


class SyncJob(BaseModel):
    """One thing that is kept in sync beside the records."""

    chore: str
    at_ms: int
    took_ms: int
    counts: dict[str, int]
    findings: list[str]
    found: int
    trouble: str | None


class StageLine(BaseModel):
    """How long records took in one stage of their way, lately."""

    records: int
    p50_ms: float | None
    p99_ms: float | None


class LinkDetail(LinkSummary):
    """One link with everything but its partitions."""

    engine: dict[str, Any] | None
    chores: list[SyncJob]
    fault_list: list[Fault]
    objectives_not_kept: list[str]
    stages: dict[str, StageLine] = Field(
        description="fetch, parcel, queue, produce, note; copied and whole are the way from the record's own time."
    )
    control: dict[str, Any] | None = Field(
        None, description="What an operator ordered while it runs: bytes_per_second, schedule, topics, partitions."
    )


def summary_of(snapshot: LinkSnapshot) -> LinkSummary:
    """One link in a line."""
    return LinkSummary(**_summary(snapshot))


def _summary(snapshot: LinkSnapshot) -> dict[str, Any]:
    status = snapshot.status
    link = snapshot.link
    decided = snapshot.switches.state if snapshot.switches else None
    sample = snapshot.samples[-1] if snapshot.samples else None
    partitions = status.partitions if status else ()
    engine_trouble = status.engine.trouble if status and status.engine else None
    if decided is not None and state_of(snapshot) == "SWITCHED":
        # An engine that stands still writes nothing more: what it said is as old as the first step of the switch.
        engine_trouble = held_because(decided, link.name)
    rests = status is not None and status.rests
    source_trouble = status.source_trouble if status else None
    seen = (engine_trouble, source_trouble) if rests else (source_trouble, engine_trouble)  # that it rests comes first
    trouble = snapshot.trouble or snapshot.superseded or seen[0] or seen[1]
    return {
        "link": link.name,
        "source": link.source,
        "target": link.target,
        "state": state_of(snapshot),
        "trouble": trouble,
        "reason": trouble or (_reason(status) if status else "not looked at yet"),
        "remedy": snapshot.remedy or ("" if trouble or status is None else _remedy(status)),
        "source_down_since_ms": source_down_since(status) if status else None,
        "loss": _loss(status, link.source),
        "looked_ms": snapshot.looked_ms,
        "lag_records": status.lag if status else None,
        "lag_seconds": status.lag_seconds if status else None,
        "rpo": at_risk(status.exposure, status.exposure.total) if status and status.exposure and not rests else None,
        "catch_up_seconds": status.exposure.catch_up_s if status and status.exposure and not rests else None,
        "records_per_second": status.records_per_second if status else None,
        "bytes_per_second": status.bytes_per_second if status else None,
        "latency_ms": sample.latency_ms if sample else None,
        "copied_p50_ms": sample.copied_p50_ms if sample else None,
        "copied_p99_ms": sample.copied_p99_ms if sample else None,
        "records": sum(part.records for part in partitions),
        "bytes": sum(part.bytes for part in partitions),
        "topics": status.topics if status else 0,
        "partitions": len(partitions),
        "faults": len(status.faults) if status else 0,
        "movement": worst(list(snapshot.movements.values())),
        "active": decided.active if decided else link.source if snapshot.switches else None,
        "switch_open": bool(snapshot.switches and snapshot.switches.open),
    }


def _loss(status: LinkStatus | None, source: str) -> str | None:
    exposure = status.exposure if status else None
    return None if exposure is None or exposure.live else exposure.loss.says(source)


def _reason(status: LinkStatus) -> str:
    """The first thing that is wrong, and how many more there are."""
    silent = silent_seconds(status)
    wrong = [] if silent is None else [f"its engine has been silent for {silent:,.0f} s"]
    wrong += [fault.says for fault in status.faults]
    wrong += [f"{note.chore}: {note.trouble}" for note in status.chores if note.trouble]
    if not wrong:
        return "no engine has ever run it" if status.engine is None else ""
    return wrong[0] + (f" (and {len(wrong) - 1:,} more)" if len(wrong) > 1 else "")


def _remedy(status: LinkStatus) -> str:
    """The way out of the first thing that is wrong, where there is one to tell."""
    return status.faults[0].remedy if status.faults and silent_seconds(status) is None else ""


def state_of(snapshot: LinkSnapshot) -> str:
    """The state as it may be claimed: what could not be looked at is unknown, whatever was seen before."""
    return "UNKNOWN" if snapshot.status is None or snapshot.trouble else snapshot.status.state


def detail_of(snapshot: LinkSnapshot) -> LinkDetail:
    """One link with everything but its partitions."""
    status = snapshot.status
    exposure = status.exposure if status else None
    return LinkDetail(
        **_summary(snapshot),
        engine=status.engine.model_dump(exclude_none=True) if status and status.engine else None,
        chores=[SyncJob(**note.model_dump()) for note in (status.chores if status else ())],
        fault_list=faults_of(status) if status else [],
        objectives_not_kept=[topic.topic for topic in exposure.broken] if exposure else [],
        stages={
            stage: StageLine(**figure._asdict()) for stage, figure in figures(status.stages if status else {}).items()
        },
        control=status.control.body() if status else None,
    )


def at_risk(exposure: LinkExposure, total: TopicExposure) -> AtRisk:
    """What would be lost of a topic or a link."""
    return AtRisk(
        records=total.records,
        bytes=total.bytes,
        seconds=total.seconds,
        known_at_ms=total.known_at_ms,
        maybe_more=total.maybe_more,
        age_seconds=exposure.age_of(total),
        covered_ms=total.covered_ms,
        time_to_loss_seconds=total.time_to_loss_s,
        objective=total.objective,
        objective_seconds=total.rpo_seconds,
        kept=total.kept,
        partitions=total.partitions,
        unknown=total.unknown,
    )


def faults_of(status: LinkStatus) -> list[Fault]:
    """Everything that is faulted, partitions first."""
    things = [(str(part.partition), part.fault) for part in status.partitions if part.fault is not None]
    things += [(str(problem.facts.get("topic", status.link)), problem) for problem in status.problems]
    return [Fault(thing=thing, **fault.model_dump()) for thing, fault in things]


def without_copy(snapshots: Iterable[LinkSnapshot]) -> dict[str, str]:
    """The links that were switched away from, each with the active cluster whose new records nothing copies."""
    snapshots = list(snapshots)
    moving = {s.link.name for s in snapshots if state_of(s) in {"RUNNING", "CATCHING_UP", "DEGRADED"}}
    return {
        s.link.name: s.link.target
        for s in snapshots
        if state_of(s) == "SWITCHED"
        and s.switches is not None
        and s.switches.state is not None
        and s.switches.state.active == s.link.target
        and f"{s.link.target}->{s.link.source}" not in moving
    }
