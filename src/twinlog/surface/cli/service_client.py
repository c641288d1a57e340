"""A running service, asked over HTTP. Runs in commands and behind TAB; blocks until it answers or the time is over."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import typer

from twinlog.config.contexts import ServiceAddress
from twinlog.errors import ServiceRefused, ServiceUnreachable, UsageError
from twinlog.machine.local_token import token_for

if TYPE_CHECKING:
    import ssl
    import urllib.error

UNIX: Final = "unix:"
SERVICE_VARIABLE: Final = "TWINLOG_SERVICE"
TOKEN_VARIABLE: Final = "TWINLOG_TOKEN"  # noqa: S105  the name of a variable
PASSWORD_VARIABLE: Final = "TWINLOG_PASSWORD"  # noqa: S105  the name of a variable
_WITHIN_S: Final = 60.0
_WAYS: Final = {
    401: "Give a token (--token-file, or TWINLOG_TOKEN), or a name (--user); `twinlog user add` makes both.",
    403: "Change a link of the file in the file; for the rest ask as somebody who may (`twinlog user add --role`).",
    404: "`twinlog link list` shows what the service has.",
    409: "Ask again in a few seconds; `twinlog link list` shows how it stands.",
}


@dataclass(frozen=True)
class ServiceClient:
    """Asks one service."""

    address: ServiceAddress
    within_s: float = _WITHIN_S
    authorization: str | None = field(default=None, repr=False)
    """What opens the door; it never shows (R12)."""

    def get(self, *path: str, query: str = "") -> Any:
        return self.send("GET", *path, query=query)

    def send(self, method: str, *path: str, query: str = "", body: object | None = None) -> Any:
        """Send an order; the parts of the path may hold any sign. Raises ServiceUnreachable, ServiceRefused."""
        import http.client
        import urllib.error
        import urllib.request

        from twinlog.wire.web import opened

        unix = self.address.url.removeprefix(UNIX) if self.address.url.startswith(UNIX) else None
        base = "http://localhost" if unix is not None else self.address.url.rstrip("/")
        url = base + "".join(f"/{quote(part, safe='')}" for part in path) + query
        request = urllib.request.Request(url, method=method, headers=self._headers())  # noqa: S310  checked in `of`
        if body is not None:
            request.data = json.dumps(body).encode()
        context = self._tls() if url.startswith("https:") else None
        try:
            # No proxy and no redirect: a token must not go where nobody meant it to go.
            with opened(request, timeout_s=self.within_s, context=context, proxies=False, unix=unix) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise ServiceUnreachable(self.address.url, str(reason) or type(error).__name__) from None
        try:
            return json.loads(text) if text else None
        except ValueError:
            raise ServiceUnreachable(self.address.url, "what answers there is no Twinlog service") from None

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        return {**headers, "Authorization": self.authorization} if self.authorization else headers

    def _tls(self) -> ssl.SSLContext:
        import ssl

        try:
            context = ssl.create_default_context(cafile=self.address.ca)
            if self.address.certificate is not None:
                context.load_cert_chain(self.address.certificate)
        except OSError as error:
            files = " or ".join(filter(None, (self.address.ca, self.address.certificate)))
            raise UsageError(f"{files}: no certificates can be read from it ({error})") from None
        return context

    def _refusal(self, error: urllib.error.HTTPError) -> ServiceRefused:
        said = error.read()
        try:
            answer = json.loads(said)
        except ValueError:
            answer = {}
        known: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
        problem = known.get("message") or known.get("says") or known.get("detail") or error.reason
        way = known.get("remedy") or _WAYS.get(error.code, "Correct what it names and try again.")
        return ServiceRefused(self.address.url, str(problem), error.code, str(way))


def opened(address: ServiceAddress, within_s: float = _WITHIN_S, *, ask: bool = True) -> ServiceClient:
    """Return a client that shows who asks: a name with its password, or a token. Raises UsageError.

    A password that is nowhere written is asked for at a terminal, unless nobody is to be asked, as behind TAB.
    """
    if address.user is None:
        token = os.environ.get(TOKEN_VARIABLE) or _content(address.token_file, "--token-file") or token_for(address.url)
        return ServiceClient(address, within_s, f"Bearer {token}" if token else None)
    password = os.environ.get(PASSWORD_VARIABLE) or _content(address.password_file, "--password-file")
    if password is None and ask and sys.stdin.isatty():
        password = typer.prompt(f"Password of {address.user} at {address.url}", hide_input=True, err=True)
    if password is None:
        raise UsageError(f"{address.user}: no password; name a file with --password-file, or set {PASSWORD_VARIABLE}")
    shown = base64.b64encode(f"{address.user}:{password}".encode()).decode()
    return ServiceClient(address, within_s, f"Basic {shown}")


def _content(file: str | None, option: str) -> str | None:
    if file is None:
        return None
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"{file}: it cannot be read ({error.strerror}); name another {option}") from None
