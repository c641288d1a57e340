"""The HTTP application: which routers there are, and what they share. Runs in the service's own loop.

Routers find the running service as `request.app.state.service`. They decide nothing; what they may not do is refused
before they are asked (gate.py).
"""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI

from twinlog.service import Service


def build_app(service: Service) -> FastAPI:
    """All of HTTP for one service, started or not."""
    app = FastAPI(title="Twinlog", version=version("twinlog"), docs_url=None, redoc_url=None)
    app.state.service = service
    return app
