"""`/`, `/health` and `/admin/loggers`: what Connect tells about a worker, told about this service."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from twinlog.errors import ConnectorRefused, ConnectorUnknown, TwinlogError
from twinlog.surface.rest.connect.exchange import (
    PROBLEMS,
    ConnectRoute,
    json_body,
    read_object,
    refusal,
    steward_of,
    who_asks,
)

router = APIRouter(tags=["worker"], route_class=ConnectRoute, responses=PROBLEMS)

_LEVELS: Final = {
    "TRACE": 5, "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL, "OFF": logging.CRITICAL + 10,
}  # fmt: skip
_LEVEL: Final = {"type": "object", "required": ["level"], "properties": {"level": {"enum": list(_LEVELS)}}}
_OURS: Final = "twinlog"
_CHANGED: Final[dict[str, int]] = {}
"""Logger -> when its level was changed over HTTP, in ms; a level belongs to the process, and so does this."""


@router.get("/", summary="Who this is")
async def root(request: Request) -> Response:
    """Version and the id of the cluster that keeps the links."""
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
    """As Connect means it: the service has read its links. Whether data moves says /readyz."""
    steward = steward_of(request)
    if steward.trouble is not None:
        return JSONResponse({"status": "starting", "message": f"Not ready: {steward.trouble}"}, 503)
    if missing := ", ".join(steward.unserved):
        told = f"{steward.leader_url} leads the group {steward.group} and its file has no {missing}: nobody copies them"
        return JSONResponse({"status": "unhealthy", "message": told}, 500)
    where = "runs the links" if steward.active else f"stands by for {steward.leader_url or 'the active service'}"
    return JSONResponse({"status": "healthy", "message": f"This service {where}"})


@router.get("/admin/loggers", summary="Levels of logging")
async def list_loggers() -> Response:
    """Of each logger that has one of its own."""
    return JSONResponse({name: _shown(name) for name in sorted(_loggers())})


@router.get("/admin/loggers/{logger}", summary="Level of one logger")
async def get_logger(logger: Annotated[str, Path()]) -> Response:
    """The level in force."""
    if logger not in _loggers():
        raise ConnectorUnknown(logger, f"Logger {logger} not found.")
    return JSONResponse(_shown(logger))


@router.put("/admin/loggers/{logger}", summary="Set the level of a logger", openapi_extra=json_body(_LEVEL))
async def put_logger(
    request: Request, logger: Annotated[str, Path()], scope: Annotated[str, Query()] = "worker"
) -> Response:
    """Of this service, until it is started again; the answer lists what changed."""
    level = (await read_object(request)).get("level")
    if not isinstance(level, str):
        raise ConnectorRefused(logger, "Desired 'level' parameter was not specified in request.")
    if level.upper() not in _LEVELS:
        raise ConnectorUnknown(logger, f"invalid log level '{level}'.")
    if logger != "root" and logger.partition(".")[0] != _OURS:
        return refusal(404, f"Logger {logger} not found; loggers here are root and {_OURS}.*")
    below = {name for name in _loggers() if name.startswith(f"{logger}.")} | {logger}
    for name in below:
        _logger(name).setLevel(_LEVELS[level.upper()])
        _CHANGED[name] = int(time.time() * 1000)
    steward_of(request).audit.note(who_asks(request), "set level", logger, after=level.upper())
    return Response(status_code=204) if scope == "cluster" else JSONResponse(sorted(below))


def _loggers() -> set[str]:
    named = {name for name in list(logging.Logger.manager.loggerDict) if name.partition(".")[0] == _OURS}
    return {"root", *(name for name in named if _logger(name).level or name in _CHANGED), _OURS}


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == "root" else name)


def _shown(name: str) -> dict[str, Any]:
    level = _logger(name).getEffectiveLevel()
    word = next((word for word, number in sorted(_LEVELS.items(), key=lambda pair: pair[1]) if number >= level), "OFF")
    return {"level": word, "last_modified": _CHANGED.get(name)}
