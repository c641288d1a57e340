"""Requests that nobody thought of, made from the API's own description: none may be answered with a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from tests.connect_paper import PaperService, PaperTopic, served
from tests.paper_rooms import PaperRooms

from twinlog.surface.rest.desk import Desk

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\n"


SERVICE = PaperService(PaperTopic(), text=FILE, desk=lambda audit: Desk.of(PaperRooms(), audit))
schema = schemathesis.openapi.from_dict(SERVICE.app.openapi())


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(SERVICE) as found:
        yield found


@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_nothing_makes_the_service_stumble(case: schemathesis.Case[Any], address: str) -> None:
    answer = case.call(base_url=address)
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    if 400 <= answer.status_code < 500:
        assert {"error_code", "message"} <= set(answer.json()) or {"code", "message"} <= set(answer.json())
