"""/ui/pipelines: all pipelines, and the pages of one: tasks, parked records, offsets, preview, settings.

They change nothing. What a button does it asks of /v1 and /connectors, as any other client.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse

from twinlog.surface.answers.pipelines import PipelineDetail, detail_of, parked_of, preview_of, summary_of
from twinlog.surface.http.response_cache import FOR_VISITOR
from twinlog.surface.page.visit import PageRoute, TheVisit, Visit

_SHOWN: Final = 100
_SAMPLES: Final = 3

router = APIRouter(prefix="/ui/pipelines", route_class=PageRoute, include_in_schema=False)


def add_pipeline_pages(app: FastAPI) -> None:
    """Add the pages of pipelines to the application."""
    app.include_router(router)


@router.get("", dependencies=[FOR_VISITOR])
def pipelines_page(visit: TheVisit) -> HTMLResponse:
    """All pipelines."""
    return visit.page("pipelines.html", **_all(visit), here="pipelines")


@router.get("/-/parts/list", dependencies=[FOR_VISITOR])
def pipelines_part(visit: TheVisit) -> HTMLResponse:
    """The list, again."""
    return visit.page("pipelines_part.html", **_all(visit))


def _all(visit: Visit) -> dict[str, Any]:
    summaries = [summary_of(look) for look in visit.app_state.pipelines()]
    bad_first = {"FAILED": 0, "DEGRADED": 1}
    return {"pipelines": sorted(summaries, key=lambda summary: (bad_first.get(summary.state, 2), summary.name))}


def _pipeline(visit: Visit, name: str, tab: str) -> dict[str, Any]:
    return {
        "pipeline": detail_of(visit.app_state.pipeline(name)),
        "tab": tab,
        "here": "pipeline",
        "may_order": visit.who.may("operator", name),
        "most": _SHOWN,
    }


@router.get("/{name}")
def pipeline_page(name: str, visit: TheVisit) -> HTMLResponse:
    """One pipeline and its tasks."""
    return visit.page("pipeline.html", **_pipeline(visit, name, "tasks"))


@router.get("/{name}/parts/head")
def head_part(name: str, visit: TheVisit) -> HTMLResponse:
    """State and numbers, again."""
    return visit.page("pipeline_head.html", **_pipeline(visit, name, "tasks"))


@router.get("/{name}/parts/tasks")
def tasks_part(name: str, visit: TheVisit) -> HTMLResponse:
    """Tasks and faults, again."""
    return visit.page("pipeline_part.html", **_pipeline(visit, name, "tasks"))


@router.get("/{name}/parked")
async def parked_page(name: str, visit: TheVisit) -> HTMLResponse:
    """Records that it could not handle, and what was done with them."""
    values = _pipeline(visit, name, "parked")
    return visit.page("pipeline_parked.html", **values, **await _parked(visit, values["pipeline"]))


@router.get("/{name}/parts/parked")
async def parked_part(name: str, visit: TheVisit) -> HTMLResponse:
    """The list of parked records, again."""
    values = _pipeline(visit, name, "parked")
    return visit.page("pipeline_parked_part.html", **values, **await _parked(visit, values["pipeline"]))


async def _parked(visit: Visit, pipeline: PipelineDetail) -> dict[str, Any]:
    if not pipeline.dead_letters:
        return {"letters": [], "open": 0, "closed": 0}
    records = await visit.app_state.backend.pipelines.parked(pipeline.name)
    waiting = [record for record in records if record.action == "open"]
    shown = [*parked_of(waiting, contents=visit.who.may("operator", pipeline.name))]
    closed = parked_of([record for record in records if record.action != "open"], contents=False)
    return {"letters": [*shown, *closed], "open": len(waiting), "closed": len(closed)}


@router.get("/{name}/offsets")
async def offsets_page(name: str, visit: TheVisit) -> HTMLResponse:
    """How far it is: asked of its topics, its group or its system."""
    values = _pipeline(visit, name, "offsets")
    offsets = await visit.app_state.backend.pipelines.offsets(name)
    return visit.page("pipeline_offsets.html", **values, offsets=offsets)


@router.get("/{name}/preview")
def preview_page(name: str, visit: TheVisit) -> HTMLResponse:
    """A button: a preview reads samples and runs a Spark job."""
    return visit.page("pipeline_preview.html", **_pipeline(visit, name, "preview"))


@router.get("/{name}/parts/preview")
async def preview_part(name: str, visit: TheVisit) -> HTMLResponse:
    """Samples after each step. They are contents of records, so they are for operators."""
    values = _pipeline(visit, name, "preview")
    preview = None
    if values["may_order"]:
        if visit.app_state.audit is not None:
            visit.app_state.audit.note(visit.who, "preview", name, after={"rows": _SAMPLES})
        preview = preview_of(await visit.app_state.backend.pipelines.preview(name, _SAMPLES))
    return visit.page("pipeline_preview_part.html", **values, preview=preview)


@router.get("/{name}/settings")
def settings_page(name: str, visit: TheVisit) -> HTMLResponse:
    """Its configuration. Secrets are masked."""
    return visit.page("pipeline_settings.html", **_pipeline(visit, name, "settings"))
