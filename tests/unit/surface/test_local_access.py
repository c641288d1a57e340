"""Who is let in on the machine itself: everybody may look, the user who runs the service and the socket's group act."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.kit.commands import run_command
from tests.kit.connect_paper import TOKEN, PaperService, PaperTopic, asked, served
from tests.kit.fixed_answers import answering
from tests.kit.paper_backend import PaperBackend

from twinlog.config.security.users import save_user, with_password
from twinlog.config.service_settings import HttpSettings
from twinlog.errors import UsageError
from twinlog.machine.local_token import offer, token_for
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.serve import bind

FILE = "clusters = F, G\nbootstrap.servers = k:9092\nF->G.enabled = true\n"
LINK = "/connectors/F-%3EG.MirrorSourceConnector"
VALIDATE = "/connector-plugins/MirrorSource/config/validate"
CLASS = {"connector.class": "MirrorSource", "name": "c"}


def test_without_a_login_everybody_on_the_machine_may_look_and_nobody_act():
    service = PaperService(PaperTopic(), text=FILE)
    with asked(service, anonymous=True) as client:
        assert client.get("/connectors").status_code == 200
        assert client.get(f"{LINK}/status").status_code == 200
        orders: list[tuple[str, str, Any]] = [
            ("PUT", f"{LINK}/pause", None),
            ("POST", "/connectors", {"name": "c", "config": CLASS}),
            ("PUT", "/connectors/c/config", CLASS),
            ("DELETE", LINK, None),
            ("PUT", VALIDATE, CLASS),
            ("POST", "/v1/links/F->G/switches", {"command": "failover-planned", "confirm": "F->G"}),
            ("PUT", "/admin/loggers/root", {"level": "DEBUG"}),
        ]
        for method, path, body in orders:
            answer = client.request(method, path, json=body)
            assert answer.status_code == 403, f"{method} {path}: {answer.text}"
            assert "twinlog run" in answer.text
        assert service.topic.group_state.states == {}


def test_the_token_of_the_user_who_runs_the_service_opens_it():
    with asked(PaperService(PaperTopic(), text=FILE), anonymous=True) as client:
        assert client.put(f"{LINK}/pause", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 202
        assert client.put(f"{LINK}/pause", headers={"authorization": "Bearer wrong"}).status_code == 403
        assert client.put(f"{LINK}/pause", headers={"cookie": "twinlog-8083=wrong"}).status_code == 403
        assert client.get("/connectors", headers={"cookie": "\x01=;;twinlog-8083"}).status_code == 200


def test_the_printed_link_lets_a_browser_act_and_leaves_no_token_in_its_address():
    with asked(PaperService(PaperTopic(), text=FILE), anonymous=True) as client:
        assert client.get("/ui/?access=wrong").status_code == 401
        answer = client.get(f"/ui/?access={TOKEN}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.put(f"{LINK}/pause").status_code == 202, "the cookie says who it is"
        foreign = client.put(f"{LINK}/pause", headers={"origin": "http://127.0.0.1:3000"})
        assert foreign.status_code == 403, "another page of this machine cannot use it"


def test_with_a_login_there_is_no_token(tmp_path: Path):
    save_user(tmp_path / "users", with_password("anna", "admin", "long-password"))
    service = PaperService(PaperTopic(), text=FILE, http=HttpSettings(users_file=tmp_path / "users"))
    with asked(service, anonymous=True) as client:
        for headers in ({"authorization": f"Bearer {TOKEN}"}, {"cookie": f"twinlog-8083={TOKEN}"}):
            assert client.get("/connectors", headers=headers).status_code == 401


class _Through(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def through(path: Path, method: str, target: str) -> int:
    connection = _Through(path)
    connection.request(method, target, headers={"x-forwarded-for": "10.0.0.1"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def test_the_socket_is_for_its_group_and_needs_no_login(tmp_path: Path):
    save_user(tmp_path / "users", with_password("anna", "admin", "long-password"))
    topic, path = PaperTopic(), tmp_path / "twinlog.sock"
    settings = HttpSettings(users_file=tmp_path / "users")
    with served(PaperService(topic, text=FILE, http=settings), bind(f"unix:{path}", settings)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        assert through(path, "PUT", f"{LINK}/pause") == 202
        with pytest.raises(UsageError, match="in use"):
            bind(f"unix:{path}", settings)
    (entry,) = [one for one in map(json.loads, topic.audited) if one["what"] == "paused"]
    assert entry["address"].startswith("unix")
    bind(f"unix:{path}", settings).close()
    assert path.exists(), "a socket that nobody answers at is taken over"


def test_a_file_that_is_no_socket_stays(tmp_path: Path):
    (tmp_path / "precious").write_text("x")
    with pytest.raises(UsageError, match="no socket"):
        bind(f"unix:{tmp_path}/precious", HttpSettings())
    assert (tmp_path / "precious").read_text() == "x"
    with pytest.raises(UsageError, match="absolute"):
        bind("unix:relative.sock", HttpSettings())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TWINLOG_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.proves("R12")
def test_the_token_is_for_this_user_and_this_machine(home: Path):
    old = os.umask(0)
    try:
        token = offer(8083)
    finally:
        os.umask(old)
    assert token.path is not None
    assert stat.S_IMODE(token.path.stat().st_mode) == 0o600
    assert token.value not in repr(token)
    assert token_for("http://127.0.0.1:8083") == token_for("http://localhost:8083/") == token.value
    assert token_for("http://127.0.0.1:8084") is None
    assert token_for("http://mirror.example:8083") is None
    token.path.chmod(0o644)
    assert token_for("http://127.0.0.1:8083") is None, "somebody else may have read or written it"
    token.path.chmod(0o600)
    later = offer(8083)
    token.withdraw()
    assert token_for("http://127.0.0.1:8083") == later.value, "an older service does not take it away"
    later.withdraw()
    assert token_for("http://127.0.0.1:8083") is None
    assert list((home / "access").iterdir()) == []


def test_commands_use_the_socket_and_the_token_and_follow_nobody_elsewhere(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def ask(*words: str) -> tuple[int, str, str]:
        return run_command(monkeypatch, capsys, *words)

    path = home / "t.sock"
    service = PaperService(
        PaperTopic(), text=FILE, app_state=lambda audit: AppState.of(PaperBackend(), audit, look_seconds=0.3)
    )
    with served(service, bind(f"unix:{path}", HttpSettings())):
        code, _, err = ask("link", "pause", "F->G", "--service", f"unix:{path}")
        assert code == 0, err
    with answering(404) as (port, heard):
        token = offer(port)
        ask("link", "list", "--service", f"http://127.0.0.1:{port}")
        assert token.value.encode() in heard[0]
        with answering(302, f"location: http://127.0.0.1:{port}/elsewhere") as (first, asked_first):
            offer(first)
            ask("link", "list", "--service", f"http://127.0.0.1:{first}")
            assert asked_first
            assert not [one for one in heard if b"/elsewhere" in one], "credentials are not carried on"
