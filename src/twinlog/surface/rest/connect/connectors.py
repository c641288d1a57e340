"""`/connectors`: links and pipelines, made, changed, shown, held and ended. Runs in the service's loop."""

from __future__ import annotations

import socket
import unicodedata
from typing import Annotated, Any, Final
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from twinlog.config.security.masking import masked
from twinlog.control.connectors import Connectors
from twinlog.control.refusals import invalid
from twinlog.errors import ConnectorRefused, ConnectorUnknown
from twinlog.model.connectors import TargetState
from twinlog.surface.answers.errors import refusal
from twinlog.surface.http.response_cache import keep_for_all
from twinlog.surface.rest.connect.exchange import (
    CONFIG_SCHEMA,
    PROBLEMS,
    ConnectRoute,
    as_config,
    connectors_of,
    json_body,
    names_seen,
    orders_of,
    read_config,
    read_object,
    service_of,
    who_asks,
)

router = APIRouter(prefix="/connectors", tags=["connectors"], route_class=ConnectRoute, responses=PROBLEMS)

Name = Annotated[str, Path(description="The connector's name; links of the file are called `A->B.Mirror…Connector`.")]
Task = Annotated[str, Path(description="The task's number.")]
_INITIAL: Final[dict[str, TargetState]] = {"RUNNING": "STARTED", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}
_CREATE_FIELDS: Final = ("name", "config", "initial_state")
_CREATE: Final = {
    "type": "object",
    "required": ["name", "config"],
    "properties": {
        "name": {"type": "string"},
        "config": CONFIG_SCHEMA,
        "initial_state": {"type": "string", "enum": ["RUNNING", "PAUSED", "STOPPED"]},
    },
    "additionalProperties": False,
}
_EXAMPLE: Final = {
    "name": "east-to-west",
    "config": {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "east",
        "target.cluster.alias": "west",
        "source.cluster.bootstrap.servers": "east:9092",
        "target.cluster.bootstrap.servers": "west:9092",
        "topics": ".*",
    },
}


@router.get("", summary="List connectors")
async def list_connectors(
    request: Request,
    expand: Annotated[list[str] | None, Query(description="`status`, `info`, or both")] = None,
) -> Response:
    """Names, or with `expand` what is asked of each."""
    connectors = connectors_of(request)
    wanted = set(expand or ()) & {"status", "info"}
    if not expand:
        await keep_for_all(request)
        return JSONResponse(names_seen(request))
    listed = {}
    for name in names_seen(request):
        sides = {"status": _status(connectors, name, request), "info": _info(connectors, name)}
        listed[name] = {side: sides[side] for side in sides if side in wanted}
    return JSONResponse(listed)


@router.post("", summary="Make a connector", status_code=201, openapi_extra=json_body(_CREATE, _EXAMPLE))
async def create(request: Request) -> Response:
    """A MirrorSourceConnector or ReplicatorSourceConnector begins to copy at once."""
    body = await read_object(request)
    for field in body:
        if field not in _CREATE_FIELDS:
            raise ConnectorRefused("request", f'Unrecognized field "{field}"; known are {", ".join(_CREATE_FIELDS)}')
    config = as_config(body.get("config"))
    named = body.get("name")
    name = _good_name(named if isinstance(named, str) else config.get("name"), config)
    asked = body.get("initial_state")
    state = _INITIAL.get(asked.upper()) if isinstance(asked, str) else "STARTED"
    if state is None or not isinstance(asked, str | None):
        raise ConnectorRefused(name, f"initial_state: {asked} is none of RUNNING, PAUSED, STOPPED")
    connectors = connectors_of(request)
    await orders_of(request).create(who_asks(request), name, _whole(config), state)
    where = {"Location": f"{request.base_url}connectors/{quote(name, safe='')}"}
    return JSONResponse(_info(connectors, name), 201, where)


@router.get("/{name}", summary="One connector")
async def get_connector(request: Request, name: Name) -> Response:
    """Its config, tasks and type."""
    return JSONResponse(_info(connectors_of(request), name))


@router.delete("/{name}", summary="End a connector", status_code=204)
async def delete(request: Request, name: Name) -> Response:
    """The link stops; what it copied, and its ledger, stay."""
    await orders_of(request).delete(who_asks(request), name)
    return Response(status_code=204)


