"""Signing in on the page through a live issuer: code with PKCE, a session of one browser, orders with a token."""

from __future__ import annotations

import http.cookies
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.kit.connect_paper import PaperService, PaperTopic, served
from tests.kit.issuer import AUDIENCE, Issuer, issuer_running
from tests.kit.paper_backend import PaperBackend

from twinlog.config.resolve import resolve
from twinlog.config.security.secrets import Secret
from twinlog.config.security.users import save_user, with_token
from twinlog.config.service_settings import HttpSettings, OidcSettings
from twinlog.model.clock import SystemClock
from twinlog.surface.http.app_state import AppState


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with issuer_running() as found:
        found.says = {"roles": ["operator"]}
        yield found


def settings_of(issuer: Issuer, **more: Any) -> HttpSettings:
    oidc = OidcSettings(
        issuer=issuer.url,
        jwks_url=None,
        audience=AUDIENCE,
        roles_claim="roles",
        client_id="twinlog-page",
        client_secret=Secret(issuer.client_secret),
    )
    return HttpSettings(oidc=oidc, **more)


def service_of(issuer: Issuer, topic: PaperTopic | None = None, **more: Any) -> PaperService:
    return PaperService(
        topic or PaperTopic(),
        http=settings_of(issuer, **more),
        app_state=lambda audit: AppState.of(PaperBackend(), audit, look_seconds=60),
    )


class Answer(NamedTuple):
    status: int
    headers: Any
    text: str


