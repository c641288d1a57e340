"""Signing in on the page with an OIDC issuer: authorization code with PKCE, state and nonce. Runs in the loop.

    /ui/sign-in ──▶ the issuer's page ──▶ /ui/sign-in/callback ──▶ a session in a cookie ──▶ the page
         └ state, nonce and verifier in a sealed cookie: only the browser that began can come back

An order with a session needs a token that only our own pages have (`X-Twinlog-CSRF`): browsers send cookies along with
whatever another page makes them send.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

from fastapi.responses import HTMLResponse, RedirectResponse, Response

from twinlog.config.service_settings import HttpSettings, OidcSettings
from twinlog.control.audit import Who
from twinlog.surface.http.oidc_issuer import OidcIssuer
from twinlog.surface.http.roles import Roles
from twinlog.surface.http.sessions import Sealed, token_of
from twinlog.surface.http.thread_pool import ThreadPool

BEGIN: Final = "/ui/sign-in"
BACK: Final = "/ui/sign-in/callback"
END: Final = "/ui/sign-out"
_BEGUN_S: Final = 600
_CHECK: Final = b"x-twinlog-csrf"
_REFUSED: Final = """<!doctype html>
<html lang="en"><meta name="color-scheme" content="light dark"><title>Not signed in · Twinlog</title>
<h1>You are not signed in</h1>
<p>The issuer did not vouch for this browser, or your account has no role here. <a href="/ui/sign-in">Try again</a>.</p>
</html>
"""
_ENDED: Final = """<!doctype html>
<html lang="en"><meta name="color-scheme" content="light dark"><title>Signed out · Twinlog</title>
<h1>You are signed out</h1>
<p>Your session with the issuer may still be open. <a href="/ui/sign-in">Sign in again</a>.</p></html>
"""


@dataclass(frozen=True)
class WrongSignIn:
    """Somebody came back from the issuer and is not let in."""

    answer: Response


class SignIn:
    """The door of the page. Only where the settings name a client of the issuer."""

    def __init__(self, settings: HttpSettings, oidc: OidcSettings, issuer: OidcIssuer, asking: ThreadPool) -> None:
        self._oidc = oidc
        self._issuer = issuer
        self._asking = asking
        self._roles = Roles(settings.roles)
        self._begun = Sealed("twinlog-sign-in", settings.group_secret)
        self._sessions = Sealed("twinlog-session", settings.group_secret)

    async def answer(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> Response | WrongSignIn | None:
        """Answer what belongs to signing in and out; None for everything else. Raises IssuerAwayError, TooBusyError."""
        match scope["method"], scope["path"]:
            case "GET", path if path == BEGIN:
                return await self._begin(scope)
            case "GET", path if path == BACK:
                return await self._back(scope, headers)
            case "POST", path if path == END:
                return self._end(scope, headers)
            case _:
                return None

    def by_session(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes], address: str) -> Who | None:
        """Return whose session a browser shows."""
        session = self._sessions.read(_cookies(headers), secure=_is_secure(scope))
        if session is None:
            return None
        role, grants = self._roles.of(session["roles"])
        if role is None:
            return None
        return Who(
            session["name"],
            role,
            address,
            "session",
            session["subject"],
            self._oidc.issuer,
            grants,
            session["until"],
            token_of(session["id"]),
        )

    def is_out(self, who: Who) -> bool:
        """Whether a session was signed out since."""
        return self._sessions.is_ended(who.proof)

    def is_own(self, who: Who, headers: Mapping[bytes, bytes]) -> bool:
        """Whether an order with a session comes from one of our own pages."""
        return who.by != "session" or hmac.compare_digest(headers.get(_CHECK, b""), who.proof.encode())

    async def _begin(self, scope: Mapping[str, Any]) -> Response:
        endpoint = await self._asking.run(self._issuer.authorization_endpoint)
        verifier = secrets.token_urlsafe(48)
        content = {
            "state": secrets.token_urlsafe(24),
            "nonce": secrets.token_urlsafe(24),
            "verifier": verifier,
            "next": _next(scope),
            "back": self._redirect(scope),
        }
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self._oidc.client_id or "",
            "redirect_uri": content["back"],
            "scope": self._oidc.scopes,
            "state": content["state"],
            "nonce": content["nonce"],
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        answer = RedirectResponse(f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}", 303)
        self._begun.write(answer, content, _BEGUN_S, secure=_is_secure(scope))
        return answer

    async def _back(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> Response | WrongSignIn:
        secure, said = _is_secure(scope), _query(scope)
        begun = self._begun.read(_cookies(headers), secure=secure)
        wrong = WrongSignIn(HTMLResponse(_REFUSED, 401))
        if begun is None or not hmac.compare_digest(said.get("state", "").encode(), begun["state"].encode()):
            return wrong
        self._begun.remove(wrong.answer, secure=secure)
        form = {
            "grant_type": "authorization_code",
            "code": said.get("code", ""),
            "redirect_uri": begun["back"],
            "client_id": self._oidc.client_id or "",
            "code_verifier": begun["verifier"],
        }
        client, secret = self._oidc.client_id or "", self._oidc.client_secret
        token = await self._asking.run(self._issuer.exchange, form, client, secret) if form["code"] else None
        if token is None:
            return wrong
        signed_in = await self._asking.run(self._issuer.read_id_token, token, client, begun["nonce"])
        if signed_in is None:
            return wrong
        who, roles = signed_in
        session = {"id": secrets.token_urlsafe(24), "name": who.name, "subject": who.subject, "roles": roles}
        answer = RedirectResponse(begun["next"], 303)
        self._begun.remove(answer, secure=secure)
        self._sessions.write(answer, session, self._oidc.session_minutes * 60, secure=secure)
        return answer

    def _end(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> Response:
        secure = _is_secure(scope)
        session = self._sessions.read(_cookies(headers), secure=secure)
        if session is not None:
            if not hmac.compare_digest(_query(scope).get("csrf", "").encode(), token_of(session["id"]).encode()):
                return HTMLResponse("This order did not come from a page of ours.", 403)
            self._sessions.end(session)
        answer = HTMLResponse(_ENDED)
        self._sessions.remove(answer, secure=secure)
        return answer

    def _redirect(self, scope: Mapping[str, Any]) -> str:
        """Where the issuer sends the browser back to; it knows the addresses that are allowed."""
        if self._oidc.redirect_url is not None:
            return self._oidc.redirect_url
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        return f"{scope.get('scheme', 'http')}://{host}{BACK}"


def sign_in_link(path: str) -> str:
    """Where somebody is sent who wants to see a page."""
    return f"{BEGIN}?{urlencode({'next': path})}"


def _next(scope: Mapping[str, Any]) -> str:
    """The page to go to afterwards: one of ours, whatever the address says."""
    wanted = _query(scope).get("next", "")
    plain = wanted.startswith("/ui/") and not wanted.startswith((BEGIN, END)) and wanted.isprintable()
    return wanted if plain and "\\" not in wanted else "/ui/"


def _query(scope: Mapping[str, Any]) -> dict[str, str]:
    parameters = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return {name: values[0] for name, values in parameters.items()}


def _cookies(headers: Mapping[bytes, bytes]) -> str:
    return headers.get(b"cookie", b"").decode("latin-1")


def _is_secure(scope: Mapping[str, Any]) -> bool:
    return bool(scope.get("scheme") == "https")
