"""A real browser and a served page for tests. Import the fixtures that a module needs."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright
from tests.load.waiting import wait_until
from tests.paper_rooms import PaperRooms, everything

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium-headless-shell")


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
        app.state.desk.hang_up()
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def paper() -> PaperRooms:
    return PaperRooms(step_seconds=0.2)


@pytest.fixture(scope="module")
def site(paper: PaperRooms) -> Iterator[str]:
    with served(everything(paper)) as address:
        yield address


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
