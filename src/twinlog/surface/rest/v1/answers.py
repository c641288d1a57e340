"""The shapes of the answers of /v1, and how they are made of what the rooms know. What nobody knows is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from twinlog.model.groups.positions import Standing
from twinlog.model.health.event_log import event_id
from twinlog.model.health.exposure import TopicExposure
from twinlog.model.health.history import Band, Event, Sample
from twinlog.model.health.movement import Movement, worst
from twinlog.model.health.states import LinkStatus, PartitionStatus, silent_seconds, source_down_since
from twinlog.model.ledger.stage_times import figures
from twinlog.model.ledger.translation import AtOrBefore, Exact
from twinlog.model.switch.log import held_because
from twinlog.surface.http.operations import Operation
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
    covered_ms: int | None = Field(None, description="Everything that the source held at this time is copied.")


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
    movement: str
    active: str | None
    switch_open: bool


class SyncJob(BaseModel):
    """One thing that is kept in step beside the records."""

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


class TopicRow(BaseModel):
    """One mirrored topic."""

    topic: str
    remote: str
    partitions: int
    lag_records: int | None
    rpo_seconds: float | None
    records: int
    bytes: int
    skipped: int
    state: str
    reason: str
    faults: int
    kept: str | None


class PartitionRow(BaseModel):
    """One partition on both sides."""

    topic: str
    partition: int
    remote: str
    source_next: int
    source_end: int | None
    target_next: int | None
    lag: int | None
    records: int
    bytes: int
    skipped: int
    returned: int
    state: str
    fault: Fault | None
    held_back: str | None


class GroupRow(BaseModel):
    """One position of one group on both sides."""

    group: str
    topic: str
    partition: int
    remote: str | None
    source_offset: int
    translation: str
    target_offset: int | None
    committed_on_target: int | None
    re_read: int | None
    active_on_target: bool
    movement: str
    reason: str


class SamplePoint(BaseModel):
    """The numbers of one moment."""

    at_ms: int
    state: str
    lag_records: int | None
    lag_seconds: float | None
    rpo_seconds: float | None
    rpo_records: int | None
    records_per_second: float | None
    bytes_per_second: float | None
    latency_ms: int | None
    faults: int
    copied_p50_ms: float | None
    copied_p99_ms: float | None


class BandPoint(BaseModel):
    """A stretch of time with a fault or a switch."""

    kind: str
    thing: str
    from_ms: int
    until_ms: int | None


class EventLine(BaseModel):
    """Something that happened."""

    id: str
    at_ms: int
    link: str
    kind: str
    level: str
    thing: str
    says: str
    remedy: str
    ended: bool


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


class Problem(BaseModel):
    """An error: what, why, the way out."""

    code: str
    message: str
    remedy: str = ""


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
    trouble = snapshot.trouble or snapshot.superseded or (status.source_trouble if status else None) or engine_trouble
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
        "rpo": at_risk(status.exposure.total) if status and status.exposure else None,
        "catch_up_seconds": status.exposure.catch_up_s if status and status.exposure else None,
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
        stages={stage: StageLine(**one._asdict()) for stage, one in figures(status.stages if status else {}).items()},
    )


def at_risk(total: TopicExposure) -> AtRisk:
    """What would be lost of a topic or a link."""
    return AtRisk(
        records=total.records,
        bytes=total.bytes,
        seconds=total.seconds,
        known_at_ms=total.known_at_ms,
        maybe_more=total.maybe_more,
        covered_ms=total.covered_ms,
        time_to_loss_seconds=total.time_to_loss_s,
        objective=total.objective,
        objective_seconds=total.rpo_seconds,
        kept=total.kept,
    )


def faults_of(status: LinkStatus) -> list[Fault]:
    """Everything that is faulted, partitions first."""
    things = [(str(part.partition), part.fault) for part in status.partitions if part.fault is not None]
    things += [(str(problem.facts.get("topic", status.link)), problem) for problem in status.problems]
    return [Fault(thing=thing, **fault.model_dump()) for thing, fault in things]


def topics_of(snapshot: LinkSnapshot) -> list[TopicRow]:
    """All topics of a link; made once for each look, however many ask."""
    status = snapshot.status
    if status is None:
        return []
    made_of, rows = snapshot.derived.get("topics", (None, []))
    if made_of is not status:
        rows = _topics(snapshot, status)
        snapshot.derived["topics"] = (status, rows)
    return rows


def _topics(snapshot: LinkSnapshot, status: LinkStatus) -> list[TopicRow]:
    exposures = {one.topic: one for one in status.exposure.topics} if status.exposure else {}
    by_topic: dict[str, list[PartitionStatus]] = {}
    for part in status.partitions:
        by_topic.setdefault(part.partition.topic, []).append(part)
    problems = {str(problem.facts.get("topic", "")): problem for problem in status.problems}
    return [_topic(topic, parts, exposures, problems, snapshot.movements) for topic, parts in by_topic.items()]


def _topic(
    topic: str,
    parts: list[PartitionStatus],
    exposures: Mapping[str, TopicExposure],
    problems: Mapping[str, Any],
    movements: Mapping[Any, Movement],
) -> TopicRow:
    faults = [part.fault for part in parts if part.fault is not None]
    problem = problems.get(topic)
    lags = [part.lag for part in parts]
    moves = worst([movements.get(part.partition, "OK") for part in parts])
    held = next((part.held_back for part in parts if part.held_back), "")
    exposure = exposures.get(topic)
    state = "FAULTED" if faults or problem else moves
    reason = problem.says if problem else faults[0].says if faults else held or ""
    return TopicRow(
        topic=topic,
        remote=parts[0].remote,
        partitions=len(parts),
        lag_records=None if None in lags else sum(lag for lag in lags if lag is not None),
        rpo_seconds=exposure.seconds if exposure else None,
        records=sum(part.records for part in parts),
        bytes=sum(part.bytes for part in parts),
        skipped=sum(part.skipped for part in parts),
        state=state,
        reason=reason,
        faults=len(faults) + bool(problem),
        kept=exposure.kept if exposure else None,
    )


def partition_of(part: PartitionStatus, moves: Movement) -> PartitionRow:
    """One partition."""
    fault = Fault(thing=str(part.partition), **part.fault.model_dump()) if part.fault else None
    return PartitionRow(
        topic=part.partition.topic,
        partition=part.partition.partition,
        remote=part.remote,
        source_next=part.source_next,
        source_end=part.source_end,
        target_next=part.target_next,
        lag=part.lag,
        records=part.records,
        bytes=part.bytes,
        skipped=part.skipped,
        returned=part.returned,
        state="FAULTED" if fault else moves,
        fault=fault,
        held_back=part.held_back,
    )


def group_of(standing: Standing, moves: Movement) -> GroupRow:
    """One position."""
    translation = standing.translation
    kind = "exact" if isinstance(translation, Exact) else "untranslatable"
    if isinstance(translation, AtOrBefore):
        kind = "at-or-before"
    return GroupRow(
        group=standing.group,
        topic=standing.source.topic,
        partition=standing.source.partition,
        remote=standing.remote.topic if standing.remote else None,
        source_offset=standing.committed.offset,
        translation=kind,
        target_offset=standing.position,
        committed_on_target=standing.on_target,
        re_read=standing.re_read,
        active_on_target=standing.active,
        movement=moves,
        reason=standing.why,
    )


def point(sample: Sample) -> SamplePoint:
    """One moment."""
    return SamplePoint(**sample._asdict())


def band(one: Band) -> BandPoint:
    """One stretch of time."""
    return BandPoint(**one._asdict())


def line(event: Event) -> EventLine:
    """One event."""
    return EventLine(id=event_id(event), **vars(event))


def operation_of(operation: Operation) -> OperationAnswer:
    """One operation."""
    known = {name: value for name, value in vars(operation).items() if name in OperationAnswer.model_fields}
    steps = [StepLine(**vars(step)) for step in operation.switch.steps]
    return OperationAnswer(**{**known, "lines": list(operation.lines), "steps": steps})
