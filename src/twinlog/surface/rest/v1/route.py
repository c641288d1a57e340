"""How /v1 answers errors: a problem with code, sentence and way out, in one shape for all of its routes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

from twinlog.errors import (
    ClusterError,
    ConnectorRefused,
    ConnectorUnknown,
    GroupUnknown,
    LinkUnknown,
    ParkedRefused,
    PositionUnknown,
    SelectionEmpty,
    SettingsInvalid,
    SwitchRefused,
    SwitchRunning,
    TwinlogError,
    UsageError,
)
from twinlog.surface.answers.errors import Problem, problem
from twinlog.surface.http.operations import BusyError, KeyReusedError

_STATUS: Final[tuple[tuple[type[TwinlogError], int], ...]] = (
    (LinkUnknown, 404),
    (GroupUnknown, 404),
    (PositionUnknown, 404),
    (SelectionEmpty, 404),
    (SwitchRunning, 409),
    (SwitchRefused, 409),
    (SettingsInvalid, 409),
    (ConnectorUnknown, 404),
    (ConnectorRefused, 409),
    (ParkedRefused, 409),
    (UsageError, 400),
    (ClusterError, 503),
)
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    code: {"model": Problem, "description": text}
    for code, text in (
        (400, "The request cannot be meant"),
        (404, "There is no such thing"),
        (409, "Not in this state"),
        (503, "A cluster does not answer"),
    )
}


class V1Route(APIRoute):
    """Translates errors of the rooms below."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler with the translation around it."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except TwinlogError as error:
                status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
                return problem(status, error.code, str(error), error.remedy_text())
            except KeyReusedError:
                way = "Take a new key for a new request."
                return problem(409, "KEY_REUSED", "This idempotency key belongs to another request.", way)
            except BusyError as error:
                return problem(409, "BUSY", str(error), "Wait for it: /v1/operations tells how far it is.")

        return handle