@router.get("/{name}/config", summary="Its config")
async def get_config(request: Request, name: Name) -> Response:
    """The config of a connector. Secrets are `***`; a client that sends `***` back keeps the stored secret."""
    return JSONResponse(masked(connectors_of(request).connector(name).config))


@router.put("/{name}/config", summary="Set its config", openapi_extra=json_body(CONFIG_SCHEMA))
async def put_config(request: Request, name: Name) -> Response:
    """All of it; a connector that was not there is made."""
    config = await read_config(request)
    _good_name(name, config)
    connectors = connectors_of(request)
    made, _ = await orders_of(request).put(who_asks(request), name, _whole(config))
    where = {"Location": f"{request.base_url}connectors/{quote(name, safe='')}"}
    return JSONResponse(_info(connectors, name), 201 if made else 200, where if made else None)


@router.patch("/{name}/config", summary="Change its config", openapi_extra=json_body(CONFIG_SCHEMA))
async def patch_config(request: Request, name: Name) -> Response:
    """Some keys of it; null removes one."""
    connectors = connectors_of(request)
    changes = await read_config(request)
    connectors.connector(name)
    _good_name(name, changes)
    await orders_of(request).patch(who_asks(request), name, changes)
    return JSONResponse(_info(connectors, name))


@router.get("/{name}/status", summary="How it stands")
async def get_status(request: Request, name: Name) -> Response:
    """State of the connector and its tasks; `trace` says why data does not move."""
    _known(connectors_of(request), name, f"No status found for connector {name}")
    return JSONResponse(_status(connectors_of(request), name, request))


@router.post("/{name}/restart", summary="Restart", status_code=204)
async def restart(
    request: Request,
    name: Name,
    includeTasks: Annotated[str, Query(description="true or false")] = "false",  # noqa: N803  Connect's name
    onlyFailed: Annotated[str, Query(description="true or false")] = "false",  # noqa: N803  Connect's name
) -> Response:
    """The link's engine is replaced; nothing is lost or copied twice."""
    connectors = connectors_of(request)
    _known(connectors, name, f"Unknown connector: {name}")
    include_tasks, only_failed = (flag.lower() == "true" for flag in (includeTasks, onlyFailed))
    before = _status(connectors, name, request)
    await orders_of(request).restart(who_asks(request), name, only_failed=only_failed)
    if not include_tasks and not only_failed:
        return Response(status_code=204)
    for part in (before["connector"], *(before["tasks"] if include_tasks else ())):
        if not only_failed or part["state"] == "FAILED":
            part["state"] = "RESTARTING"
    return JSONResponse(before, 202)


@router.put("/{name}/pause", summary="Pause", status_code=202)
async def pause(request: Request, name: Name) -> Response:
    """Nothing is copied until it is resumed."""
    _known(connectors_of(request), name, f"Unknown connector {name}")
    await orders_of(request).want(who_asks(request), name, "PAUSED")
    return Response(status_code=202)


@router.put("/{name}/resume", summary="Resume", status_code=202)
async def resume(request: Request, name: Name) -> Response:
    """It continues where it was."""
    _known(connectors_of(request), name, f"Unknown connector {name}")
    await orders_of(request).want(who_asks(request), name, "STARTED")
    return Response(status_code=202)


@router.put("/{name}/stop", summary="Stop", status_code=204)
async def stop(request: Request, name: Name) -> Response:
    """As pause, and its positions may be changed meanwhile."""
    _known(connectors_of(request), name, f"Unknown connector {name}")
    await orders_of(request).want(who_asks(request), name, "STOPPED")
    return Response(status_code=204)


@router.get("/{name}/tasks", summary="Its tasks")
async def get_tasks(request: Request, name: Name) -> Response:
    """One entry per task."""
    connectors = connectors_of(request)
    config = masked(connectors.connector(name).config)
    tasks = [{"id": {"connector": name, "task": n}, "config": config} for n in range(connectors.status(name).tasks)]
    return JSONResponse(tasks)


