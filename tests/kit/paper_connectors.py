"""Connectors on paper: what the page's actions of links and pipelines ask for, with states that orders change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

if TYPE_CHECKING:
    from tests.kit.paper_backend import PaperBackend

_CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
_STATES = {"pause": "PAUSED", "resume": "RUNNING", "stop": "STOPPED"}


def paper_connectors(backend: PaperBackend) -> APIRouter:
    """The part of Connect's interface that the page uses."""
    router = APIRouter()
    states: dict[str, str] = {}

    @router.get("/connectors")
    def connectors() -> dict[str, Any]:
        found: dict[str, Any] = {}
        for link in backend.links():
            name = f"{link.name}.MirrorSourceConnector"
            aliases = {"source.cluster.alias": link.source, "target.cluster.alias": link.target}
            state = states.get(name, "RUNNING")
            found[name] = {
                "info": {"config": {"connector.class": _CLASS, **aliases}},
                "status": {"connector": {"state": state}},
            }
        for name in backend.pipelines.names():
            view = backend.pipelines.view(name)
            found[name] = {
                "info": {"config": {"connector.class": view.class_name}},
                "status": {"connector": {"state": states.get(name, view.status.state)}},
            }
        return found

    @router.get("/connectors/{name}/config")
    def config(name: str) -> Any:
        if name not in backend.pipelines.names():
            return JSONResponse({"error_code": 404, "message": f"Connector {name} not found"}, 404)
        return dict(backend.pipelines.view(name).config)

    @router.get("/connectors/{name}/offsets")
    def offsets(name: str) -> Any:
        return config(name) if name not in backend.pipelines.names() else {"offsets": []}

    @router.put("/connectors/{name}/{order}", status_code=202)
    def order(name: str, order: str) -> Response:
        states[name] = _STATES[order]
        return Response(status_code=202)

    return router
