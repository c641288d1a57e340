"""The gate before all routers: limits of a request, login, rights. Runs in the service's loop.

    viewer    reads                    operator  pauses, resumes, restarts, switches, checks settings
    admin     makes, changes and deletes links, forgets positions, changes levels of logging

Without a login the service listens on loopback only: everybody on the machine may look, and the token of the user who
runs it makes an admin (local_door.py). Whoever comes through the Unix socket is an admin. A browser on the same machine
must not be led into giving orders by a foreign page, so orders that come from one are refused, login or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import replace
from functools import lru_cache, partial
from html import escape
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from fastapi.responses import HTMLResponse, RedirectResponse, Response

from twinlog.config.service_settings import HttpSettings
from twinlog.control.audit import NOBODY, Audit, AuditUnavailableError, Who, order_under_way
from twinlog.control.group_trust import SIGNATURE, GroupTrust
from twinlog.machine.local_token import is_loopback
from twinlog.surface.answers.errors import refused
from twinlog.surface.http.identity import Authenticator
from twinlog.surface.http.last_used import LastUsed, last_used_file
from twinlog.surface.http.local_login import WAY_IN, TokenLogin, at_socket
from twinlog.surface.http.login_limits import TooManyLoginsError
from twinlog.surface.http.login_log import LoginLog
from twinlog.surface.http.oidc_issuer import IssuerAwayError
from twinlog.surface.http.request_limits import CERTIFICATE
from twinlog.surface.http.rights import READING, right_of
from twinlog.surface.http.sign_in import WrongSignIn, sign_in_link
from twinlog.surface.http.thread_pool import ThreadPool, TooBusyError

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN_PATHS: Final = frozenset({"/livez", "/readyz"})
"""Asked by machines that cannot log in; they tell nothing but yes or no."""
_REFUSED: Final = 400
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="twinlog", charset="UTF-8"'}
_AGAIN: Final = "Ask again; Retry-After says when."
_LOGIN: Final = """<!doctype html>
<html lang="en"><meta name="color-scheme" content="light dark"><title>Login · Twinlog</title>
<h1>This page asks for a login</h1>
<p>Reload it, and give a name and a password that it knows. <code>twinlog user add</code> makes one.</p></html>
"""
"""For whoever turned the browser's question down."""
_EITHER: Final = """<!doctype html>
<html lang="en"><meta name="color-scheme" content="light dark"><title>Login · Twinlog</title>
<h1>This page asks for a login</h1>
<p><a href="LINK">Sign in with your organisation's account</a>, or reload the page and give a name and a password.</p>
</html>
"""


@lru_cache(maxsize=256)
def _called(host: bytes) -> tuple[str, bool]:
    """The name in a Host header, and whether it is this machine's; the same few are asked for again and again."""
    try:
        name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
    except ValueError:  # brackets of an address that is none
        return host.decode("latin-1"), False
    return name, is_loopback(name)


def _place(origin: str) -> bytes | None:
    """The host of a page, as a Host header says it; None for no page's."""
    try:
        return urlsplit(origin).netloc.encode("latin-1") or None
    except ValueError:
        return None


class _TooLong(Exception):
    pass


