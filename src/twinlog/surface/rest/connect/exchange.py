"""How requests are read and errors answered, as Connect does it: `{"error_code", "message"}`."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from twinlog.control.audit import NOBODY, Who
from twinlog.control.connector_service import ConnectorService
from twinlog.control.connectors import Connectors
from twinlog.control.orders import Orders
from twinlog.errors import (
    ClusterError,
    ConnectorExists,
    ConnectorReadOnly,
    ConnectorRefused,
    ConnectorUnknown,
    LinkForbidden,
    NotActive,
    TwinlogError,
)
from twinlog.surface.answers.errors import refusal

_STATUS: Final[tuple[tuple[type[TwinlogError], int], ...]] = (
    (ConnectorUnknown, 404),
    (ConnectorExists, 409),
    (ConnectorRefused, 400),
    (ConnectorReadOnly, 403),
    (LinkForbidden, 403),
    (NotActive, 409),
    (ClusterError, 503),
)
_JSON: Final = "application/json"
PROBLEM: Final = {
    "type": "object",
    "properties": {"error_code": {"type": "integer"}, "message": {"type": "string"}},
    "required": ["error_code", "message"],
}
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": text, "content": {"application/json": {"schema": PROBLEM}}}
    for status, text in (
        (400, "The request or the settings in it are wrong"),
        (401, "Nobody logged in"),
        (403, "Not allowed"),
        (404, "There is no such thing"),
        (405, "Not this way"),
        (409, "It exists, or another service runs the links: ask again"),
        (413, "The request is too long"),
        (415, "The body is not said to be JSON"),
        (422, "A parameter cannot be read"),
        (503, "A cluster does not answer"),
    )
}


class ConnectRoute(APIRoute):
    """Turns errors of the rooms below into Connect's answers."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler with the translation around it."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except TwinlogError as error:
                status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
                told, remedy_text = str(error), error.remedy_text()
                pause = "" if told.endswith((".", "`")) else "."
                return refusal(status, f"{told}{pause} {remedy_text}" if remedy_text else told)

        return handle


def service_of(request: Request) -> ConnectorService:
    """The connectors of the service, and who takes orders for them."""
    return cast("ConnectorService", request.app.state.connectors)


def connectors_of(request: Request) -> Connectors:
    """The connectors, to look at."""
    return service_of(request).connectors


def orders_of(request: Request) -> Orders:
    """Whom orders are given to."""
    return service_of(request).orders


def who_asks(request: Request) -> Who:
    """Who gave this order; the gate has looked before."""
    return cast("Who", request.scope.get("twinlog.who") or NOBODY)


def names_seen(request: Request) -> list[str]:
    """The connectors of links that whoever asks may see."""
    connectors, who = connectors_of(request), who_asks(request)
    return [name for name in connectors.names() if (about := connectors.about(name)) is not None and who.sees(about)]


async def read_json(request: Request) -> Any:
    """Read the body. Raises ConnectorRefused for what is no JSON, HTTPException for what does not claim to be."""
    claimed = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if claimed != _JSON and not claimed.endswith("+json"):
        raise HTTPException(415)
    body = await request.body()
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ConnectorRefused("request", "The body is no valid JSON") from None


async def read_object(request: Request) -> dict[str, Any]:
    """Read a body that must be a JSON object."""
    document = await read_json(request)
    if not isinstance(document, dict):
        raise ConnectorRefused("request", "The body must be a JSON object")
    return document


async def read_config(request: Request) -> dict[str, str | None]:
    """Read a map of settings: texts, and what Connect takes for texts."""
    return as_config(await read_object(request))


def as_config(document: Any) -> dict[str, str | None]:
    """Settings as texts. Raises ConnectorRefused for nested ones."""
    if not isinstance(document, dict):
        raise ConnectorRefused("config", "The configuration must be a JSON object")
    return {key: _text(key, value) for key, value in document.items()}


def _text(key: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return json.dumps(value)
    raise ConnectorRefused("config", f"Invalid value for configuration {key}: it must be a text")


def json_body(schema: dict[str, Any], example: Any = None) -> dict[str, Any]:
    """Describe a body in OpenAPI that the route reads itself."""
    content: dict[str, Any] = {"schema": schema}
    if example is not None:
        content["example"] = example
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


CONFIG_SCHEMA: Final = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
}
