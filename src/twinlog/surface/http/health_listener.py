"""/livez and /readyz at an address of their own, so that probes are answered when all connections are taken.

Runs in the service's loop. It speaks as much HTTP as a probe needs: one GET, one answer, the end. There is no TLS and
no login, because it says nothing but yes or no.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from twinlog.errors import UsageError
from twinlog.surface.http.app_state import AppState
from twinlog.surface.http.connection_limits import Listener
from twinlog.surface.http.health import is_ready

_WITHIN_S: Final = 3.0
_HEAD_BYTES: Final = 8192
_MOST_OF_ONE: Final = 32


def bind_health(listen: str) -> socket.socket:
    """Take the address of http.health.listen. Raises UsageError."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.create_server((host, int(port)), family=family, backlog=128)
    except (OSError, ValueError) as error:
        raise UsageError(f"http.health.listen = {listen}: {getattr(error, 'strerror', None) or error}") from None
    sock.setblocking(False)
    return Listener.over(sock, _MOST_OF_ONE)


async def answer_probes(sock: socket.socket, app_state: AppState) -> None:
    """Answer until cancelled."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_WITHIN_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(head, app_state))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # it gets no answer
        finally:
            writer.close()

    server = await asyncio.start_server(one, sock=sock, limit=_HEAD_BYTES)
    async with server:
        await server.serve_forever()


def _answer(head: bytes, app_state: AppState) -> bytes:
    method, _, rest = head.partition(b" ")
    path = rest.split(b" ", 1)[0].split(b"?", 1)[0]
    if method != b"GET" or path not in {b"/livez", b"/readyz"}:
        status, body = b"404 Not Found", b'{"status":"unknown"}'
    elif path == b"/livez":
        status, body = b"200 OK", b'{"status":"alive"}'
    elif is_ready(app_state, ""):
        status, body = b"200 OK", b'{"status":"ready"}'
    else:
        status, body = b"503 Service Unavailable", b'{"status":"not ready"}'
    return b"\r\n".join(
        (
            b"HTTP/1.1 " + status,
            b"Content-Type: application/json",
            b"Content-Length: %d" % len(body),
            b"Cache-Control: no-store",
            b"Connection: close",
            b"",
            body,
        )
    )
