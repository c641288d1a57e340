"""`twinlog link` against a service: over real HTTP, links on paper."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.kit.commands import run_command
from tests.kit.connect_paper import TOKEN, PaperService, PaperTopic, served
from tests.kit.paper_backend import PaperBackend
from tests.kit.waiting import wait_until

from twinlog.config.security.users import save_user, with_password, with_token
from twinlog.config.service_settings import HttpSettings
from twinlog.machine.folders import write_atomically
from twinlog.surface.cli import completion_facts
from twinlog.surface.http.app_state import AppState

FILE = "clusters = east, west\nbootstrap.servers = k:9092\neast->west.enabled = true\ntopics = filed\n"
CONNECTOR = {
    "name": "made",
    "config": {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:9092",
        "target.cluster.bootstrap.servers": "b:9092",
        "source.cluster.sasl.jaas.config": 'Plain required username="u" password="hush-8f3";',
        "topics": "orders",
    },
}
Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def service() -> PaperService:
    return PaperService(
        PaperTopic(),
        text=FILE,
        app_state=lambda audit: AppState.of(PaperBackend(step_seconds=0.01), audit, look_seconds=0.3),
    )


@pytest.fixture
def url(service: PaperService, tmp_path: Path) -> Iterator[str]:
    with served(service) as address:
        port = address.rpartition(":")[2]
        write_atomically(tmp_path / "twinlog" / "access" / f"{port}.token", TOKEN, mode=0o600)
        yield address


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **variables: str) -> tuple[int, str, str]:
        monkeypatch.delenv("TWINLOG_HOME", raising=False)
        places = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        return run_command(monkeypatch, capsys, *arguments, **{**places, **variables})

    return run


@pytest.fixture
def made(tmp_path: Path) -> str:
    path = tmp_path / "conn.json"
    path.write_text(json.dumps(CONNECTOR))
    return str(path)


def states(ask: Ask, url: str) -> dict[str, str]:
    code, out, err = ask("link", "list", "--service", url, "-o", "json")
    assert code == 0, err
    return {row["link"]: row["state"] for row in json.loads(out)}


def test_a_link_is_made_held_and_ended_by_commands(ask: Ask, url: str, made: str, service: PaperService):
    assert ask("context", "add", "prod", "--service", url)[0] == 0
    assert ask("link", "create", "-f", made) == (0, f"made: made at {url}, running\n", "")
    wait_until(lambda: set(service.runner.links), lambda seen: "A->B" in seen, within_s=5, what="the link")
    assert ask("link", "pause", "A->B")[:2] == (0, "A->B: paused\n")
    assert states(ask, url)["A->B"] == "PAUSED"
    assert ask("link", "stop", "made")[:2] == (0, "A->B: stopped\n")
    assert states(ask, url)["A->B"] == "STOPPED"
    assert ask("link", "resume", "A->B")[0] == 0
    wait_until(lambda: set(service.runner.links), lambda seen: "A->B" in seen, within_s=5, what="the link")
    assert ask("link", "restart", "A->B")[0] == 0
    assert service.runner.restarted == ["A->B"]
    with urllib.request.urlopen(f"{url}/v1/events") as answer:  # noqa: S310  our own
        said = [event["says"] for event in json.load(answer) if event["kind"] == "engine" and event["level"] == "info"]
    orders = [line for line in said if "ordered by" in line][::-1]
    assert [line.partition(",")[0] for line in orders] == ["create", "paused", "stopped", "started", "restart"]
    assert ask("link", "delete", "A->B", "--yes")[:2] == (0, "A->B: deleted\n")
    assert list(states(ask, url)) == ["east->west"]


@pytest.mark.proves("R12", "R14")
def test_a_link_is_shown_without_secrets(ask: Ask, url: str, made: str):
    assert ask("link", "create", "-f", made, "--service", url, "--state", "paused")[0] == 0
    code, out, _ = ask("link", "show", "A->B", "--service", url, "-o", "yaml")
    assert code == 0
    assert yaml.safe_load(out)["config"]["source.cluster.sasl.jaas.config"] == "***"
    assert "hush" not in out
    code, out, _ = ask("link", "show", "A->B", "--service", url, "-o", "wide")
    assert "topics = orders" in out
    assert "hush" not in out
    code, out, _ = ask("link", "show", "east->west", "--service", url)
    assert (code, "OFFSET_GAP" in out, "try: Raise retention" in out) == (1, True, True)


def test_a_dry_run_asks_the_service_and_changes_nothing(ask: Ask, url: str, made: str, tmp_path: Path):
    code, out, err = ask("link", "create", "-f", made, "--service", url, "--dry-run")
    assert (code, out) == (0, f"made: would be made at {url}, running\n")
    for verb in ("pause", "resume", "stop", "restart", "delete"):
        code, out, err = ask("link", verb, "east->west", "--service", url, "--dry-run")
        assert (code, err) == (0, "dry run: nothing was changed\n")
        assert out.startswith("east->west: would be ")
    assert list(states(ask, url)) == ["east->west"]
    wrong: dict[str, Any] = {**CONNECTOR, "config": {**CONNECTOR["config"], "tasks.max": "many"}}  # type: ignore[dict-item]
    (tmp_path / "wrong.json").write_text(json.dumps(wrong))
    code, _, err = ask("link", "create", "-f", "wrong.json", "--service", url, "--dry-run")
    assert (code, "made: tasks.max: " in err) == (2, True)


def test_what_is_refused_says_the_way_out(ask: Ask, url: str, made: str, tmp_path: Path):
    code, _, err = ask("link", "pause", "X->Y", "--service", url)
    assert (code, "X->Y: no such link at" in err, "east->west" in err) == (2, True, True)
    code, _, err = ask("link", "delete", "east->west", "--yes", "--service", url)
    assert (code, "refused (403)" in err, "try: " in err) == (1, True, True)
    code, _, err = ask("link", "pause", "A->B")
    assert (code, "--service URL" in err) == (2, True)
    code, _, err = ask("link", "list", "--service", "nonsense")
    assert (code, "nonsense: it is no address of a service" in err) == (2, True)
    (tmp_path / "bad.json").write_text("[")
    assert "bad.json: it is no JSON" in ask("link", "create", "-f", "bad.json", "--service", url)[2]
    assert "absent.json: it cannot be read" in ask("link", "create", "-f", "absent.json", "--service", url)[2]


def test_nobody_there_is_said(ask: Ask, service: PaperService):
    with served(service) as url:
        pass
    code, _, err = ask("link", "list", "--service", url)
    assert (code, f"{url}: no service answers" in err, "twinlog run --listen" in err) == (1, True, True)


@pytest.mark.proves("R12")
def test_a_token_opens_the_service(ask: Ask, tmp_path: Path):
    user, token = with_token("ci", "viewer")
    save_user(tmp_path / "users", user)
    (tmp_path / "token").write_text(token + "\n")
    guarded = PaperService(
        PaperTopic(),
        text=FILE,
        http=HttpSettings(users_file=tmp_path / "users"),
        app_state=lambda audit: AppState.of(PaperBackend(step_seconds=0.01), audit),
    )
    with served(guarded) as url:
        code, _, err = ask("link", "list", "--service", url)
        assert (code, "--token-file" in err) == (1, True)
        assert ask("link", "list", "--service", url, "--token-file", "token")[0] == 0
        assert ask("link", "list", "--service", url, TWINLOG_TOKEN=token)[0] == 0
        assert ask("context", "add", "prod", "--service", url, "--token-file", "token")[0] == 0
        assert ask("link", "list")[0] == 0
        code, _, err = ask("link", "pause", "east->west")
        assert (code, "refused (403)" in err, token in err) == (1, True, False)


@pytest.mark.proves("R12")
def test_a_name_and_its_password_open_the_service(ask: Ask, tmp_path: Path):
    save_user(tmp_path / "users", with_password("ann", "viewer", "hush-8f3 ü and more"))
    (tmp_path / "password").write_text("hush-8f3 ü and more\n")
    guarded = PaperService(
        PaperTopic(),
        text=FILE,
        http=HttpSettings(users_file=tmp_path / "users"),
        app_state=lambda audit: AppState.of(PaperBackend(step_seconds=0.01), audit),
    )
    with served(guarded) as url:
        code, _, err = ask("link", "list", "--service", url)
        assert (code, "--user" in err) == (1, True)
        assert ask("link", "list", "--service", url, "--user", "ann", "--password-file", "password")[0] == 0
        assert ask("link", "list", "--service", url, "--user", "ann", TWINLOG_PASSWORD="hush-8f3 ü and more")[0] == 0
        code, _, err = ask("link", "list", "--service", url, "--user", "ann", TWINLOG_PASSWORD="hush")
        assert (code, "refused (401)" in err, "hush" in err) == (1, True, False)
        code, _, err = ask("link", "list", "--service", url, "--user", "ann")
        assert (code, "ann: no password" in err, "--password-file" in err) == (2, True, True)
        code, _, err = ask("link", "list", "--service", url, "--user", "ann", "--token-file", "password")
        assert (code, "not both" in err) == (2, True)
        options = ("--service", url, "--user", "ann", "--password-file", "password")
        code, _, err = ask("context", "add", "prod", *options)
        assert (code, f"prod: {url} as ann (in use)\n") == (0, err)
        assert ask("link", "list")[0] == 0
        code, _, err = ask("link", "list", TWINLOG_TOKEN="hush")
        assert (code, "refused (401)" in err) == (1, True), "a token that is given counts, not the context's name"
        assert "hush" not in (tmp_path / "twinlog" / "contexts.json").read_text()


def test_the_shell_is_offered_what_the_service_has(ask: Ask, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(completion_facts, "WITHIN_S", 30.0)

    def offered(*line: str) -> list[str]:
        words = {"_TWINLOG_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": " ".join(line)}
        _, out, err = ask(**words, TWINLOG_SERVICE=url, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert err == ""
        return out.replace('"', " ").split()

    ask("link", "list", "--service", url)
    wait_until(
        lambda: json.loads(ask("link", "show", "east->west", "--service", url, "-o", "json")[1]).get("topics"),
        bool,
        within_s=10,
        what="a look at the topics",
    )
    assert "east->west" in offered("twinlog link pause eas")
    assert "payments" in offered("twinlog explain topic pay")


def test_without_a_service_the_file_is_told(ask: Ask, tmp_path: Path):
    (tmp_path / "links.properties").write_text(FILE)
    code, out, _ = ask("link", "list", "-c", "links.properties", "-o", "json")
    assert (code, [row["link"] for row in json.loads(out)]) == (0, ["east->west"])
    assert "filed" in ask("link", "list", "-c", "links.properties")[1]
    assert ask("link", "list")[0] == 2
