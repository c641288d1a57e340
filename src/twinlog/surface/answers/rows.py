"""Rows of long lists: topics, partitions and positions of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from twinlog.model.groups.positions import Standing
from twinlog.model.health.exposed import TopicExposure
from twinlog.model.health.movement import Movement, worst
from twinlog.model.health.states import LinkStatus, PartitionStatus
from twinlog.model.ledger.translation import AtOrBefore, Exact
from twinlog.surface.answers.links import Fault
from twinlog.watch.monitor import LinkSnapshot

RESTS: Final = "SWITCHED"
"""Of what a link does not copy because the other side is active: it does not move, and that is no fault."""


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
    dropped: int
    refused: int
    state: str | None
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
    movement: str | None
    reason: str


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
    exposures = {topic.topic: topic for topic in status.exposure.topics} if status.exposure else {}
    by_topic: dict[str, list[PartitionStatus]] = {}
    for part in status.partitions:
        by_topic.setdefault(part.partition.topic, []).append(part)
    problems = {str(problem.facts.get("topic", "")): problem for problem in status.problems}
    rows = [_topic(topic, parts, exposures, problems, snapshot.movements) for topic, parts in by_topic.items()]
    if not status.rests:
        return rows
    moot = {"lag_records": None, "rpo_seconds": None}
    return [row.model_copy(update=moot if row.faults else {**moot, "state": RESTS}) for row in rows]


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
    # Movement is judged every ten seconds. What has nothing left to read by now is well.
    judged = ((part, movements.get(part.partition, "OK")) for part in parts)
    moves = worst([moves for part, moves in judged if part.lag != 0 or moves == "REWIND"])
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


def partition_of(part: PartitionStatus, moves: str | None) -> PartitionRow:
    """One partition; `moves` is None after a single look."""
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
        dropped=part.dropped,
        refused=part.refused,
        state="FAULTED" if fault else moves,
        fault=fault,
        held_back=part.held_back,
    )


def group_of(standing: Standing, moves: str | None) -> GroupRow:
    """One position; `moves` is None after a single look."""
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
