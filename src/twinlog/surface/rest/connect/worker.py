"""`/`, `/health` and `/admin/loggers`: what Connect reports about a worker, for this service."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from twinlog.control.audit import Who
from twinlog.control.levels import LEVELS, OWN, is_own, known_loggers, level_of, set_level
from twinlog.errors import ConnectorRefused, ConnectorUnknown, TwinlogError
from twinlog.surface.answers.errors import refusal
from twinlog.surface.rest.connect.exchange import (
    PROBLEMS,
    ConnectRoute,
    json_body,
    orders_of,
    read_object,
    service_of,
    who_asks,
)

router = APIRouter(tags=["worker"], route_class=ConnectRoute, responses=PROBLEMS)

_LEVEL: Final = {"type": "object", "required": ["level"], "properties": {"level": {"enum": list(LEVELS)}}}


@router.get("/", summary="Who this is")
async def root(request: Request) -> Response:
    """Version and the id of the cluster that keeps the links; a browser is sent on to the page."""
    if hasattr(request.app.state, "app_state") and "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/ui/", 303)
    cluster_id = ""
    find = request.app.state.cluster_id
    if find is not None:
        try:
            cluster_id = await asyncio.to_thread(find)
        except TwinlogError:
            cluster_id = ""  # the answer is about us; that the cluster is away says /health
    return JSONResponse({"version": request.app.version, "commit": "unknown", "kafka_cluster_id": cluster_id})


@router.get("/health", summary="Whether it can be asked")
async def health(request: Request) -> Response:
    """As Connect means it: the service has read its links, and no other engine has one of them.

    Whether data moves says /readyz.
    """
    service, who = service_of(request), who_asks(request)
    leadership = service.leadership
    if leadership.trouble is not None:
        # It may name any link: who sees only some of them is told that there is one.
        why = leadership.trouble if who.view is None else "its log and people who see all links are told why"
        return JSONResponse({"status": "starting", "message": f"Not ready: {why}"}, 503)
    if leadership.waits_for_election:
        told = f"Not ready: it is not decided yet who runs the links of the group {leadership.group}"
        return JSONResponse({"status": "starting", "message": told}, 503)
    if missing := leadership.unserved:
        named = _named(who, dict.fromkeys(missing, ""))
        leader = f"{leadership.leader_url} leads the group {leadership.group}"
        told = f"{leader} and its file has no {named}: no engine copies them"
        return JSONResponse({"status": "unhealthy", "message": told}, 500)
    if lost := service.superseded:
        return JSONResponse({"status": "unhealthy", "message": _named(who, lost)}, 500)
    leader = leadership.leader_url or "the active service"
    where = "runs the links" if leadership.active else f"is the standby of {leader}"
    sharing = service.sharing
    shared = f", and runs {len(sharing.holds)} pipelines of the group" if sharing.is_shared else ""
    trouble = "" if sharing.trouble is None or who.view is not None else f"; {sharing.trouble}"
    return JSONResponse({"status": "healthy", "message": f"This service {where}{shared}{trouble}"})


def _named(who: Who, links: Mapping[str, str]) -> str:
    """Links with what is said of each, as far as somebody may see them; of the others only how many there are."""
    shown = [f"{link}: {says}" if says else link for link, says in links.items() if who.sees(link)]
    hidden = len(links) - len(shown)
    others = [f"{hidden} link{'s' if hidden > 1 else ''} that you may not see"] if hidden else []
    return ", ".join([*shown, *others])


@router.get("/admin/loggers", summary="Levels of logging")
async def list_loggers() -> Response:
    """Of each logger that has one of its own."""
    return JSONResponse({name: level_of(name)._asdict() for name in known_loggers()})


@router.get("/admin/loggers/{logger}", summary="Level of one logger")
async def get_logger(logger: Annotated[str, Path()]) -> Response:
    """The level in force."""
    if logger not in known_loggers():
        raise ConnectorUnknown(logger, f"Logger {logger} not found.")
    return JSONResponse(level_of(logger)._asdict())


@router.put("/admin/loggers/{logger}", summary="Set the level of a logger", openapi_extra=json_body(_LEVEL))
async def put_logger(
    request: Request,
    logger: Annotated[str, Path()],
    scope: Annotated[str, Query(description="`worker`: this service; `cluster`: all of its group")] = "worker",
) -> Response:
    """Until the service is started again. The answer lists what changed; with the scope `cluster` it is empty."""
    level = (await read_object(request)).get("level")
    if not isinstance(level, str):
        raise ConnectorRefused(logger, "Desired 'level' parameter was not specified in request.")
    if level.upper() not in LEVELS:
        raise ConnectorUnknown(logger, f"invalid log level '{level}'.")
    if not is_own(logger):
        return refusal(404, f"Logger {logger} not found; loggers here are root and {OWN}.*")
    who = who_asks(request)
    if scope.lower() == "cluster":
        await orders_of(request).set_levels(who, logger, level.upper())
        return Response(status_code=204)
    before = level_of(logger).level
    changed = set_level(logger, level.upper())
    service_of(request).audit.note(who, "set level", logger, before=before, after=level.upper())
    return JSONResponse(changed)
