"""What a role opens: by route and method, and for the links that it is about."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.kit.connect_paper import PaperService, PaperTopic, asked, served
from tests.kit.paper_backend import FILE, PaperBackend
from tests.kit.waiting import wait_until

from twinlog.config.resolve import resolve
from twinlog.config.security.roles import RoleSettings
from twinlog.config.security.users import save_user, with_token
from twinlog.config.service_settings import HttpSettings
from twinlog.errors import SettingsInvalid
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.rights import right_of

ROLES = (
    RoleSettings(name="east-watch", may="viewer", links=("east->.*",)),
    RoleSettings(name="east-ops", may="operator", links=("east->.*",)),
    RoleSettings(name="east-admin", may="admin", links=("east->.*",)),
)
CONFIG = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
}


def config(source: str, target: str) -> dict[str, str]:
    return {**CONFIG, "source.cluster.alias": source, "target.cluster.alias": target}


class People:
    def __init__(self, path: Path, *roles: str) -> None:
        self.headers: dict[str, dict[str, str]] = {}
        for role in roles:
            user, token = with_token(f"a-{role}", role)
            save_user(path, user)
            self.headers[role] = {"authorization": f"Bearer {token}", "Idempotency-Key": f"key-of-{role}"}


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path / "users", "viewer", "operator", "admin", "east-watch", "east-ops", "east-admin")


@pytest.fixture
def client(people: People, tmp_path: Path) -> Iterator[TestClient]:
    del people
    http = HttpSettings(users_file=tmp_path / "users", roles=ROLES)
    service = PaperService(
        PaperTopic(),
        text=FILE.decode(),
        http=http,
        app_state=lambda audit: AppState.of(PaperBackend(), audit, look_seconds=0.2),
    )
    with asked(service) as found:
        yield found


def test_a_connector_with_the_name_of_an_order_is_deleted_by_admins_only(client: TestClient, people: People):
    admin, operator = people.headers["admin"], people.headers["operator"]
    for name in ("pause", "stop", "resume", "restart"):
        made = client.post("/connectors", headers=admin, json={"name": name, "config": config("n", name)})
        assert made.status_code == 201, made.text
        assert client.delete(f"/connectors/{name}", headers=operator).status_code == 403
        assert client.delete(f"/connectors/{name}/", headers=operator).status_code == 403
        assert client.put(f"/connectors/{name}/pause", headers=operator).status_code == 202


def test_every_route_that_changes_something_has_a_role_of_its_own(client: TestClient):
    described: dict[str, Any] = client.app.openapi()["paths"]  # type: ignore[attr-defined]
    for path, ways in described.items():
        for way in ways:
            right = right_of(way.upper(), re.sub(r"\{[^}]*\}", "x", path))
            assert right.listed or way in {"get", "head"}, f"{way} {path}: say in rights.py who may"
            only_reads = way in {"get", "head"} and not path.endswith("/records")  # what producers wrote
            assert (right.role == "viewer") == only_reads


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/v1/links", {"east->west", "east->archive"}),
        ("/v1/readiness", {"east->west", "east->archive"}),
        ("/metrics", {"east->west", "east->archive"}),
        ("/ui/", {"east->west", "east->archive"}),
        ("/ui/events", {"east->west", "east->archive"}),
        ("/v1/events", {"east->west", "east->archive"}),
        ("/connectors", {"east->west", "east->archive"}),
        ("/connectors?expand=status", {"east->west", "east->archive"}),
    ],
)
def test_lists_hold_only_links_that_somebody_may_see(client: TestClient, people: People, path: str, seen: set[str]):
    def text(role: str) -> str:
        headers = {**people.headers[role], "accept": "*/*"}
        found = client.get(path, headers=headers)
        assert found.status_code == 200
        return str(found.text).replace("&gt;", ">").replace("%3E", ">").replace("\\u003e", ">")

    wait_until(lambda: text("viewer"), lambda found: "west->east" in found or "events" in path, within_s=20, what=path)
    # Asked in turn: an answer that is kept for one must not be given to the other.
    for _ in range(2):
        mine = text("east-watch")
        assert "west->east" not in mine
        if "events" not in path:
            assert all(link in mine for link in seen)
            assert "west->east" in text("viewer")


def test_one_link_is_seen_and_operated_only_where_the_role_says_so(client: TestClient, people: People):
    watch, ops, everywhere = (people.headers[role] for role in ("east-watch", "east-ops", "operator"))
    for other in ("/v1/links/west-%3Eeast", "/v1/links/west-%3Eeast/topics", "/v1/links/none"):
        answer = client.get(other, headers=watch)
        assert answer.status_code == 404
        assert "west->east" not in answer.json()["message"].replace("west->east: ", "", 1)
    assert client.get("/ui/links/west-%3Eeast", headers=watch).status_code == 404
    assert client.get("/v1/links/east-%3Ewest", headers=watch).status_code == 200
    begin = "/v1/links/{}/examinations"
    assert client.post(begin.format("east-%3Ewest"), headers=watch).status_code == 403
    assert client.post(begin.format("west-%3Eeast"), headers=ops).status_code == 404
    begun = client.post(begin.format("west-%3Eeast"), headers=everywhere)
    assert begun.status_code == 202
    operation = f"/v1/operations/{begun.json()['id']}"
    assert client.get(operation, headers=everywhere).status_code == 200
    assert client.get(operation, headers=ops).status_code == 404
    assert begun.json()["id"] not in client.get("/v1/operations", headers=ops).text
    assert client.post(begin.format("east-%3Ewest"), headers=ops).status_code == 202
    hidden = "/connectors/west-%3Eeast.MirrorSourceConnector"
    assert client.get(f"{hidden}/status", headers=ops).status_code == 404
    assert client.put(f"{hidden}/pause", headers=ops).status_code == 404
    assert client.put("/connectors/east-%3Ewest.MirrorSourceConnector/pause", headers=ops).status_code == 202


def test_an_admin_of_some_links_makes_no_others(client: TestClient, people: People):
    headers = people.headers["east-admin"]
    outside, inside = config("south", "north"), config("east", "north")
    assert client.post("/connectors", headers=headers, json={"name": "c", "config": outside}).status_code == 403
    assert client.put("/connectors/c/config", headers=headers, json=outside).status_code == 403
    assert client.post("/connectors", headers=headers, json={"name": "c", "config": inside}).status_code == 201
    moved = {"source.cluster.alias": "south"}
    assert client.patch("/connectors/c/config", headers=headers, json=moved).status_code == 403
    assert client.put("/admin/loggers/twinlog", headers=headers, json={"level": "INFO"}).status_code == 403
    assert client.delete("/connectors/c", headers=headers).status_code == 204


def test_the_live_stream_tells_only_of_links_that_somebody_may_see(people: People, tmp_path: Path):
    http = HttpSettings(users_file=tmp_path / "users", roles=ROLES)
    service = PaperService(
        PaperTopic(), http=http, app_state=lambda audit: AppState.of(PaperBackend(), audit, look_seconds=0.2)
    )
    with served(service) as address:
        request = urllib.request.Request(f"{address}/v1/stream", headers=people.headers["east-watch"])  # noqa: S310
        with urllib.request.urlopen(request, timeout=20) as stream:  # noqa: S310
            lines = [stream.readline() for _ in range(3)]
    told = json.loads(lines[1].partition(b"data: ")[2])
    assert {one["link"] for one in told} == {"east->west", "east->archive"}


def test_roles_are_read_from_the_file_and_wrong_ones_are_named():
    good = "clusters = a, b\nbootstrap.servers = k:1\na->b.enabled = true\n"
    found = resolve(f"{good}role.ops.may = operator\nrole.ops.links = a->.*, b->c\n".encode(), "f", (), {})
    assert found.service.http.roles == (RoleSettings(name="ops", may="operator", links=("a->.*", "b->c")),)
    narrow = resolve(f"{good}role.viewer.links = a->.*\n".encode(), "f", (), {})
    assert narrow.service.http.roles == (RoleSettings(name="viewer", may="viewer", links=("a->.*",)),)
    for wrong, said in (
        ("role.ops.links = a->b", "role.ops.may"),
        ("role.ops.may = king", "one of"),
        ("role.viewer.may = admin", "viewer"),
        ("role.viewer.links = a(", "role.viewer.links"),
        ("role.ops.link = a", "role.ops.link"),
    ):
        findings = resolve_findings(good + wrong)
        assert any(said in str(one) for one in findings), (wrong, findings)


def resolve_findings(text: str) -> list[Any]:
    try:
        return list(resolve(text.encode(), "f", (), {}).findings)
    except SettingsInvalid as error:
        return list(error.findings)


def test_health_names_no_link_that_somebody_may_not_see(people: People, tmp_path: Path):
    http = HttpSettings(users_file=tmp_path / "users", roles=ROLES)
    service = PaperService(PaperTopic(), text=FILE.decode(), http=http)
    with asked(service) as client:
        wait_until(lambda: set(service.runner.links), lambda found: len(found) >= 2, within_s=20, what="the links")
        for link in service.runner.links:
            service.runner.phases[link] = ("superseded", "the engine on vm (pid 7) has it")
        every, some = (client.get("/health", headers=people.headers[role]) for role in ("viewer", "east-watch"))
        assert (every.status_code, some.status_code) == (500, 500), "it is unhealthy for everybody"
        hidden = [link for link in service.runner.links if not link.startswith("east->")]
        assert hidden
        for link in hidden:
            assert link in every.json()["message"]
            assert link not in some.json()["message"]
        assert "that you may not see" in some.json()["message"]
        assert "east->" in some.json()["message"]


def test_health_keeps_trouble_that_may_name_any_link_from_who_sees_only_some(people: People, tmp_path: Path):
    http = HttpSettings(users_file=tmp_path / "users", roles=ROLES)
    service = PaperService(PaperTopic(), text=FILE.decode(), http=http)
    with asked(service) as client:
        service.control.leadership.trouble = "west->east: the key store cannot be read"
        every, some = (client.get("/health", headers=people.headers[role]) for role in ("viewer", "east-watch"))
        assert (every.status_code, some.status_code) == (503, 503)
        assert "west->east" in every.json()["message"]
        assert "west->east" not in some.json()["message"]


def test_reasons_against_links_are_told_of_those_that_somebody_may_see(people: People, tmp_path: Path):
    http = HttpSettings(users_file=tmp_path / "users", roles=ROLES)
    service = PaperService(
        PaperTopic(), http=http, app_state=lambda audit: AppState.of(PaperBackend(), audit, look_seconds=0.2)
    )
    with asked(service) as client:
        every, some = (client.get("/v1/readiness", headers=people.headers[role]) for role in ("viewer", "east-watch"))
        assert any(not link.startswith("east->") for link in every.json())
        assert some.json()
        assert all(link.startswith("east->") for link in some.json())


def test_records_are_for_operators_although_they_are_only_read() -> None:
    right = right_of("GET", "/v1/links/east->west/records")
    assert (right.role, right.link) == ("operator", "east->west")
    assert right_of("HEAD", "/v1/links/east->west/records/").role == "operator"
    assert right_of("GET", "/v1/links/east->west/topics").role == "viewer"
    assert right_of("PATCH", "/v1/links/east->west/control").role == "operator"
