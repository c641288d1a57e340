"""/v1/links: how links, topics, partitions and groups stand, and what happened to them. Reads only."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field, TypeAdapter

from twinlog.errors import ClusterUnreachable
from twinlog.model.health.event_log import before_id
from twinlog.model.health.history import bands, summary, thinned
from twinlog.model.ledger.translation import Exact
from twinlog.model.names import TopicPartition
from twinlog.surface.http.app_state import AppState, TheAppState
from twinlog.surface.http.response_cache import FOR_ALL
from twinlog.surface.rest.v1 import answers
from twinlog.surface.rest.v1.answers import (
    BandPoint,
    EventLine,
    Fault,
    GroupRow,
    LinkDetail,
    LinkSummary,
    PartitionRow,
    SamplePoint,
    TopicRow,
)
from twinlog.surface.rest.v1.route import PROBLEMS, V1Route
from twinlog.surface.rest.v1.tables import Part, TheWish, Wish, part_of

router = APIRouter(prefix="/v1", route_class=V1Route, tags=["links"], responses=PROBLEMS)

_SUMMARIES: Final = TypeAdapter(list[LinkSummary])
TOPIC_SORTS = ("topic", "partitions", "lag_records", "rpo_seconds", "records", "bytes", "state", "faults", "skipped")
PARTITION_SORTS = ("topic", "partition", "lag", "records", "bytes", "state", "source_next", "source_end", "target_next")
GROUP_SORTS = ("group", "topic", "partition", "source_offset", "target_offset", "re_read", "movement", "translation")


class TopicList(BaseModel):
    """A page of topics."""

    rows: list[TopicRow]
    matching: int
    total: int


class PartitionList(BaseModel):
    """A page of partitions."""

    rows: list[PartitionRow]
    matching: int
    total: int


class GroupList(BaseModel):
    """A page of positions. `looked_ms` is when the groups were looked at."""

    rows: list[GroupRow]
    matching: int
    total: int
    looked_ms: int
    findings: list[str]
    trouble: str | None


class Position(BaseModel):
    """An offset to be translated."""

    topic: str = Field(min_length=1, max_length=249)
    partition: int = Field(ge=0, le=2**31 - 1)
    offset: int = Field(ge=0, le=2**63 - 1)


class Translated(BaseModel):
    """One position on the other side."""

    topic: str
    partition: int
    offset: int
    translation: Literal["exact", "at-or-before"]


class History(BaseModel):
    """The last hour of a link."""

    samples: list[SamplePoint]
    bands: list[BandPoint]
    worst_rpo_seconds: float | None
    worst_lag_records: int | None
    median_latency_ms: int | None


class Setting(BaseModel):
    """One setting, and the key and line of the file that decided it; both null for a default."""

    name: str
    value: str
    key: str | None
    line: int | None


@router.get("/links", response_model=list[LinkSummary], dependencies=[FOR_ALL])
def list_links(app_state: TheAppState) -> Response:
    """Every link in a line."""
    return _json(_SUMMARIES.dump_json([*map(answers.summary_of, app_state.snapshots())]))


@router.get("/links/{link}", response_model=LinkDetail, dependencies=[FOR_ALL])
def show_link(link: str, app_state: TheAppState) -> Response:
    """One link: state and its cause, what is at risk, sync jobs, faults."""
    return _json(answers.detail_of(app_state.snapshot(link)).model_dump_json().encode())


@router.get("/links/{link}/topics", response_model=TopicList, dependencies=[FOR_ALL])
def list_topics(link: str, app_state: TheAppState, wish: TheWish) -> Response:
    """The mirrored topics, a page at a time."""
    return _json(TopicList(**vars(topic_part(app_state, link, wish))).model_dump_json().encode())


def _json(body: bytes) -> Response:
    """What was written in the thread that made it; FastAPI would write it in the loop."""
    return Response(body, media_type="application/json")


def topic_part(app_state: AppState, link: str, wish: Wish) -> Part[TopicRow]:
    """A page of topics."""
    return part_of(
        answers.topics_of(app_state.snapshot(link)), wish, lambda row: row.topic, lambda row: row.state, TOPIC_SORTS
    )


@router.get("/links/{link}/partitions")
def list_partitions(link: str, app_state: TheAppState, wish: TheWish, topic: str | None = None) -> PartitionList:
    """Partitions with their offsets on both sides; of one topic, or of all."""
    part = partition_part(app_state, link, wish, topic)
    return PartitionList(**vars(part))


def partition_part(app_state: AppState, link: str, wish: Wish, topic: str | None) -> Part[PartitionRow]:
    """A page of partitions."""
    snapshot = app_state.snapshot(link)
    found = snapshot.status.partitions if snapshot.status else ()
    rows = [
        answers.partition_of(part, snapshot.movements.get(part.partition, "OK"))
        for part in found
        if topic is None or part.partition.topic == topic
    ]
    return part_of(rows, wish, lambda row: f"{row.topic}-{row.partition}", lambda row: row.state, PARTITION_SORTS)


@router.get("/links/{link}/groups")
async def list_groups(link: str, app_state: TheAppState, wish: TheWish, fresh: bool = False) -> GroupList:
    """Where each group stands on both sides, and how many records it would read again if it switched now.

    Groups are looked at every half minute; `fresh` looks now.
    """
    if fresh:
        await app_state.monitor.look_at_groups(app_state.snapshot(link))
    part = group_part(app_state, link, wish)
    snapshot = app_state.snapshot(link)
    return GroupList(
        **vars(part),
        looked_ms=snapshot.groups_ms,
        findings=list(snapshot.groups.findings) if snapshot.groups else [],
        trouble=snapshot.groups_trouble,
    )


def group_part(app_state: AppState, link: str, wish: Wish) -> Part[GroupRow]:
    """A page of positions of groups, of topics that the link mirrors."""
    snapshot = app_state.snapshot(link)
    standings = snapshot.groups.standings if snapshot.groups else ()
    rows = [
        answers.group_of(standing, snapshot.group_movements.get(standing.group, "OK"))
        for standing in sorted(standings, key=lambda one: (one.group, one.source))
        if standing.remote is not None
    ]
    return part_of(rows, wish, lambda row: row.group, lambda row: row.movement, GROUP_SORTS)


@router.get("/links/{link}/translation")
async def translate(
    link: str, app_state: TheAppState, position: Annotated[Position, Query()], reverse: bool = False
) -> Translated:
    """One offset on the other side: where a reader goes on without missing a record."""
    asked = TopicPartition(position.topic, position.partition)
    found = await app_state.backend.translate(app_state.link(link), asked, position.offset, reverse=reverse)
    kind: Literal["exact", "at-or-before"] = "exact" if isinstance(found.translation, Exact) else "at-or-before"
    return Translated(
        topic=found.place.topic, partition=found.place.partition, offset=found.place_offset, translation=kind
    )


@router.get("/links/{link}/history")
def show_history(link: str, app_state: TheAppState, points: Annotated[int, Query(ge=1, le=1800)] = 360) -> History:
    """Lag, RPO, throughput and latency of the last hour, and the stretches with faults and switches."""
    snapshot = app_state.snapshot(link)
    samples = list(snapshot.samples)
    own = [event for event in app_state.events() if event.link == link]
    return History(
        samples=[answers.point(sample) for sample in thinned(samples, points)],
        bands=[answers.band(one) for one in bands(own)],
        **summary(samples),
    )


@router.get("/links/{link}/faults")
def list_faults(link: str, app_state: TheAppState) -> list[Fault]:
    """Everything that cannot be copied, with its cause and the way out."""
    snapshot = app_state.snapshot(link)
    if snapshot.status is None and snapshot.trouble:
        raise ClusterUnreachable(snapshot.link.target, snapshot.trouble)
    return answers.faults_of(snapshot.status) if snapshot.status else []


@router.get("/links/{link}/settings")
def list_settings(link: str, app_state: TheAppState) -> list[Setting]:
    """Every setting with the line that decided it. Secrets are masked."""
    origins = app_state.backend.settings(app_state.link(link))
    return [Setting(name=name, **origin._asdict()) for name, origin in sorted(origins.items())]


class EventWish(BaseModel):
    """Which events are wanted."""

    link: str = Field("", max_length=500)
    level: Literal["", "good", "info", "warning", "bad"] = ""
    limit: int = Field(200, ge=1, le=1000)
    before: str = Field("", pattern=r"^(\d{1,15}-[0-9a-f]{8})?$", description="The `id` of the last event seen.")


@router.get("/events", tags=["events"])
def list_events(app_state: TheAppState, wish: Annotated[EventWish, Query()]) -> list[EventLine]:
    """What happened to the links in the last week, newest first; the next page begins `before` the last one's id."""
    found = [
        event
        for event in before_id(sorted(app_state.events(), key=lambda one: one.at_ms)[::-1], wish.before)
        if wish.link in {"", event.link} and wish.level in {"", event.level}
    ]
    return [answers.line(event) for event in found[: wish.limit]]