class Gate:
    """Stands around the application."""

    def __init__(
        self,
        app: App,
        *,
        settings: HttpSettings,
        audit: Audit,
        bound_to: str,
        link_of: Callable[[str], str | None] = lambda _: None,
        token: TokenLogin | None = None,
        trust: GroupTrust | None = None,
    ) -> None:
        self._app = app
        self._settings = settings
        self._audit = audit
        self._authenticator = Authenticator(settings) if settings.asks_who else None
        self._link_of = link_of
        self._logins = LoginLog(audit)
        self._used = LastUsed(last_used_file())
        self._writing = ThreadPool("audit", threads=1, most_waiting=64)
        self._trust = trust
        self._token = token if self._authenticator is None else None
        self._only_here = is_loopback(bound_to) and not settings.allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = await self._look(scope)
        if refused is not None:
            await refused(scope, receive, send)
        elif scope["method"] in READING:
            await self._let_in(scope, receive, send)
        else:
            await self._let_order_in(scope, receive, send)

    async def _let_order_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An order that was refused before anybody looked at it is written down, too."""
        answered = 0

        async def watched(message: Message) -> None:
            nonlocal answered
            answered = message.get("status", answered)
            await send(message)

        with order_under_way() as is_noted:
            await self._let_in(scope, receive, watched)
            if answered >= _REFUSED and not is_noted():
                self._audit.note(scope["twinlog.who"], scope["method"], scope["path"], outcome=f"refused: {answered}")

    async def _look(self, scope: Scope) -> Response | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        method, path = scope["method"], scope["path"]
        host, is_here = _called(headers.get(b"host", b""))
        allowed = self._settings.allowed_hosts
        if (allowed and host not in allowed) or (self._only_here and host and not is_here):
            told = f"{host}: this service is not called so; see http.allowed.hosts"
            return refused(path, 403, "HOST_UNKNOWN", told, "Add the name to http.allowed.hosts.")
        length = headers.get(b"content-length", b"0").decode("latin-1")
        if length.isdecimal() and int(length) > self._settings.max_request_bytes:
            return self._too_long(path)
        origin = headers.get(b"origin", b"").decode("latin-1")
        if method not in READING and origin and _place(origin) != headers.get(b"host", b""):
            told = f"{origin}: orders are not taken from foreign pages"
            return refused(path, 403, "FOREIGN_PAGE", told, "Open the page of this service itself.")
        who = await self._who(scope, headers)
        if not isinstance(who, Who):
            return who
        sign_in = self._authenticator.sign_in if self._authenticator is not None else None
        if method not in READING and sign_in is not None and not sign_in.is_own(who, headers):
            told = "This order did not come from a page of this service; reload the page and try again"
            return refused(path, 403, "FOREIGN_PAGE", told, "Reload the page and try again.")
        if (denied := self._denied(who, method, path)) is not None:
            return denied
        scope["twinlog.who"] = who
        if self._authenticator is not None:
            scope["twinlog.still_in"] = partial(self._authenticator.still_in, who)
        if method not in READING and self._audit.required:
            return await self._ask_first(who, method, path)
        return None

    def _denied(self, who: Who, method: str, path: str) -> Response | None:
        """What somebody is answered who may not do this."""
        right = right_of(method, path)
        link = right.link
        if right.connector is not None and (link := self._link_of(right.connector)) is not None and not who.sees(link):
            # As if it did not exist. Links of our own interface are left out by the desk (`Desk.seen_by`).
            return refused(path, 404, "CONNECTOR_UNKNOWN", f"Connector {right.connector} not found")
        if link is not None:
            # Of a link that they do not see the router says that there is none.
            may = who.may(right.role, link) or (not who.sees(link) and who.may_somewhere(right.role))
        else:
            may = who.may_somewhere(right.role) if right.anywhere or right.connector else who.may(right.role)
        if may:
            return None
        self._audit.note(who, method, path, outcome=f"denied: needs {right.role}")
        where, way = f" at {link}" if link else "", f". {WAY_IN}" if self._authenticator is None else ""
        told = f"{who.name} is {who.role}; this needs {right.role}{where}{way}"
        remedy = WAY_IN if self._authenticator is None else f"Ask for the role {right.role}{where}."
        return refused(path, 403, "FORBIDDEN", told, remedy)

    async def _who(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Who | Response:
        """Who asks, or what they are answered."""
        address = scope["client"][0] if scope.get("client") else ""
        if (known := at_socket(scope)) is not None:
            return known
        if SIGNATURE.encode() in headers:
            return self._passed_on(scope, headers)
        if self._token is not None:
            by_token = self._token.follow_link(scope) or self._token.by(headers, address)
            if by_token is not None:
                return by_token
        if self._authenticator is None or scope["path"] in OPEN_PATHS:
            return replace(NOBODY, address=address)
        try:
            if (answer := await self._signing_in(scope, headers, address)) is not None:
                return answer
            who = await self._authenticator.identify(headers.get(b"authorization", b"").decode("latin-1"), address)
            if who is None and self._authenticator.sign_in is not None:
                who = self._authenticator.sign_in.by_session(scope, headers, address)
            if who is None:
                who = self._authenticator.by_certificate(scope.get(CERTIFICATE, ""), address)
        except IssuerAwayError as error:
            told = f"{error}: the issuer of tokens does not answer; ask again"
            return refused(scope["path"], 503, "ISSUER_SILENT", told, _AGAIN, {"Retry-After": "5"})
        except TooBusyError:
            told = "Too many logins are being checked; ask again"
            return refused(scope["path"], 503, "BUSY", told, _AGAIN, {"Retry-After": "2"})
        except TooManyLoginsError as error:
            self._logins.wrong("", address, "too many wrong logins")
            wait = str(error.seconds)
            told = f"Too many wrong logins; ask again in {wait} s"
            return refused(scope["path"], 429, "TOO_MANY_LOGINS", told, _AGAIN, {"Retry-After": wait})
        if isinstance(who, Who):
            self._logins.right(who)
            if who.by in {"password", "token", "certificate"} and self._used.see(who.name):
                self._late = asyncio.create_task(self._writing.run(self._used.write))
            return who
        if who is not None:
            self._logins.wrong(who.name, address, who.why)
        if scope["path"].startswith("/ui"):
            return self._ask_for_login(scope, headers)
        remedy = "Send a name and a password, a token, or a certificate."
        return refused(scope["path"], 401, "LOGIN_NEEDED", "User cannot access the resource.", remedy, _CHALLENGE)

    def _too_long(self, path: str) -> Response:
        told = f"The request is longer than {self._settings.max_request_bytes} bytes"
        return refused(path, 413, "TOO_LONG", told, "Send less, or raise http.max.request.bytes.")

    async def _signing_in(self, scope: Scope, headers: Mapping[bytes, bytes], address: str) -> Response | None:
        """Answer what belongs to signing in with the issuer."""
        sign_in = self._authenticator.sign_in if self._authenticator is not None else None
        answer = None if sign_in is None else await sign_in.answer(scope, headers)
        if isinstance(answer, WrongSignIn):
            self._logins.wrong("", address, "wrong sign-in")
            return answer.answer
        return answer

    def _ask_for_login(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Response:
        """Send a browser to the issuer, or let it ask for name and password; where both work, people choose."""
        if self._authenticator is None or self._authenticator.sign_in is None:
            return HTMLResponse(_LOGIN, 401, headers=_CHALLENGE)
        link = sign_in_link(scope["path"])
        if self._settings.users_file is None and scope["method"] == "GET" and b"hx-request" not in headers:
            return RedirectResponse(link, 303)
        challenge = _CHALLENGE if self._settings.users_file is not None else {}
        return HTMLResponse(_EITHER.replace("LINK", escape(link)), 401, headers=challenge)

    def _passed_on(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Who | Response:
        """For whom a standby of our group asks; it checked them, and signed that."""
        query = scope.get("query_string", b"")
        target = scope.get("raw_path", scope["path"].encode()) + (b"?" if query else b"") + query
        known = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
        who = self._trust.read(scope["method"], target.decode("latin-1"), known) if self._trust is not None else None
        told = "No service of this group signed this request, or its clock is wrong."
        remedy = "Give all services of the group the same http.group.secret, and the right time."
        return who or refused(scope["path"], 401, "NOT_SIGNED", told, remedy)

    async def _ask_first(self, who: Who, method: str, path: str) -> Response | None:
        """Write an order down before it is carried out, or refuse it."""
        try:
            await self._writing.run(self._audit.ask, who, method, path)
        except (AuditUnavailableError, TooBusyError) as error:
            told = f"The audit takes no entry ({error}); no order is carried out while http.audit.required is true"
            remedy = "Make room for the audit, or set http.audit.required = false."
            return refused(path, 503, "AUDIT_UNAVAILABLE", told, remedy, {"Retry-After": "5"})
        return None

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what comes, and give up what does not begin to answer in time; a stream may then last."""
        came, begun = 0, False

        async def counted() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self._settings.max_request_bytes:
                raise _TooLong
            return message

        async def watched(message: Message) -> None:
            nonlocal begun
            if not begun:
                begun = True
                limit.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(self._settings.request_timeout_seconds) as limit:
                await self._app(scope, counted, watched)
        except _TooLong:
            if not begun:
                await self._too_long(scope["path"])(scope, receive, send)
        except TimeoutError:
            if not begun:
                told = "Request timed out. The order may still be carried out; look before repeating it."
                await refused(scope["path"], 500, "TIMED_OUT", told, "Look before repeating it.")(scope, receive, send)
