"""/livez and /readyz. Alive: this process answers. Ready: the data of every link moves, or has no reason to."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from twinlog.model.readiness import reasons_against
from twinlog.surface.rest.desk import TheDesk

router = APIRouter(tags=["health"])


@router.get("/livez")
def live() -> dict[str, str]:
    """200 while the process answers."""
    return {"status": "alive"}


@router.get("/readyz", responses={503: {"description": "Some link does not move; the answer says which and why"}})
def ready(desk: TheDesk, link: Annotated[str, Query(max_length=500, description="Only this link.")] = "") -> Response:
    """200 when the data of every link moves, or of the one that is asked for."""
    sights = [sight for sight in desk.sights() if link in {"", sight.link.name}]
    against = {
        sight.link.name: list(reasons_against(sight.status, sight.trouble, list(sight.movements.values())))
        for sight in sights
    }
    well = bool(sights) and not any(against.values())
    why = against if sights else {link or "this service": ["no such link runs here"]}
    return JSONResponse({"status": "ready" if well else "not ready", "links": why}, 200 if well else 503)
