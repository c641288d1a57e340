"""/livez and /readyz. Alive: this process answers. Ready: the data of every link moves, or has no reason to."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from twinlog.model.health.readiness import reasons_against
from twinlog.surface.http.app_state import AppState, TheAppState

router = APIRouter(tags=["health"])
TheLink = Annotated[str, Query(max_length=500, description="Only this link.")]


@router.get("/livez")
async def live() -> dict[str, str]:
    """200 while the process answers."""
    return {"status": "alive"}


@router.get("/readyz", responses={503: {"description": "Some link does not move"}})
async def ready(app_state: TheAppState, link: TheLink = "") -> Response:
    """200 when the data of every link moves, or of the one that is asked for. Asked without a login: yes or no."""
    well = is_ready(app_state, link)
    return JSONResponse({"status": "ready" if well else "not ready"}, 200 if well else 503)


@router.get("/v1/readiness")
async def readiness(app_state: TheAppState, link: TheLink = "") -> dict[str, list[str]]:
    """Why each link is not ready; an empty list for one that is."""
    return reasons(app_state, link)


def is_ready(app_state: AppState, link: str) -> bool:
    """Whether the data of every link moves, or of one; not while there is none."""
    by_link = reasons(app_state, link)
    return bool(by_link) and not any(by_link.values())


def reasons(app_state: AppState, link: str) -> dict[str, list[str]]:
    """What speaks against each link."""
    return {
        snapshot.link.name: list(reasons_against(snapshot.status, snapshot.trouble, tuple(snapshot.last_looks)))
        for snapshot in app_state.snapshots()
        if link in {"", snapshot.link.name}
    }
