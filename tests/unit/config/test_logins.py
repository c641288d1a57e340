"""Wrong passwords: counted before they are checked, for one name and one network, and nobody else pays for them."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, asked, served

from twinlog.config.security.users import save_user, with_password, with_token
from twinlog.config.service_settings import HttpSettings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("users") / "users"
    save_user(path, with_password("vera", "viewer", "vera's long password"))
    save_user(path, with_password("anna", "admin", "anna's long password"))
    robot, token = with_token("robot", "operator")
    save_user(path, robot)
    return path, token


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds: that they grow is what counts."""
    monkeypatch.setattr("twinlog.surface.http.login_limits.FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr("twinlog.surface.http.login_limits.LONGEST_PAUSE_S", 0.05)


def basic(name: str, password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


VERA, ANNA = basic("vera", "vera's long password"), basic("anna", "anna's long password")


def status(address: str, headers: dict[str, str]) -> int:
    request = urllib.request.Request(f"{address}/connectors", headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_right_login_of_somebody_else_does_not_buy_more_guesses(
    made: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
):
    # Whoever would have to wait is sent away, so that it can be seen.
    monkeypatch.setattr("twinlog.surface.http.login_limits.MOST_WAITING", -1)
    with asked(PaperService(PaperTopic(), http=HttpSettings(users_file=made[0]))) as client:
        seen: Counter[int] = Counter()
        for number in range(12):
            seen[client.get("/connectors", headers=basic("anna", f"guess {number}")).status_code] += 1
            if number >= 4:
                assert client.get("/connectors", headers=VERA).status_code == 200, "she pays for nobody's guesses"
        assert seen[401] < 8, seen
        assert seen[429] > 4, seen


@pytest.mark.usefixtures("quick")
def test_many_wrong_logins_slow_that_name_down_and_lock_nobody_out(made: tuple[Path, str]):
    with asked(PaperService(PaperTopic(), http=HttpSettings(users_file=made[0]))) as client:
        for number in range(8):
            assert client.get("/connectors", headers=basic("anna", f"guess {number}")).status_code == 401
        assert client.get("/connectors", headers=VERA).status_code == 200
        assert client.get("/connectors", headers=ANNA).status_code == 200, "later, but let in"


def test_a_right_token_is_never_held_up(made: tuple[Path, str]):
    with asked(PaperService(PaperTopic(), http=HttpSettings(users_file=made[0]))) as client:
        for number in range(30):
            answer = client.get("/connectors", headers={"authorization": f"Bearer wrong{number}"})
            assert answer.status_code == 401
        assert client.get("/connectors", headers={"authorization": f"Bearer {made[1]}"}).status_code == 200
        assert client.get("/connectors", headers=ANNA).status_code == 200, "a token that expired concerns no password"


def test_guesses_at_the_same_moment_are_counted_before_they_are_checked(
    made: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
):
    checked = []
    right = "twinlog.config.security.users.Users.by_password"

    def slow(self: object, name: str, password: str) -> None:
        del self, password
        checked.append(name)
        time.sleep(0.2)

    monkeypatch.setattr(right, slow)
    monkeypatch.setattr("twinlog.surface.http.login_limits.FIRST_PAUSE_S", 1.0)
    monkeypatch.setattr("twinlog.surface.http.login_limits.LONGEST_PAUSE_S", 1.0)
    with (
        served(PaperService(PaperTopic(), http=HttpSettings(users_file=made[0]))) as address,
        ThreadPoolExecutor(24) as guesses,
    ):
        running = [guesses.submit(status, address, basic("anna", f"guess {number}")) for number in range(24)]
        answers = Counter(one.result() for one in running)
    assert len(checked) < 14, "those that came while one was being checked wait, or are sent away"
    assert answers[429] > 10, answers


def test_the_address_is_the_proxys_word_only_where_the_file_says_so(made: tuple[Path, str], tmp_path: Path):
    def addresses(http: HttpSettings, audit: Path) -> set[str]:
        with served(PaperService(PaperTopic(), http=http, audit=audit)) as address:
            for number in range(3):
                forged = {"x-forwarded-for": f"203.0.113.{number}"}
                assert status(address, basic("anna", f"guess {number}") | forged) == 401
        return {json.loads(line)["address"] for line in audit.read_text().splitlines()}

    assert addresses(HttpSettings(users_file=made[0]), tmp_path / "one") == {"127.0.0.1"}
    told = HttpSettings(users_file=made[0], trusted_proxies=("127.0.0.1",))
    assert addresses(told, tmp_path / "two") == {f"203.0.113.{number}" for number in range(3)}


@pytest.mark.usefixtures("quick")
def test_wrong_and_right_logins_are_audited_once_and_repeats_as_a_number(made: tuple[Path, str], tmp_path: Path):
    audit = tmp_path / "audit.log"
    with asked(PaperService(PaperTopic(), http=HttpSettings(users_file=made[0]), audit=audit)) as client:
        for number in range(9):
            client.get("/connectors", headers=basic("mallory\n{}", f"guess {number}"))
        for _ in range(3):
            client.get("/connectors", headers={"authorization": f"Bearer {made[1]}"})
        client.get("/connectors", headers={"authorization": "Bearer wrong"})
    entries = [json.loads(line) for line in audit.read_text().splitlines()]
    told = [(one["name"], one["what"], one["outcome"]) for one in entries]
    assert told.count(("robot", "log in", "done")) == 1, "not with every request"
    wrong = [one for one in told if one[1] == "log in" and one[0].startswith("mallory")]
    assert 1 <= len(wrong) < 9, "a flood of guesses is no flood of entries"
    assert wrong[0][2] == "refused: wrong name or password"
    assert ("", "log in", "refused: wrong token") in told
    assert "guess" not in audit.read_text()


def test_somebody_can_log_in_while_every_other_thread_waits_for_a_cluster(made: tuple[Path, str]):
    with asked(PaperService(PaperTopic(), http=HttpSettings(users_file=made[0]))) as client:
        release = threading.Event()
        waits: list[asyncio.Task[bool]] = []

        async def block() -> None:
            waits.extend(asyncio.create_task(asyncio.to_thread(release.wait, 20)) for _ in range(64))
            await asyncio.sleep(0)

        assert client.portal is not None
        client.portal.call(block)
        try:
            began = time.monotonic()
            assert client.get("/connectors", headers=ANNA).status_code == 200
            assert time.monotonic() - began < 10
        finally:
            release.set()


def test_checks_that_pile_up_are_refused_and_not_kept_for_later(
    made: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("twinlog.config.security.users.Users.by_password", lambda *_: time.sleep(0.5))
    with (
        served(PaperService(PaperTopic(), http=HttpSettings(users_file=made[0]))) as address,
        ThreadPoolExecutor(40) as strangers,
    ):
        running = [strangers.submit(status, address, basic(f"stranger{number}", "x")) for number in range(40)]
        token = {"authorization": f"Bearer {made[1]}"}
        assert status(address, token) == 200, "tokens wait for no password"
        answers = Counter(one.result() for one in running)
    assert answers[503] > 10, answers
    assert set(answers) <= {401, 503}
