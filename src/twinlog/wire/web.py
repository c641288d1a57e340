"""HTTP requests that carry credentials: they reach the address that was meant and no other. Blocking.

Python's own opener follows a redirect to any host and takes the headers along. Here nobody is followed: an answer that
says "elsewhere" is an error like any other. Link-local addresses (169.254.0.0/16, fe80::/10) are not spoken to: the
metadata service of a cloud machine hands out the machine's own credentials there.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.request
from collections.abc import Callable
from typing import Any

from twinlog.config.security.connector_rules import is_link_local


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nobody; the answer is then raised as HTTPError."""


def _check(sock: Any) -> None:
    """Check the address of the other end: a name may have another address each time it is resolved."""
    peer = sock.getpeername()
    if isinstance(peer, tuple) and is_link_local(str(peer[0])):
        sock.close()
        raise OSError(f"{peer[0]} is a link-local address; nothing is sent there")


class _Plain(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _check(self.sock)


class _Secure(http.client.HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        _check(self.sock)


def _through(path: str) -> Callable[..., http.client.HTTPConnection]:
    class Local(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(path)

    return Local


class _PlainHandler(urllib.request.HTTPHandler):
    def __init__(self, unix: str | None) -> None:
        super().__init__()
        self._make: Any = _Plain if unix is None else _through(unix)

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._make, req)


class _SecureHandler(urllib.request.HTTPSHandler):
    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._trust = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Secure, req, context=self._trust)


def opened(
    request: urllib.request.Request,
    *,
    timeout_s: float,
    context: ssl.SSLContext | None = None,
    proxies: bool = True,
    unix: str | None = None,
) -> http.client.HTTPResponse:
    """Send it and return the answer, as urlopen does; with `unix`, through that socket. Raises what urlopen raises."""
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects(), _PlainHandler(unix)]
    if request.full_url.startswith("https:"):
        handlers.append(_SecureHandler(context or ssl.create_default_context()))
    if not proxies or unix is not None:
        handlers.append(urllib.request.ProxyHandler({}))
    response: http.client.HTTPResponse = urllib.request.build_opener(*handlers).open(request, timeout=timeout_s)
    return response
