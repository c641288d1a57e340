"""Kafka Connect's REST interface over the pipelines of a worker (`twinlog connect`)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, Final, cast

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from twinlog.errors import (
    ClusterError,
    ConnectorExists,
    ConnectorRefused,
    ConnectorUnknown,
    NotActive,
    TwinlogError,
)
from twinlog.kafka.admin import ClusterAdmin
from twinlog.pipelines.api import Retriable, Superseded
from twinlog.pipelines.connect_service import ConnectService
from twinlog.pipelines.connect_state import Target
from twinlog.pipelines.connector import read_connector
from twinlog.pipelines.files import texts
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.sink_planner import SinkPlanner
from twinlog.pipelines.source_planner import SourcePlanner
from twinlog.pipelines.stored_offsets import StoredOffsets
from twinlog.pipelines.validate import definitions, plugin_list, validated

_STATUS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (ConnectorUnknown, 404),
    (ConnectorExists, 409),
    (NotActive, 409),
    (ConnectorRefused, 400),
    (SettingsRefused, 400),
    (ClusterError, 503),
    (Retriable, 503),
    (Superseded, 409),
)
_TARGETS: Final[dict[str, Target]] = {"RUNNING": "STARTED", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}
Answer = Any


def _refused(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error_code": status, "message": message}, status)


def pipelines_app(service: ConnectService) -> FastAPI:
    """The application of one worker."""
    app = FastAPI(title="Twinlog pipelines", docs_url=None, redoc_url=None, openapi_url=None)

    async def known(_: Request, error: Exception) -> Response:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        return _refused(status, str(error))

    for kind in (TwinlogError, SettingsRefused, Retriable, Superseded):
        app.add_exception_handler(kind, known)
    app.add_exception_handler(404, _not_found)
    app.add_exception_handler(405, _not_found)
    _add_worker(app, service)
    _add_connectors(app, service)
    _add_orders(app, service)
    _add_offsets(app, service)
    _add_plugins(app, service)
    return app


async def _not_found(request: Request, error: Exception) -> Response:
    status = int(getattr(error, "status_code", 404))
    return _refused(
        status, f"HTTP {status} {'Not Found' if status == 404 else 'Method Not Allowed'}: {request.url.path}"
    )


async def _object(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(await request.body() or b"null")
    except ValueError as error:
        raise ConnectorRefused("request", f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConnectorRefused("request", "the body must be a JSON object")
    return found


def _add_worker(app: FastAPI, service: ConnectService) -> None:
    @app.get("/")
    def root() -> Answer:
        cluster = ""
        try:
            cluster = ClusterAdmin(service.worker.cluster).fetch_cluster_id()
        except TwinlogError:
            cluster = ""
        return {"version": version("twinlog"), "commit": "unknown", "kafka_cluster_id": cluster}

    @app.get("/health")
    def health() -> Answer:
        if not service.leads and not service.state.leader:
            return JSONResponse({"status": "starting", "message": "no worker runs the connectors yet"}, 503)
        where = "runs the connectors" if service.leads else f"stands by for {service.state.leader.get('url')}"
        return {"status": "healthy", "message": f"Worker {where}."}


def _info(service: ConnectService, name: str) -> dict[str, Any]:
    status = service.status(name)
    tasks = [{"connector": name, "task": one["id"]} for one in status["tasks"]]
    return {"name": name, "config": service.shown(name), "tasks": tasks, "type": status["type"]}


def _add_connectors(app: FastAPI, service: ConnectService) -> None:
    @app.get("/connectors")
    def names(request: Request) -> Answer:
        wanted = request.query_params.getlist("expand")
        listed = sorted(service.state.connectors)
        if not {"status", "info"} & set(wanted):
            return listed
        shown: dict[str, Callable[[str], Any]] = {"status": service.status, "info": lambda one: _info(service, one)}
        return {one: {part: shown[part](one) for part in wanted if part in shown} for one in listed}

    @app.post("/connectors")
    async def create(request: Request) -> Answer:
        body = await _object(request)
        config = body.get("config")
        name = str(body.get("name") or (config or {}).get("name") or "").strip()
        if not name or not isinstance(config, dict):
            raise ConnectorRefused("request", "`name` and `config` are needed")
        wish = str(body.get("initial_state") or "RUNNING").upper()
        if wish not in _TARGETS:
            raise ConnectorRefused(name, f"initial_state: {wish} is none of RUNNING, PAUSED, STOPPED")
        await run_in_threadpool(service.create, name, texts(config), _TARGETS[wish])
        return JSONResponse(_info(service, name), 201, {"Location": f"/connectors/{name}"})

    @app.get("/connectors/{name}")
    def one(name: str) -> Answer:
        service.config(name)
        return _info(service, name)

    @app.get("/connectors/{name}/config")
    def config(name: str) -> Answer:
        return service.shown(name)

    @app.put("/connectors/{name}/config")
    async def put(name: str, request: Request) -> Answer:
        is_new = name not in service.state.connectors
        await run_in_threadpool(service.put, name, texts(await _object(request)), "STARTED" if is_new else None)
        return JSONResponse(_info(service, name), 201 if is_new else 200)

    @app.patch("/connectors/{name}/config")
    async def patch(name: str, request: Request) -> Answer:
        change = await _object(request)
        after = {key: value for key, value in service.config(name).items() if change.get(key, "") is not None}
        await run_in_threadpool(service.put, name, after | texts(change))
        return _info(service, name)

    @app.get("/connectors/{name}/status")
    def status(name: str) -> Answer:
        return service.status(name)

    @app.get("/connectors/{name}/tasks")
    def tasks(name: str) -> Answer:
        shown = service.shown(name)
        return [
            {"id": {"connector": name, "task": one["id"]}, "config": shown} for one in service.status(name)["tasks"]
        ]

    @app.get("/connectors/{name}/tasks/{task}/status")
    def task(name: str, task: int) -> Answer:
        for found in service.status(name)["tasks"]:
            if found["id"] == task:
                return found
        raise ConnectorUnknown(name, f"No status found for task {name}-{task}")

    @app.get("/connectors/{name}/topics")
    def topics(name: str) -> Answer:
        service.config(name)
        engine = service.pipelines.engine(name)
        planner = None if engine is None else engine.planner
        used: list[str] = []
        if isinstance(planner, SinkPlanner):
            used = planner.topics()
        elif isinstance(planner, SourcePlanner):
            used = sorted({topic for topic, _, _ in planner.streams})
        return {name: {"topics": used}}


def _add_orders(app: FastAPI, service: ConnectService) -> None:
    def order(path: str, target: Target, status: int) -> None:
        async def wish(name: str) -> Response:
            await run_in_threadpool(service.wish, name, target)
            return Response(status_code=status)

        app.put(f"/connectors/{{name}}/{path}")(cast("Callable[..., Awaitable[Any]]", wish))

    order("pause", "PAUSED", 202)
    order("resume", "STARTED", 202)
    order("stop", "STOPPED", 204)

    @app.post("/connectors/{name}/restart")
    async def restart(name: str, includeTasks: bool = False, onlyFailed: bool = False) -> Response:  # noqa: N803
        await run_in_threadpool(service.restart, name)
        if not (includeTasks or onlyFailed):
            return Response(status_code=204)
        status = service.status(name)
        status["connector"]["state"] = "RESTARTING"
        return JSONResponse(status, 202)

    @app.post("/connectors/{name}/tasks/{task}/restart")
    async def restart_task(name: str, task: int) -> Response:
        if task not in {one["id"] for one in service.status(name)["tasks"]}:
            raise ConnectorUnknown(name, f"Unknown task: {name}-{task}")
        await run_in_threadpool(service.restart, name)
        return Response(status_code=204)

    @app.delete("/connectors/{name}")
    async def delete(name: str) -> Response:
        await run_in_threadpool(service.delete, name)
        return Response(status_code=204)


def _stored(service: ConnectService, name: str) -> StoredOffsets:
    return StoredOffsets(read_connector(name, service.config(name), service.worker.config), service.worker)


def _add_offsets(app: FastAPI, service: ConnectService) -> None:
    def stopped(name: str) -> StoredOffsets:
        if service.state.target(name) != "STOPPED" or service.pipelines.engine(name) is not None:
            told = "Connectors must be in the STOPPED state before their offsets can be modified."
            raise ConnectorRefused(name, told)
        return _stored(service, name)

    @app.get("/connectors/{name}/offsets")
    def offsets(name: str) -> Answer:
        return {"offsets": _stored(service, name).shown()}

    @app.patch("/connectors/{name}/offsets")
    async def alter(name: str, request: Request) -> Answer:
        service.config(name)
        wishes = (await _object(request)).get("offsets")
        if not isinstance(wishes, list) or not wishes:
            raise ConnectorRefused(name, "Partitions / offsets need to be provided for an alter offsets request")
        await run_in_threadpool(lambda: stopped(name).change(wishes, service.pipelines.claim(name)))
        return {"message": "The offsets for this connector have been altered successfully"}

    @app.delete("/connectors/{name}/offsets")
    async def reset(name: str) -> Answer:
        service.config(name)
        await run_in_threadpool(lambda: stopped(name).clear(service.pipelines.claim(name)))
        return {"message": "The offsets for this connector have been reset successfully"}


def _add_plugins(app: FastAPI, service: ConnectService) -> None:
    @app.get("/connector-plugins")
    def plugins(connectorsOnly: bool = True) -> Answer:  # noqa: N803
        return plugin_list(connectors_only=connectorsOnly)

    @app.get("/connector-plugins/{name}/config")
    def keys(name: str) -> Answer:
        try:
            return definitions(name)
        except SettingsRefused as error:
            raise ConnectorUnknown(name, f"Unknown plugin {name}") from error

    @app.put("/connector-plugins/{name}/config/validate")
    async def validate(name: str, request: Request) -> Answer:
        config = texts(await _object(request))
        config.setdefault("connector.class", name)
        return await run_in_threadpool(validated, name, config, service.worker.config)
