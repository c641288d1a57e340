"""Requests that nobody thought of, made from the API's own description: none may be answered with a 500.

A name made by chance names nothing, so half of the requests are about things that are there.
"""

from __future__ import annotations

import json
import urllib.request
import zlib
from collections.abc import Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from tests.kit.connect_paper import TOKEN, served
from tests.kit.fuzzed_service import SERVICE

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]

MADE: Final = {
    "connector.class": "MirrorSource",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
}
THERE: Final = {
    "name": ("c", "F->G.MirrorSourceConnector", "F->G.MirrorHeartbeatConnector"),
    "link": ("east->west", "west->east"),
    "task": ("0", "1"),
    "plugin": ("MirrorSource", "MirrorCheckpointConnector"),
    "logger": ("root", "twinlog", "twinlog.rest"),
}


schema = schemathesis.openapi.from_dict(SERVICE.app.openapi())
ADMIN = {"Authorization": f"Bearer {TOKEN}"}
answered: dict[str, set[int]] = {}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(SERVICE) as found:
        yield found


@schema.parametrize()
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_nothing_makes_the_service_stumble(case: schemathesis.Case[Any], address: str) -> None:
    about_what_is_there(case, address)
    answer = case.call(base_url=address, timeout=20, stream=case.path == "/v1/stream", headers=ADMIN)
    answered.setdefault(f"{case.method} {case.path}", set()).add(answer.status_code)
    if case.path == "/v1/stream":
        assert answer.status_code < 500
        return
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    if 400 <= answer.status_code < 500:
        assert {"error_code", "message"} <= set(answer.json()) or {"code", "message"} <= set(answer.json())


def test_most_routes_were_really_taken() -> None:
    """Otherwise nothing was tried but how we say no."""
    if not answered:
        pytest.skip("only this test was chosen")
    paths = SERVICE.app.openapi()["paths"].items()
    described = {f"{way.upper()} {path}" for path, ways in paths for way in ways}
    refused = sorted(route for route in described if not any(code < 400 for code in answered.get(route, ())))
    assert len(refused) < len(described) / 4, refused


def about_what_is_there(case: schemathesis.Case[Any], address: str) -> None:
    """Let half of the requests name something, chosen by what they hold, so that a failure can be repeated."""
    chance = zlib.crc32(repr((case.path_parameters, case.body, case.query)).encode(errors="replace"))
    if chance % 2:
        return
    if (case.path_parameters or {}).get("name") is not None and "/v1" not in case.path:
        make_connector(address)
    for name in case.path_parameters or {}:
        case.path_parameters[name] = THERE.get(name, ("x",))[chance // 2 % len(THERE.get(name, ("x",)))]
    if isinstance(case.body, dict) and "confirm" in case.body:
        case.body["confirm"] = case.path_parameters["link"]


def make_connector(address: str) -> None:
    """The one that may be changed; an earlier request may have deleted it."""
    request = urllib.request.Request(  # noqa: S310
        f"{address}/connectors/c/config",
        json.dumps(MADE).encode(),
        {"Content-Type": "application/json", **ADMIN},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
        assert answer.status in {200, 201}
