"""A real browser and a served page for tests. Import the fixtures that a module needs."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright
from tests.kit.chromium import find_chromium
from tests.kit.paper_backend import PaperBackend, everything
from tests.kit.waiting import wait_until

from twinlog.model.health.history import Event
from twinlog.watch.monitor import Monitor

CHROMIUM = find_chromium()
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: `python -m tests.kit.chromium` gets one")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 800}},
}
"""How people look at a page: on a light or a dark screen, or on a telephone."""


@contextmanager
def served(app: Any, port: int = 0) -> Iterator[str]:
    """The application on a port of its own, in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, bool, within_s=30, what="a started server")
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        app.state.app_state.hang_up()
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def paper() -> PaperBackend:
    return PaperBackend(step_seconds=0.2)


@pytest.fixture(scope="module")
def site(paper: PaperBackend) -> Iterator[str]:
    app = everything(paper)
    with served(app) as address:
        monitor = app.state.app_state.monitor
        wait_until(
            lambda: [len(snapshot.samples) for snapshot in monitor.snapshots.values()],
            lambda seen: bool(seen) and all(seen),
            within_s=30,
            what="a first look at every link",
        )
        remember_an_hour(monitor)
        yield address


def remember_an_hour(monitor: Monitor) -> None:
    """Put an hour behind a service that has just begun: a busy one, with a fault that went by and a switch given up."""
    now_ms = int(time.time() * 1000)
    for place, (name, snapshot) in enumerate(monitor.snapshots.items()):
        last = snapshot.samples[0]
        for ago_s in range(10, 3600, 10):
            wave = 1 + 0.35 * math.sin(ago_s / 240 + place) + 0.1 * math.sin(ago_s / 37 + 2 * place)
            hill = 4.0 * math.exp(-(((ago_s - 2400) / 150) ** 2)) if place == 0 else 0.0
            snapshot.samples.appendleft(
                last._replace(
                    at_ms=now_ms - ago_s * 1000,
                    records_per_second=7200 * wave,
                    lag_records=round(600 * (wave + hill)),
                    rpo_seconds=round(0.7 * wave + hill, 2),
                    copied_p99_ms=22 * wave + 30 * hill,
                )
            )
        if place == 0:
            begun, ended = now_ms - 2_500_000, now_ms - 2_200_000
            gone = "clicks-1: the target refused a batch"
            monitor.events.appendleft(Event(ended, name, "fault", "good", "clicks-1", "REFUSED is over", ended=True))
            monitor.events.appendleft(Event(begun, name, "fault", "bad", "clicks-1", gone))
            begun, ended = now_ms - 1_250_000, now_ms - 1_190_000
            monitor.events.append(Event(begun, name, "switch", "warning", name, "planned failover started by ada"))
            monitor.events.append(Event(ended, name, "switch", "good", name, "planned failover aborted", ended=True))
            by_age = sorted(monitor.events, key=lambda event: event.at_ms)
            monitor.events.clear()
            monitor.events.extend(by_age)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=args)
        yield browser
        browser.close()


class Tab:
    """A page that remembers what went wrong in it and whom it asked."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: set[str] = set()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.add(request.url.split("/")[2]))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.wrong.append(message.text)

    def open(self, address: str) -> Page:
        self.page.goto(address)
        return self.page


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    one = Tab(chromium)
    yield one
    one.context.close()
