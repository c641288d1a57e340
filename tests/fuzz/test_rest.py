"""Requests that nobody thought of, made from the API's own description: none may be answered with a 500."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from tests.connect_paper import PaperService, PaperTopic
from tests.load.waiting import wait_until

from twinlog.config.service_settings import HttpSettings
from twinlog.surface.rest.serve import address_of, bind, server_of

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\n"


@contextmanager
def served(service: PaperService) -> Iterator[str]:
    """A real server over paper links."""
    http = HttpSettings()
    sock = bind("127.0.0.1:0", http)
    server = server_of(service.app, http)

    async def main() -> None:
        if service.file is not None:
            await service.steward.use_file(service.file)
        keeping = asyncio.create_task(service.steward.run())
        await server.serve(sockets=[sock])
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    try:
        wait_until(lambda: service.steward.active and server.started, bool, within_s=20, what="the server")
        yield address_of(sock, http)
    finally:
        server.should_exit = True
        thread.join(20)


SERVICE = PaperService(PaperTopic(), text=FILE)
schema = schemathesis.openapi.from_dict(SERVICE.app.openapi())


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(SERVICE) as found:
        yield found


@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_nothing_makes_the_service_stumble(case: schemathesis.Case, address: str) -> None:
    answer = case.call(base_url=address)
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    if answer.status_code >= 400:
        assert {"error_code", "message"} <= set(answer.json()) or {"code", "message"} <= set(answer.json())
