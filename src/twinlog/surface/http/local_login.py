"""Logins on this machine: a Unix socket for admins, and a token for the user who runs a service without a login.

Whoever may write to the socket is an admin: its folder and its group decide that (0660), not a login. On loopback
without a login everybody may look; the token makes an admin of the one user who can read it. A browser gets it by the
link that `twinlog run` prints, and keeps it as a cookie that no script and no foreign page can use.
"""

from __future__ import annotations

import asyncio
import getpass
import pwd
import socket
import struct
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qs

from fastapi.responses import HTMLResponse, RedirectResponse, Response

from twinlog.control.audit import Who
from twinlog.machine.local_token import LocalToken
from twinlog.surface.http.request_limits import LimitedProtocol

LISTENER: Final = "twinlog.listener"
SOCKET: Final = "socket"
WAY_IN: Final = "To give orders, open the link that `twinlog run` prints, or use its Unix socket (--listen unix:PATH)."
_ASKED: Final = "access"
_WRONG: Final = """<!doctype html>
<html lang="en"><meta name="color-scheme" content="light dark"><title>Old link · Twinlog</title>
<h1>This link has expired</h1>
<p>It was made by a service that has stopped since. Open the link that <code>twinlog run</code> printed last.</p></html>
"""


class SocketProtocol(LimitedProtocol):
    """HTTP over a Unix socket; the system says which user is at its other end."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client = (_peer(transport.get_extra_info("socket")), 0)


def _peer(sock: Any) -> str:
    if not hasattr(socket, "SO_PEERCRED"):
        return "unix"
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    try:
        return f"unix:{pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"unix:{uid}"


class ThroughSocket:
    """Marks every request that came through the socket; nothing that a client sends can set this mark."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app({**scope, LISTENER: SOCKET}, receive, send)


def at_socket(scope: Mapping[str, Any]) -> Who | None:
    """Return who asks through the socket; None for a request that came another way."""
    if scope.get(LISTENER) != SOCKET:
        return None
    address = scope["client"][0] if scope.get("client") else "unix"
    return Who(address.removeprefix("unix:"), "admin", address)


class TokenLogin:
    """Knows the token of the user who runs the service."""

    def __init__(self, token: LocalToken, port: int) -> None:
        self._token = token
        # Cookies of one host are shared by all its ports.
        self._cookie = f"twinlog-{port}"
        self._user = getpass.getuser()

    def by(self, headers: Mapping[bytes, bytes], address: str) -> Who | None:
        """Return who shows the token, as a header or as a cookie."""
        scheme, _, shown = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if (scheme.lower() == "bearer" and self._token.fits(shown.strip())) or self._token.fits(self._kept(headers)):
            return Who(self._user, "admin", address)
        return None

    def _kept(self, headers: Mapping[bytes, bytes]) -> str:
        try:
            cookie = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(self._cookie)
        except CookieError:
            return ""
        return "" if cookie is None else cookie.value

    def follow_link(self, scope: Mapping[str, Any]) -> Response | None:
        """Answer the link that `twinlog run` prints: the browser keeps the token and asks again without it."""
        shown = parse_qs(scope.get("query_string", b"").decode("latin-1")).get(_ASKED)
        if scope["method"] != "GET" or not scope["path"].startswith("/ui") or not shown:
            return None
        if not self._token.fits(shown[0]):
            return HTMLResponse(_WRONG, 401, headers={"Cache-Control": "no-store"})
        answer = RedirectResponse(scope["path"], 303, headers={"Cache-Control": "no-store"})
        answer.set_cookie(self._cookie, self._token.value, httponly=True, samesite="strict")
        return answer


def page_link(address: str, token: LocalToken | None) -> str:
    """The address of the page, for the one who runs the service; it opens it."""
    return f"{address}/ui/" + ("" if token is None else f"?{_ASKED}={token.value}")
