"""/v1/pipelines: state, rate and lag of pipelines, their parked records, a preview. Connect's part is `/connectors`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from twinlog.control.audit import NOBODY, Who
from twinlog.errors import TwinlogError, UsageError
from twinlog.surface.answers.pipelines import (
    ParkedRecord,
    PipelineDetail,
    PipelineSummary,
    PreviewAnswer,
    detail_of,
    parked_of,
    preview_of,
    summary_of,
)
from twinlog.surface.http.app_state import AppState, TheAppState
from twinlog.surface.rest.v1.route import PROBLEMS, V1Route

router = APIRouter(prefix="/v1/pipelines", route_class=V1Route, tags=["pipelines"], responses=PROBLEMS)


class _Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ReplayRequest(_Wish):
    """Which parked records are written back; none named: all that are open."""

    at: list[str] = Field(default_factory=list, max_length=1000, description="PARTITION:OFFSET of each.")
    value: str | None = Field(None, max_length=10_000_000, description="The repaired value of the only one named.")
    to: str | None = Field(None, min_length=1, max_length=249, description="Topic; otherwise the one it came from.")


class DropRequest(_Wish):
    """Which parked records nothing will be done with."""

    at: list[str] = Field(min_length=1, max_length=1000)


class PreviewRequest(_Wish):
    """How many samples."""

    rows: int = Field(5, ge=1, le=100)


class Done(BaseModel):
    """What was done."""

    records: int
    message: str


def _who(request: Request) -> Who:
    who: Who = request.scope.get("twinlog.who") or NOBODY
    return who


@router.get("")
def list_pipelines(app_state: TheAppState) -> list[PipelineSummary]:
    """All pipelines, those that stand still included."""
    return [summary_of(look) for look in app_state.pipelines()]


@router.get("/{name}")
def show_pipeline(name: str, app_state: TheAppState) -> PipelineDetail:
    """One pipeline: tasks, faults, lag by partition, configuration."""
    return detail_of(app_state.pipeline(name))


@router.get("/{name}/parked")
async def list_parked(
    name: str,
    app_state: TheAppState,
    request: Request,
    every: Annotated[bool, Query(alias="all", description="Also those that were replayed or dropped.")] = False,
) -> list[ParkedRecord]:
    """Its parked records, newest first. Whoever may replay them sees keys and values, too."""
    app_state.pipeline(name)
    records = [record for record in await app_state.backend.pipelines.parked(name) if every or record.action == "open"]
    return parked_of(records, contents=_who(request).may("operator", name))


@router.post("/{name}/parked/replay")
async def replay_parked(name: str, wish: ReplayRequest, app_state: TheAppState, request: Request) -> Done:
    """Write open records back to the topic that they came from, each once."""
    app_state.pipeline(name)
    if wish.value is not None and len(wish.at) != 1:
        raise UsageError(f"{name}: `value` repairs one record; name one in `at`")
    repaired = {} if wish.value is None else {wish.at[0]: wish.value.encode()}
    asked = {"at": wish.at or "all that are open", "repaired": sorted(repaired), "to": wish.to}
    with _audited(app_state, request, "replay parked records", name, asked):
        count = await app_state.backend.pipelines.replay(name, wish.at, repaired, wish.to)
    return Done(records=count, message=f"{_records(count)} written back")


@router.post("/{name}/parked/drop")
async def drop_parked(name: str, wish: DropRequest, app_state: TheAppState, request: Request) -> Done:
    """Say that nothing will be done with them. Their bytes stay in the topic for as long as the topic keeps them."""
    app_state.pipeline(name)
    with _audited(app_state, request, "drop parked records", name, {"at": wish.at}):
        count = await app_state.backend.pipelines.drop(name, wish.at)
    return Done(records=count, message=f"{_records(count)} dropped")


@router.post("/{name}/preview")
async def preview_pipeline(name: str, wish: PreviewRequest, app_state: TheAppState, request: Request) -> PreviewAnswer:
    """Sample records after each step, and what the target would be sent. Nothing is written but the audit."""
    app_state.pipeline(name)
    with _audited(app_state, request, "preview", name, {"rows": wish.rows}):
        return preview_of(await app_state.backend.pipelines.preview(name, wish.rows))


@contextmanager
def _audited(app_state: AppState, request: Request, what: str, name: str, asked: dict[str, Any]) -> Iterator[None]:
    """Write down who ordered it, also when it is refused. Contents of records are not written."""
    outcome = "failed"
    try:
        yield
        outcome = "done"
    except TwinlogError as error:
        outcome = f"refused: {error.code}"
        raise
    finally:
        if app_state.audit is not None:
            app_state.audit.note(_who(request), what, name, after=asked, outcome=outcome)


def _records(count: int) -> str:
    return "1 record was" if count == 1 else f"{count:,} records were"
