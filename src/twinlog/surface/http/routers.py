"""Registers the routers of /v1, /metrics, health and the page."""

from __future__ import annotations

from fastapi import FastAPI

from twinlog.surface.http import health
from twinlog.surface.http.app_state import AppState
from twinlog.surface.metrics import prometheus as metrics
from twinlog.surface.page.pages import add_pages
from twinlog.surface.page.pipeline_pages import add_pipeline_pages
from twinlog.surface.rest.v1 import actions, control, links, looks, pipelines, stream


def add_routers(app: FastAPI, app_state: AppState) -> None:
    """Add them to an application, which opens the desk while it lives."""
    app.state.app_state = app_state
    for router in (
        links.router,
        looks.router,
        control.router,
        actions.router,
        pipelines.router,
        stream.router,
        metrics.router,
        health.router,
    ):
        app.include_router(router)
    add_pipeline_pages(app)
    add_pages(app)
