"""A running service, asked over HTTP. Runs in commands and behind TAB; blocks until it answers or the time is over."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote, urlsplit

import typer

from twinlog.config.contexts import ServiceAddress
from twinlog.errors import ServiceRefused, ServiceUnreachable, UsageError

if TYPE_CHECKING:
    import ssl
    import urllib.error

SERVICE_VARIABLE: Final = "TWINLOG_SERVICE"
TOKEN_VARIABLE: Final = "TWINLOG_TOKEN"  # noqa: S105  the name of a variable
_WITHIN_S: Final = 60.0
_WAYS: Final = {
    401: "Give a token: --token-file, or TWINLOG_TOKEN; `twinlog user add NAME --token` makes one.",
    403: "Change a link of the file in the file; for the rest ask as somebody who may (`twinlog user add --role`).",
    404: "`twinlog link list` shows what the service has.",
    409: "Ask again in a few seconds; `twinlog link list` shows how it stands.",
}

Service = Annotated[
    str | None,
    typer.Option("--service", "-s", envvar=SERVICE_VARIABLE, help="URL of a running service. Default: of the context."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", envvar="TWINLOG_TOKEN_FILE", help="Holds the token; or set TWINLOG_TOKEN."),
]
Ca = Annotated[Path | None, typer.Option("--ca", envvar="TWINLOG_CA", help="With https: certificates to believe, PEM.")]
Certificate = Annotated[
    Path | None,
    typer.Option("--certificate", envvar="TWINLOG_CERTIFICATE", help="With https: our own, PEM with its key."),
]


@dataclass(frozen=True)
class ServiceClient:
    """Asks one service."""

    address: ServiceAddress
    within_s: float = _WITHIN_S

    def get(self, *path: str, query: str = "") -> Any:
        """Read something."""
        return self.send("GET", *path, query=query)

    def send(self, method: str, *path: str, query: str = "", body: object | None = None) -> Any:
        """Send an order; the parts of the path may hold any sign. Raises ServiceUnreachable, ServiceRefused."""
        import http.client
        import urllib.error
        import urllib.request

        url = self.address.url.rstrip("/") + "".join(f"/{quote(part, safe='')}" for part in path) + query
        request = urllib.request.Request(url, method=method, headers=self._headers())  # noqa: S310  checked in `of`
        if body is not None:
            request.data = json.dumps(body).encode()
        # No proxy: a token must not go where nobody meant it to go.
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if url.startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=self._tls()))
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=self.within_s) as answer:
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
        token = os.environ.get(TOKEN_VARIABLE) or _content(self.address.token_file)
        return {**headers, "Authorization": f"Bearer {token}"} if token else headers

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
        way = known.get("remedy") or _WAYS.get(error.code, "Mend what it names and try again.")
        return ServiceRefused(self.address.url, str(problem), error.code, str(way))


def address_of(
    service: str, token_file: Path | None = None, ca: Path | None = None, certificate: Path | None = None
) -> ServiceAddress:
    """What was given on the command line or in a context. Raises UsageError."""
    parts = urlsplit(service)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.username or parts.password:
        raise UsageError(f"{service}: it is no address of a service; write http://HOST:PORT or https://HOST:PORT")
    files = (None if one is None else str(one.absolute()) for one in (token_file, ca, certificate))
    return ServiceAddress(service, *files)


def _content(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"{file}: the token cannot be read ({error.strerror}); name another --token-file") from None
