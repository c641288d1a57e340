"""/v1 beyond links: clusters, proofs of readiness, a topic with its configs, one record on both sides."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from twinlog.control.audit import NOBODY, Who
from twinlog.model.names import TopicPartition
from twinlog.surface.answers.proofs import Proofs, proofs_of
from twinlog.surface.http.app_state import TheAppState
from twinlog.surface.rest.v1.route import PROBLEMS, V1Route

router = APIRouter(prefix="/v1", route_class=V1Route, tags=["links"], responses=PROBLEMS)


class ClusterAnswer(BaseModel):
    """One cluster; null is unknown, and `unknown` has the reasons."""

    alias: str
    looked_ms: int
    brokers: int | None
    racks: int | None
    topics: int | None
    partitions: int | None
    under_replicated: int | None
    without_leader: int | None
    disk_total: int | None
    disk_usable: int | None
    fullest: float | None = Field(description="Used share of the fullest log directory.")
    release: str | None
    unknown: list[str]
    trouble: str | None


class Where(BaseModel):
    """A place in a topic of the source."""

    topic: str = Field(min_length=1, max_length=249)
    partition: int = Field(ge=0, le=2**31 - 1)
    offset: int = Field(ge=0, le=2**63 - 1)


@router.get("/clusters")
def list_clusters(app_state: TheAppState) -> list[ClusterAnswer]:
    """Brokers, replicas in sync, room on disks and release of each cluster, as of the last minute."""
    return [ClusterAnswer(**asdict(card)) for card in app_state.clusters()]


@router.get("/links/{link}/proofs")
async def show_proofs(link: str, app_state: TheAppState) -> Proofs:
    """How ready a link is, in percent, and when it was last checked, verified and drilled from this machine."""
    settings = app_state.link(link)
    drills = await asyncio.to_thread(app_state.backend.drills, settings)
    return proofs_of(app_state.operations_of(link=link), drills)


@router.get("/links/{link}/topics/{topic}/configs")
async def explain_topic(link: str, topic: str, app_state: TheAppState) -> dict[str, Any]:
    """Why a topic is mirrored or not, and each of its configs on both sides."""
    return asdict(await app_state.backend.explain(app_state.link(link), topic))


@router.get("/links/{link}/records")
async def show_record(
    link: str, where: Annotated[Where, Query()], app_state: TheAppState, request: Request
) -> dict[str, Any]:
    """One record and its copy: bytes, and what they say as text, JSON or Avro. For operators; it is audited."""
    settings = app_state.link(link)
    who: Who = request.scope.get("twinlog.who") or NOBODY
    place = TopicPartition(where.topic, where.partition)
    if app_state.audit is not None:
        app_state.audit.note(who, "read record", link, after={"place": str(place), "offset": where.offset})
    return _plain(await app_state.backend.record_pair(settings, place, where.offset))


def _plain(pair: Any) -> dict[str, Any]:
    def side(record: Any) -> dict[str, Any] | None:
        if record is None:
            return None
        return asdict(record) | {
            "key": record.key._asdict(),
            "value": record.value._asdict(),
            "headers": list(record.headers),
        }

    return {"source": side(pair.source), "target": side(pair.target), "equal": pair.equal, "missing": pair.missing}