@router.get("/{name}/tasks/{task}/status", summary="How a task stands")
async def get_task_status(request: Request, name: Name, task: Task) -> Response:
    """State of one task."""
    tasks = _status(connectors_of(request), name, request)["tasks"]
    return JSONResponse(tasks[_task(task, len(tasks), f"No status found for task {name}-{task}")])


@router.post("/{name}/tasks/{task}/restart", summary="Restart a task", status_code=204)
async def restart_task(request: Request, name: Name, task: Task) -> Response:
    """Tasks of a link begin together."""
    connectors = connectors_of(request)
    _known(connectors, name, f"Unknown task: {name}-{task}")
    _task(task, connectors.status(name).tasks, f"Unknown task: {name}-{task}")
    await orders_of(request).restart(who_asks(request), name)
    return Response(status_code=204)


@router.get("/{name}/topics", summary="Topics it writes to")
async def get_topics(request: Request, name: Name) -> Response:
    """The copies on the target, by the link's ledger; what a sync job writes to."""
    connectors = connectors_of(request)
    topics = await connectors.topics(name) if name in connectors.names() else []
    return JSONResponse({name: {"topics": topics}})


@router.put("/{name}/topics/reset", summary="Forget topics it wrote to")
async def reset_topics(request: Request, name: Name) -> Response:
    """Not possible: the list is what the ledger says."""
    del request, name
    return refusal(403, "Topic tracking reset is disabled: the topics of a link are those of its ledger.")


# --- shapes -----------------------------------------------------------------------------------------------------------


def _info(connectors: Connectors, name: str) -> dict[str, Any]:
    tasks = range(connectors.status(name).tasks)
    return {
        "name": name,
        "config": masked(connectors.connector(name).config),
        "tasks": [{"connector": name, "task": number} for number in tasks],
        "type": connectors.type(name),
    }


def _status(connectors: Connectors, name: str, request: Request) -> dict[str, Any]:
    status = connectors.status(name)
    worker = _worker(request, name)
    version = request.app.version
    return {
        "name": name,
        "connector": _part(status.state, worker, status.trace, version),
        "tasks": [
            {"id": number, **_part(state, worker, trace, version)}
            for number in range(status.tasks)
            for state, trace in [status.of_task(number)]
        ],
        "type": connectors.type(name),
    }


def _part(state: str, worker: str, trace: str | None, version: str) -> dict[str, Any]:
    part = {"state": state, "worker_id": worker, "version": version}
    # PAUSED without an order is a link that a switch holds: the reason tells it from one that an operator paused.
    return {**part, "trace": trace} if trace and state in {"FAILED", "PAUSED"} else part


def _worker(request: Request, name: str) -> str:
    url = service_of(request).sharing.url_of(name)
    place = urlsplit(url).netloc if url else request.url.netloc
    return place or f"{socket.gethostname()}:8083"


def _task(task: str, tasks: int, sentence: str) -> int:
    if not task.isdecimal():
        raise ConnectorUnknown(task, "HTTP 404 Not Found")
    if len(task) > 9 or int(task) >= tasks:
        raise ConnectorUnknown(task, sentence)
    return int(task)


def _good_name(name: str | None, config: dict[str, str | None]) -> str:
    """The name, which must be the same wherever it stands."""
    trimmed = (name or "").strip()
    inside = config.get("name")
    if inside is not None and inside.strip() != trimmed:
        raise ConnectorRefused(
            trimmed, f"Connector name configuration ({inside}) doesn't match connector name in the URL ({trimmed})"
        )
    if not trimmed:
        raise ConnectorRefused("", invalid(["Invalid value  for configuration name: String may not be empty"]))
    if "/" in trimmed or any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in trimmed):
        raise ConnectorRefused(trimmed, "A connector name must hold neither `/` nor control characters")
    return trimmed


def _whole(config: dict[str, str | None]) -> dict[str, str]:
    whole = {key: value for key, value in config.items() if value is not None}
    if len(whole) < len(config):
        raise ConnectorRefused("config", invalid(["Null value can not be supplied as the configuration value."]))
    return whole


def _known(connectors: Connectors, name: str, sentence: str) -> None:
    """Connect says it in other words for each order."""
    if name not in connectors.names():
        raise ConnectorUnknown(name, sentence)
