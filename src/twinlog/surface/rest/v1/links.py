"""/v1/links: states of links, topics, partitions and groups, and their events. Reads only."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field, TypeAdapter

from twinlog.errors import ClusterUnreachable
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.history import bands, summary, thinned
from twinlog.model.ledger.translation import Exact
from twinlog.model.names import TopicPartition
from twinlog.surface.answers import history, links
from twinlog.surface.answers.history import BandPoint, EventLine, SamplePoint
from twinlog.surface.answers.links import Fault, LinkDetail, LinkSummary
from twinlog.surface.answers.lists import EventWish, events_of, group_part, partition_part, topic_part
from twinlog.surface.answers.rows import GroupRow, PartitionRow, TopicRow
from twinlog.surface.answers.tables import TheWish
from twinlog.surface.answers.topology import survey_of, topology_json
from twinlog.surface.http.app_state import TheAppState
from twinlog.surface.http.response_cache import FOR_ALL
from twinlog.surface.rest.v1.route import PROBLEMS, V1Route

router = APIRouter(prefix="/v1", route_class=V1Route, tags=["links"], responses=PROBLEMS)

_SUMMARIES: Final = TypeAdapter(list[LinkSummary])


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
    """The last hours of a link."""

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
    return _json(_SUMMARIES.dump_json([*map(links.summary_of, app_state.snapshots())]))


@router.get("/links/{link}", response_model=LinkDetail, dependencies=[FOR_ALL])
def show_link(link: str, app_state: TheAppState) -> Response:
    """One link: state and its cause, what is at risk, sync jobs, faults."""
    return _json(links.detail_of(app_state.snapshot(link)).model_dump_json().encode())


@router.get("/links/{link}/topics", response_model=TopicList, dependencies=[FOR_ALL])
def list_topics(link: str, app_state: TheAppState, wish: TheWish) -> Response:
    """The mirrored topics, a page at a time."""
    return _json(TopicList(**vars(topic_part(app_state, link, wish))).model_dump_json().encode())


def _json(body: bytes) -> Response:
    """What was written in the thread that made it; FastAPI would write it in the loop."""
    return Response(body, media_type="application/json")


@router.get("/links/{link}/partitions")
def list_partitions(link: str, app_state: TheAppState, wish: TheWish, topic: str | None = None) -> PartitionList:
    """Partitions with their offsets on both sides; of one topic, or of all."""
    part = partition_part(app_state, link, wish, topic)
    return PartitionList(**vars(part))


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


@router.get("/links/{link}/translation")
async def translate(
    link: str, app_state: TheAppState, position: Annotated[Position, Query()], reverse: bool = False
) -> Translated:
    """One offset on the other side: where a reader continues without missing a record."""
    asked = TopicPartition(position.topic, position.partition)
    translated = await app_state.backend.translate(app_state.link(link), asked, position.offset, reverse=reverse)
    kind: Literal["exact", "at-or-before"] = "exact" if isinstance(translated.translation, Exact) else "at-or-before"
    return Translated(
        topic=translated.place.topic,
        partition=translated.place.partition,
        offset=translated.place_offset,
        translation=kind,
    )


@router.get("/links/{link}/history")
def show_history(
    link: str,
    app_state: TheAppState,
    points: Annotated[int, Query(ge=1, le=1800)] = 360,
    hours: Annotated[int, Query(ge=1, le=720, description="More than one: a value per minute, kept for 30 days.")] = 1,
) -> History:
    """Lag, RPO, throughput and latency of the last hours, and the stretches with faults and switches."""
    snapshot = app_state.snapshot(link)
    samples = list(snapshot.samples)
    if hours > 1:
        since = SYSTEM_CLOCK.now_ms() - hours * 3_600_000
        kept = app_state.days.read(link, since, points) if app_state.days is not None else []
        newest = kept[-1].at_ms if kept else since
        samples = [*kept, *(sample for sample in samples if sample.at_ms > newest)]
    own = [event for event in app_state.events() if event.link == link]
    return History(
        samples=[history.point(sample) for sample in thinned(samples, points)],
        bands=[history.band(band) for band in bands(own)],
        **summary(samples),
    )


@router.get("/links/{link}/faults")
def list_faults(link: str, app_state: TheAppState) -> list[Fault]:
    """Everything that cannot be copied, with its cause and the way out."""
    snapshot = app_state.snapshot(link)
    if snapshot.status is None and snapshot.trouble:
        raise ClusterUnreachable(snapshot.link.target, snapshot.trouble)
    return links.faults_of(snapshot.status) if snapshot.status else []


@router.get("/links/{link}/settings")
def list_settings(link: str, app_state: TheAppState) -> list[Setting]:
    """Every setting with the line that decided it. Secrets are masked."""
    origins = app_state.backend.settings(app_state.link(link))
    return [Setting(name=name, **origin._asdict()) for name, origin in sorted(origins.items())]


@router.get("/topology")
def show_topology(app_state: TheAppState) -> dict[str, Any]:
    """What the links of this service make together: shapes, ways of records, the cost of each loss."""
    links = list(app_state.backend.links())
    return topology_json(survey_of(links), links)


@router.get("/events", tags=["events"])
def list_events(app_state: TheAppState, wish: Annotated[EventWish, Query()]) -> list[EventLine]:
    """What happened to the links in the last week, newest first; the next page begins `before` the last one's id."""
    return events_of(app_state, wish)
