"""The HTTP application: which routers there are, and what they share. Runs in the service's own loop.

    gate (length, time, who, may they) ─▶ paths (one way to say it) ─▶ forward (to the active service)
        ─▶ response cache ─▶ routers

Routers find the running service as `request.app.state.service` and its connectors as `request.app.state.connectors`.
They decide nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from twinlog.config.service_settings import HttpSettings
from twinlog.control.connector_service import ConnectorService
from twinlog.service.links import Service
from twinlog.surface.answers.errors import refused
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.forward import Forward
from twinlog.surface.http.gate import Gate
from twinlog.surface.http.local_login import TokenLogin
from twinlog.surface.http.response_cache import ResponseCache
from twinlog.surface.http.routers import add_routers
from twinlog.surface.http.safe_headers import SafeHeaders, add_safe_headers
from twinlog.surface.rest.connect import connectors, offsets, plugins, worker
from twinlog.surface.rest.connect.paths import Paths

log = logging.getLogger("twinlog.rest")

_DESCRIBED: Final = "`/openapi.json` tells every path, and what it takes."


def build_app(
    service: Service | None,
    control: ConnectorService,
    settings: HttpSettings | None = None,
    *,
    bound_to: str = "127.0.0.1",
    cluster_id: Callable[[], str] | None = None,
    app_state: AppState | None = None,
    token: TokenLogin | None = None,
) -> FastAPI:
    """All of HTTP for one service, started or not. Without a desk there is Connect's part alone."""
    http = settings or HttpSettings()
    lifespan = None if app_state is None else lambda _: app_state.open()
    app = FastAPI(title="Twinlog", version=version("twinlog"), docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.service = service
    app.state.connectors = control
    app.state.cluster_id = cluster_id
    for router in (worker.router, connectors.router, offsets.router, plugins.router):
        app.include_router(router)
    if app_state is not None:
        app_state.most_streams = http.streams_per_user
        control.orders.on_order = app_state.note_order
        add_routers(app, app_state)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(Exception, _mistake)
    # The last one added is the first that is asked.
    app.add_middleware(
        ResponseCache, turn=lambda: (control.connectors.made_of, app_state.turn if app_state is not None else None)
    )
    app.add_middleware(Forward, leadership=control.leadership, settings=http)
    app.add_middleware(Paths)
    app.add_middleware(
        Gate,
        settings=http,
        audit=control.audit,
        bound_to=bound_to,
        token=token,
        link_of=control.connectors.about,
        trust=control.trust,
    )
    app.add_middleware(SafeHeaders)
    return app


async def _unknown(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = error.detail if isinstance(error, HTTPException) else ""
    answer = refused(
        request.url.path, status, "HTTP", f"HTTP {status} {said}", _DESCRIBED if status in {404, 405} else ""
    )
    answer.headers.update(getattr(error, "headers", None) or {})
    return answer


async def _unreadable(request: Request, error: Exception) -> Response:
    errors = error.errors() if isinstance(error, RequestValidationError) else []
    # Names and reasons only: what was sent may be a secret (R12).
    told = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in errors)
    return refused(request.url.path, 422, "UNREADABLE", told or "The request cannot be read", _DESCRIBED)


async def _mistake(request: Request, error: Exception) -> Response:
    # A path may hold the end of a line, and with it a line of its own.
    log.error("%s %s", request.method, ascii(request.scope["path"]), exc_info=error)
    answer = refused(request.url.path, 500, "MISTAKE", "Something went wrong in Twinlog itself; its log says what.")
    add_safe_headers(answer.headers, request.scope["path"], request.scope.get("scheme", "http"))
    return answer
