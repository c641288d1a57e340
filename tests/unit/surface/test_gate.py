"""Who is let in over HTTP, with what, and how much of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from httpx2 import Response
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.connect_paper import PaperService, PaperTopic, asked

from twinlog.config.security.users import (
    ROLES,
    Users,
    load_users,
    parse_users,
    remove_user,
    save_user,
    with_password,
    with_token,
)
from twinlog.config.service_settings import HttpSettings
from twinlog.errors import UsageError
from twinlog.machine.local_token import is_loopback
from twinlog.surface.answers.errors import refused
from twinlog.surface.http.rights import right_of
from twinlog.surface.http.serve import bind

LONG = "a password of some length: "


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    save_user(path, with_password("vera", "viewer", LONG + "v"))
    save_user(path, with_password("otto", "operator", LONG + "o"))
    save_user(path, with_password("anna", "admin", LONG + "a"))
    return path


def basic(name: str, password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.proves("R12")
def test_a_role_opens_what_it_should_and_the_file_holds_no_password(users: Path):
    topic = PaperTopic()
    service = PaperService(topic, http=HttpSettings(users_file=users))
    user, token = with_token("robot", "operator")
    save_user(users, user)
    made = {"name": "c", "config": {"connector.class": "MirrorSource"}}
    with asked(service) as client:
        assert client.get("/connectors").status_code == 401
        assert client.get("/connectors").headers["www-authenticate"].startswith("Basic")
        assert client.get("/connectors", headers=basic("anna", "wrong")).status_code == 401
        assert client.get("/connectors", headers=basic("nobody", LONG + "a")).status_code == 401
        assert client.get("/connectors", headers={"authorization": "Basic ?"}).status_code == 401
        assert client.get("/connectors", headers=bearer("wrong")).status_code == 401
        assert client.get("/connectors", headers=basic("vera", LONG + "v")).status_code == 200
        assert client.put("/connectors/c/pause", headers=basic("vera", LONG + "v")).status_code == 403
        assert client.put("/connectors/c/pause", headers=bearer(token)).status_code == 404
        checked = "/connector-plugins/MirrorSource/config/validate"
        assert client.put(checked, headers=basic("vera", LONG + "v"), json={}).status_code == 403
        assert client.put(checked, headers=bearer(token), json={}).status_code == 400
        assert client.post("/connectors", headers=bearer(token), json=made).status_code == 403
        assert client.post("/connectors", headers=basic("anna", LONG + "a"), json=made).status_code == 400
        remove_user(users, "robot")
        assert client.get("/connectors", headers=bearer(token)).status_code == 401
    assert token not in users.read_text()
    assert users.stat().st_mode & 0o077 == 0
    audited = [(one["name"], one["outcome"]) for one in map(json.loads, topic.audited)]
    assert ("vera", "denied: needs operator") in audited
    assert ("anna", "refused: CONNECTOR_REFUSED") in audited


def test_a_foreign_page_gives_no_orders_and_lends_no_name():
    with asked(PaperService(PaperTopic())) as client:
        assert client.put("/connectors/c/pause", headers={"origin": "https://evil.example"}).status_code == 403
        assert client.put("/connectors/c/pause", headers={"origin": "http://127.0.0.1:8083"}).status_code == 404
        assert client.get("/connectors", headers={"host": "evil.example"}).status_code == 403
        assert client.get("/connectors", headers={"host": "localhost:8083"}).status_code == 200


def test_a_long_request_is_refused_however_it_comes():
    with asked(PaperService(PaperTopic(), http=HttpSettings(max_request_bytes=2000))) as client:
        assert client.post("/connectors", content=b" " * 3000).status_code == 413
        assert client.post("/connectors", content=iter([b" " * 500] * 6)).status_code == 413
        assert client.post("/connectors", content=b" " * 1000).status_code == 400


def test_nobody_is_let_in_beyond_this_machine_without_a_login(users: Path):
    with pytest.raises(UsageError, match=r"http\.users\.file"):
        bind("0.0.0.0:0", HttpSettings())
    with pytest.raises(UsageError, match=r"http\.tls\.certificate"):
        bind("0.0.0.0:0", HttpSettings(users_file=users))
    bind("0.0.0.0:0", HttpSettings(users_file=users, tls_insecure=True)).close()
    with (
        bind("127.0.0.1:0", HttpSettings()) as taken,
        pytest.raises(UsageError, match="another process uses this port"),
    ):
        bind(f"127.0.0.1:{taken.getsockname()[1]}", HttpSettings())
    for wrong in ("8083", ":8083", "127.0.0.1:http", "127.0.0.1:99999"):
        with pytest.raises(UsageError, match="HOST:PORT"):
            bind(wrong, HttpSettings())


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("localhost", True), ("10.0.0.1", False)],
)
def test_loopback_is_known(host: str, here: bool):
    assert is_loopback(host) is here


@given(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]), st.text())
def test_only_reading_is_for_viewers(method: str, path: str):
    assert (right_of(method, f"/connectors/{path}").role == "viewer") == (method == "GET")


def test_a_wrong_file_of_users_names_the_line(tmp_path: Path):
    with pytest.raises(UsageError, match="users:2"):
        parse_users("# people\nanna:queen:scrypt:x:y\n", "users", ROLES)
    with pytest.raises(UsageError, match="cannot be read"):
        Users(tmp_path / "none")
    save_user(tmp_path / "u", with_password("a", "admin", LONG))
    with pytest.raises(UsageError, match="no such user"):
        remove_user(tmp_path / "u", "b")
    save_user(tmp_path / "v", with_password("a", "admin", LONG))
    assert [user.name for user in load_users(tmp_path / "v")] == ["a"]
    with pytest.raises(UsageError, match="name has"):
        with_password("a:b", "admin", LONG)


def told(answer: Response) -> tuple[int, list[str]]:
    """The status of an error, and the names in its body. Every sentence in it says something."""
    body = answer.json()
    assert all(body[name] for name in body), body
    return answer.status_code, sorted(body)


def test_the_gate_answers_in_the_dialect_of_the_api_that_was_called(users: Path):
    """Also where it refuses a request that no router has seen."""
    v1, connect = ["code", "message", "remedy"], ["error_code", "message"]
    link, order = "/v1/links/A->B", "/v1/links/A->B/switches"
    with asked(PaperService(PaperTopic(), http=HttpSettings(users_file=users, max_request_bytes=2000))) as client:
        vera = basic("vera", LONG + "v")
        assert told(client.get(link)) == (401, v1)
        assert told(client.get("/connectors")) == (401, connect)
        assert client.get(link).json()["code"] == "LOGIN_NEEDED"
        assert client.get(link).headers["www-authenticate"].startswith("Basic")
        assert told(client.post(order, headers=vera)) == (403, v1)
        assert client.post(order, headers=vera).json()["remedy"] == "Ask for the role operator at A->B."
        assert told(client.post("/connectors", headers=vera)) == (403, connect)
        foreign = {"origin": "https://evil.example", **vera}
        assert told(client.post(order, headers=foreign)) == (403, v1)
        assert told(client.post("/connectors", headers=foreign)) == (403, connect)
        assert told(client.post(order, headers=vera, content=b" " * 3000)) == (413, v1)
        assert told(client.post("/connectors", headers=vera, content=b" " * 3000)) == (413, connect)
        anna = basic("anna", LONG + "a")
        assert told(client.post(order, headers=anna, content=iter([b" " * 500] * 6)))[1] == v1
    # Not every path that begins so is ours.
    assert json.loads(bytes(refused("/v1x", 404, "X", "no").body)) == {"error_code": 404, "message": "no"}
