"""Limits on request heads: 15 seconds and 64 KiB. Runs in the service's loop, once per connection.

The gate limits a request once its head is there. Whoever sends half of a head and then nothing would hold a connection
for ever, and a thousand of them the whole service; whoever sends a head without end would fill the memory (R11). The
parser is written in C and costs a third of one that is not, but leaves these limits to us, and heads that name no host
or several, and wishes for another protocol.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

import httptools
from cryptography.x509 import load_der_x509_certificate
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS: Final = 15.0
HEAD_BYTES: Final = 1 << 16
CERTIFICATE: Final = "twinlog.certificate"


class _Parser(httptools.HttpRequestParser):
    """Stays with HTTP/1.1, whatever else somebody would rather speak.

    httptools stops behind the head of such a request. Java's own client begins with one, also when there is a body,
    which would be lost; so the head is read again without the wish.
    """

    def __init__(self, protocol: LimitedProtocol) -> None:
        super().__init__(protocol)
        self._protocol = protocol
        # As uvicorn sets it: data behind a request that closes the connection is no mistake.
        self.set_dangerous_leniencies(lenient_data_after_close=True)

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # uvicorn gives nothing else
        try:
            super().feed_data(data)
        except httptools.HttpParserUpgrade as wish:
            self.feed_data(self._protocol.plain_head() + data[wish.args[0] :])


class LimitedProtocol(HttpToolsProtocol):
    """HTTP with a limit for the time between a connection, or the first byte of a request, and the end of its head."""

    _subject: str = ""  # of the certificate that the client showed
    _giving_up: asyncio.TimerHandle | None = None
    _unread: int = 0  # bytes since a head ended or a piece of a body came: heads, trailers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.parser = _Parser(self)
        self._subject = _subject_of(transport.get_extra_info("ssl_object"))
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        super().data_received(data)
        if self._unread > HEAD_BYTES:
            self._refuse()
        elif self._is_answering():
            self._stop_waiting()
        else:
            self._wait_for_head()

    def on_headers_complete(self) -> None:
        """Take a head. What is raised here becomes a 400."""
        self._unread = 0
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise ValueError("a head names one host")
        if self.parser.get_method() == b"CONNECT":
            raise ValueError("this is no proxy")
        if self._subject:
            cast("dict[str, Any]", self.scope)[CERTIFICATE] = self._subject
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def plain_head(self) -> bytes:
        """The head that was just read, without a wish for another protocol."""
        first = b"%s %s HTTP/1.1" % (self.parser.get_method(), self.url)
        kept = (b"%s: %s" % header for header in self.headers if header[0] not in {b"connection", b"upgrade"})
        return b"\r\n".join([first, *kept, b"", b""])

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body; the gate counts them."""
        self._unread = 0
        super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        # Not from the last byte on: a byte now and then must not prolong it.
        if self._giving_up is None:
            self._giving_up = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def _give_up(self) -> None:
        self._giving_up = None
        if not self._is_answering():
            self.transport.close()

    def _refuse(self) -> None:
        """Let somebody go who talks too much; an answer that is under way cannot be interrupted by another."""
        if not self._is_answering() and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")
        self.transport.close()

    def _is_answering(self) -> bool:
        """Whether a head was read to its end and its answer was not; there is no cycle before."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete


def _subject_of(secured: Any) -> str:
    """Whom the client's certificate names; it was checked against http.tls.client.ca in the handshake."""
    shown = None if secured is None else secured.getpeercert(binary_form=True)
    return "" if not shown else load_der_x509_certificate(shown).subject.rfc4514_string()
