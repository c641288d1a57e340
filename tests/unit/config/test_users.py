"""The users file: costs that can grow, tokens that end, and nobody who stays in by accident."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import time
from pathlib import Path

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, asked
from typer.testing import CliRunner

from twinlog.config.security.users import Users, load_users, remove_user, save_user, with_password, with_token
from twinlog.config.service_settings import HttpSettings
from twinlog.errors import UsageError
from twinlog.model.clock import SystemClock
from twinlog.surface.cli.main import app

LONG = "a password of some length"


def old_line(name: str, password: str) -> str:
    """As versions before wrote it: without the cost."""
    salt = os.urandom(16)
    made = hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)
    return f"{name}:admin:scrypt:{base64.b64encode(salt).decode()}:{base64.b64encode(made).decode()}\n"


def test_the_cost_of_a_password_stands_in_the_file_and_old_ones_still_open(tmp_path: Path):
    path = tmp_path / "users"
    path.write_text(old_line("olga", "old"))
    save_user(path, with_password("anna", "admin", LONG))
    users = Users(path)
    assert users.by_password("olga", "old") is not None
    assert users.by_password("olga", "older") is None
    assert users.by_password("anna", LONG) is not None
    assert users.by_password("anna", "wrong") is None
    line = next(line for line in path.read_text().splitlines() if line.startswith("anna"))
    assert ":scrypt:n=15,r=8,p=3:" in line, "what OWASP asks for, at a third of a second and 32 MB"


def test_a_short_password_is_refused_and_nothing_is_changed(tmp_path: Path):
    path = tmp_path / "users"
    with pytest.raises(UsageError, match="12 characters"):
        with_password("anna", "admin", "v")
    found = CliRunner().invoke(app, ["user", "add", "anna", "--file", str(path)], input="short\n")
    assert isinstance(found.exception, UsageError)
    assert not path.exists()


def test_a_token_ends_when_it_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "users"
    for_ever, first = with_token("old", "viewer")
    ending, second = with_token("new", "viewer", days=1)
    save_user(path, for_ever)
    save_user(path, ending)
    users = Users(path)
    assert users.by_token(first) is not None
    assert users.by_token(second) is not None
    now = time.time()
    monkeypatch.setattr(SystemClock, "now_s", lambda _: now + 86_401)
    assert users.by_token(first) is not None
    assert users.by_token(second) is None
    assert [one.expires is None for one in load_users(path)] == [True, False]


def test_whoever_is_taken_out_is_out_whatever_else_is_wrong_with_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "users"
    vera, vera_token = with_token("vera", "viewer")
    otto, otto_token = with_token("otto", "operator")
    save_user(path, vera)
    save_user(path, otto)

    def status(token: str) -> int:
        return int(client.get("/connectors", headers={"authorization": f"Bearer {token}"}).status_code)

    with asked(PaperService(PaperTopic(), http=HttpSettings(users_file=path))) as client:
        assert (status(vera_token), status(otto_token)) == (200, 200)
        remove_user(path, "otto")
        with path.open("a") as file:
            file.write("a line that is none\n")
        assert (status(vera_token), status(otto_token)) == (200, 401), "a wrong line concerns nobody but itself"
        assert f"{path}:2" in caplog.text
        path.write_text("half of a li")
        assert status(vera_token) == 401
        save_user(tmp_path / "again", vera)
        (tmp_path / "again").replace(path)
        assert status(vera_token) == 200


def test_a_file_that_is_gone_opens_nothing_after_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "users"
    vera, token = with_token("vera", "viewer")
    save_user(path, vera)
    users = Users(path)
    now = time.monotonic()
    monkeypatch.setattr("twinlog.config.security.users.time.monotonic", lambda: now)
    assert users.by_token(token) is not None
    path.unlink()
    assert users.by_token(token) is not None, "an editor may replace it this moment"
    now += 6
    assert users.by_token(token) is None
    assert any(one.levelno == logging.ERROR and "nobody" in one.getMessage() for one in caplog.records)


def test_when_a_login_was_last_used_is_kept_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TWINLOG_HOME", str(tmp_path / "state"))
    path = tmp_path / "users"
    vera, token = with_token("vera", "viewer", days=30)
    save_user(path, vera)
    idle, _ = with_token("idle", "viewer")
    save_user(path, idle)
    with asked(PaperService(PaperTopic(), http=HttpSettings(users_file=path))) as client:
        assert client.get("/connectors", headers={"authorization": f"Bearer {token}"}).status_code == 200
    listed = CliRunner().invoke(app, ["user", "list", "--file", str(path), "-o", "json"])
    assert listed.exit_code == 0, listed.output
    found = {one["name"]: one for one in json.loads(listed.stdout)}
    assert found["vera"]["last_used"].startswith("20")
    assert found["vera"]["expires"].startswith("20")
    assert (found["idle"]["last_used"], found["idle"]["expires"]) == (None, None)
