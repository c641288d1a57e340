"""Requests to the leader over connections that stay open. Runs in the service's loop."""

import asyncio
import contextlib
import ssl
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import httptools

_MOST_IDLE: Final = 256
_READ_BYTES: Final = 65_536


class PeerAway(Exception):
    """The leader cannot be reached, or ended the connection before it answered."""


@dataclass
class PeerAnswer:
    """What the leader answered."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key == name), None)


class _Incoming:
    """httptools calls these while it reads an answer."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        self.complete = self.keep = False
        self.parser: Any = httptools.HttpResponseParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.parts.append(body)

    def on_message_complete(self) -> None:
        self.complete = True
        self.keep = bool(self.parser.should_keep_alive())  # a moment later the parser has forgotten the headers


@dataclass
class Peers:
    """A pool of connections by address. `tls` is used for https."""

    tls: ssl.SSLContext | None = None
    connect_timeout_s: float = 5.0
    _idle: dict[str, list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = field(default_factory=dict)

    async def ask(
        self, url: str, method: str, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> PeerAnswer:
        """One request and its answer. Raises PeerAway."""
        parts = urlsplit(url)
        lines = [method.encode() + b" " + target + b" HTTP/1.1", b"host: " + parts.netloc.encode()]
        lines += [name + b": " + value for name, value in headers]
        lines.append(b"content-length: %d" % len(body))
        request = b"\r\n".join(lines) + b"\r\n\r\n" + body
        while True:
            reused = bool(self._idle.get(url))
            try:
                connection = await self._connection(url)
                answer, keep = await self._exchange(connection, request, head=method == "HEAD")
            except (OSError, EOFError, TimeoutError, httptools.HttpParserError) as trouble:
                if reused:
                    continue  # it was closed while nobody used it; a fresh one tells more
                raise PeerAway(f"{url}: {trouble or type(trouble).__name__}") from trouble
            idle = self._idle.setdefault(url, [])
            if keep and len(idle) < _MOST_IDLE:
                idle.append(connection)
            else:
                connection[1].close()
            return answer

    async def _connection(self, url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        idle = self._idle.get(url)
        while idle:
            known = idle.pop()
            if not known[0].at_eof():
                return known
            known[1].close()
        parts = urlsplit(url)
        tls = (self.tls or ssl.create_default_context()) if parts.scheme == "https" else None
        async with asyncio.timeout(self.connect_timeout_s):
            return await asyncio.open_connection(parts.hostname, parts.port, ssl=tls)

    @staticmethod
    async def _exchange(
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes, *, head: bool
    ) -> tuple[PeerAnswer, bool]:
        reader, writer = connection
        incoming = _Incoming()
        try:
            writer.write(request)
            await writer.drain()
            while not incoming.complete and not (head and incoming.headers):
                incoming.parser.feed_data(await _some(reader))
        except BaseException:
            writer.close()
            raise
        answer = PeerAnswer(incoming.parser.get_status_code(), incoming.headers, b"".join(incoming.parts))
        return answer, incoming.keep

    def close(self) -> None:
        """Close what is open."""
        for connections in self._idle.values():
            for _, writer in connections:
                with contextlib.suppress(OSError):
                    writer.close()
        self._idle.clear()


async def _some(reader: asyncio.StreamReader) -> bytes:
    data = await reader.read(_READ_BYTES)
    if not data:
        raise EOFError("the connection ended")
    return data