class Visitor:
    """A browser as far as it matters: it keeps cookies, follows redirects when told to, and runs no script."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.cookies: dict[str, str] = {}
        self.set_cookies: list[str] = []
        self._opener = urllib.request.build_opener(_Stay())

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        url = path if path.startswith("http") else f"{self.address}{path}"
        sent = {"Accept": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if url.startswith(self.address) and self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        request = urllib.request.Request(url, method=method, headers=sent, data=b"" if method != "GET" else None)  # noqa: S310
        try:
            answer = self._opener.open(request, timeout=20)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            if url.startswith(self.address):
                self._keep(answer.headers.get_all("set-cookie") or [])
            return Answer(int(answer.status or 0), answer.headers, answer.read().decode())

    def _keep(self, lines: list[str]) -> None:
        for line in lines:
            self.set_cookies.append(line)
            for name, one in http.cookies.SimpleCookie(line).items():
                if one["max-age"] == "0" or not one.value:
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = one.value

    def follow(self, path: str) -> Answer:
        answer = self.ask(path)
        for _ in range(8):
            if answer.status not in {302, 303, 307}:
                return answer
            answer = self.ask(urllib.parse.urljoin(f"{self.address}{path}", answer.headers["location"]))
        raise AssertionError("round and round")

    def csrf(self) -> str:
        found = re.search(r'data-csrf="([^"]+)"', self.ask("/ui/").text)
        assert found is not None
        return found.group(1)


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


BEGIN = "/v1/links/east-%3Ewest/examinations"


def test_a_browser_is_sent_to_the_issuer_and_comes_back_with_a_session(issuer: Issuer):
    topic = PaperTopic()
    with served(service_of(issuer, topic)) as address:
        visitor = Visitor(address)
        page = visitor.follow("/ui/links/east-%3Ewest")
        assert page.status == 200
        assert "olga" in page.text
        assert "east-&gt;west" in page.text or "east->west" in page.text, "where they wanted to go"
        (session,) = [line for line in visitor.set_cookies if line.startswith("twinlog-session=")]
        assert "HttpOnly" in session
        assert "samesite=lax" in session.lower()
        assert "olga" not in session, "sealed"
        assert visitor.ask("/v1/links").status == 200, "the session opens what the page asks for"
        assert Visitor(address).ask("/v1/links").status == 401, "and nobody else's browser"
    told = [one for one in map(json.loads, topic.audited) if one["what"] == "log in"]
    assert [(one["name"], one["by"], one["subject"], one["issuer"]) for one in told] == [
        ("olga", "session", "1", issuer.url)
    ]


def test_an_order_with_a_session_needs_the_token_of_the_page(issuer: Issuer):
    with served(service_of(issuer)) as address:
        visitor = Visitor(address)
        visitor.follow("/ui/")
        key = {"Idempotency_Key": "a-key-of-its-own"}
        assert visitor.ask(BEGIN, "POST", **key).status == 403, "what another page could send"
        assert visitor.ask(BEGIN, "POST", X_Twinlog_CSRF="wrong", **key).status == 403
        other = Visitor(address)
        other.follow("/ui/")
        csrf, foreign = visitor.csrf(), other.csrf()
        assert foreign != csrf, "a page that is kept for one session is not given to another of the same user"
        assert visitor.ask(BEGIN, "POST", X_Twinlog_CSRF=csrf, Origin="https://evil.example", **key).status == 403
        assert visitor.ask(BEGIN, "POST", X_Twinlog_CSRF=csrf, **key).status == 202
        assert other.ask(BEGIN, "POST", X_Twinlog_CSRF=csrf, **key).status == 403


def test_who_signs_out_is_out_also_with_a_copy_of_the_cookie(issuer: Issuer):
    with served(service_of(issuer)) as address:
        visitor = Visitor(address)
        visitor.follow("/ui/")
        csrf, copy = visitor.csrf(), dict(visitor.cookies)
        assert visitor.ask("/ui/sign-out", "POST").status == 403, "another page must not sign anybody out"
        assert visitor.ask(f"/ui/sign-out?csrf={csrf}", "POST").status in {200, 303}
        assert "twinlog-session" not in visitor.cookies
        thief = Visitor(address)
        thief.cookies = copy
        assert thief.ask("/v1/links").status == 401


def test_a_session_ends_and_a_changed_one_is_none(issuer: Issuer, monkeypatch: pytest.MonkeyPatch):
    with served(service_of(issuer)) as address:
        visitor = Visitor(address)
        visitor.follow("/ui/")
        good = visitor.cookies["twinlog-session"]
        assert visitor.ask("/v1/links").status == 200
        visitor.cookies["twinlog-session"] = good[:-2] + ("AA" if not good.endswith("AA") else "BB")
        assert visitor.ask("/v1/links").status == 401
        visitor.cookies["twinlog-session"] = good
        now = time.time()
        monkeypatch.setattr(SystemClock, "now_s", lambda _: now + 3601)
        assert visitor.ask("/v1/links").status == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "someone-else"},
        {"iss": "http://127.0.0.1:1/"},
        {"exp": 1_000_000_000},
        {"roles": []},
        {"azp": "someone-else", "aud": ["twinlog-page", "someone-else"]},
    ],
    ids=str,
)
def test_an_id_token_that_does_not_fit_signs_nobody_in(issuer: Issuer, wrong: dict[str, Any]):
    issuer.says |= wrong
    topic = PaperTopic()
    with served(service_of(issuer, topic)) as address:
        visitor = Visitor(address)
        assert visitor.follow("/ui/").status in {401, 403}
        assert "twinlog-session" not in visitor.cookies
    assert [one["outcome"] for one in map(json.loads, topic.audited)] == ["refused: wrong sign-in"]


def test_an_answer_that_this_browser_did_not_ask_for_signs_nobody_in(issuer: Issuer):
    with served(service_of(issuer)) as address:
        mallory, victim = Visitor(address), Visitor(address)
        sent = mallory.ask("/ui/sign-in")
        back = mallory.ask(sent.headers["location"]).headers["location"]
        assert victim.ask(back).status == 401, "no cookie of the beginning"
        victim.ask("/ui/sign-in")
        assert victim.ask(back).status == 401, "the state of another browser"
        assert mallory.ask(back).status == 303
        assert mallory.ask(back).status == 401, "a code works once"
        begun = mallory.ask("/ui/sign-in?next=https://evil.example/")
        done = mallory.ask(mallory.ask(begun.headers["location"]).headers["location"])
        assert done.headers["location"] == "/ui/", "only to pages of ours"


def test_another_verifier_gets_no_token(issuer: Issuer, monkeypatch: pytest.MonkeyPatch):
    with served(service_of(issuer)) as address:
        visitor = Visitor(address)
        begun = visitor.ask("/ui/sign-in")
        back = visitor.ask(begun.headers["location"]).headers["location"]
        for ticket in list(issuer.tickets):
            issuer.tickets[ticket] = issuer.tickets[ticket].__class__("twinlog-page", "http://else", "n", "c")
        assert visitor.ask(back).status == 401
        issuer.open = False
        monkeypatch.undo()
    with served(service_of(issuer)) as address:
        assert Visitor(address).ask("/ui/sign-in").status == 503, "an issuer that is away is told as such"


def test_services_of_a_group_know_each_others_sessions(issuer: Issuer):
    secret = Secret("the same for all of the group")
    with served(service_of(issuer, group_secret=secret)) as one, served(service_of(issuer, group_secret=secret)) as two:
        visitor = Visitor(one)
        visitor.follow("/ui/")
        visitor.address = two
        assert visitor.ask("/v1/links").status == 200
    with served(service_of(issuer)) as three:
        visitor.address = three
        assert visitor.ask("/v1/links").status == 401


def test_programs_are_not_redirected_and_logins_of_the_file_still_work(issuer: Issuer, tmp_path: Path):
    robot, token = with_token("robot", "viewer")
    save_user(tmp_path / "users", robot)
    with served(service_of(issuer, users_file=tmp_path / "users")) as address:
        visitor = Visitor(address)
        assert visitor.ask("/v1/links").status == 401
        assert visitor.ask("/connectors", Authorization=f"Bearer {token}").status == 200
        assert visitor.ask("/v1/links", Authorization=f"Bearer {issuer.token()}").status == 200
        choice = visitor.ask("/ui/")
        assert choice.status == 401
        assert "/ui/sign-in" in choice.text, "both ways are offered"
        assert choice.headers["www-authenticate"].startswith("Basic")


def test_the_settings_of_the_sign_in_are_read():
    text = b"""clusters = a, b
bootstrap.servers = k:1
a->b.enabled = true
http.oidc.issuer = https://login.example/realms/ops
http.oidc.client.id = page
http.oidc.client.secret = hush
http.oidc.redirect.url = https://mirror.example/ui/sign-in/callback
http.session.minutes = 30
"""
    oidc = resolve(text, "f", (), {}).service.http.oidc
    assert oidc is not None
    assert (oidc.client_id, oidc.session_minutes) == ("page", 30)
    assert oidc.client_secret is not None
    assert "hush" not in repr(oidc)
