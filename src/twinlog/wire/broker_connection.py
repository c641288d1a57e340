"""One connection to a broker: TLS and SASL by aiokafka, frames by hand. Runs in one asyncio loop.

aiokafka opens the connection and logs in. Then `Frames` takes the socket over: an answer is received into a buffer of
its own size, so that the megabytes of a fetch are copied once, by the kernel.
"""

from __future__ import annotations

import asyncio
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from aiokafka.conn import AIOKafkaConnection, CloseReason
from aiokafka.errors import KafkaConnectionError

from twinlog.config.settings import Kerberos
from twinlog.errors import BrokerAway
from twinlog.wire.broken import BROKEN, why
from twinlog.wire.frames import FrameReader, string
from twinlog.wire.line import Breaks, Load, keep_alive, waiting_bytes
from twinlog.wire.tickets import TicketAuthenticator

T = TypeVar("T")

_REQUEST: Final = struct.Struct(">hhi")
_SIZE: Final = struct.Struct(">i")
_SCRATCH: Final = 65_536
_LARGEST: Final = 1 << 30
_MOST_PARTS: Final = 1000  # the kernel takes 1024 at once


class BrokerConnection(AIOKafkaConnection):  # type: ignore[misc]
    """aiokafka's connection plus raw frames. Whoever waits on it gets a BrokerAway when it breaks."""

    throttle_ms = 0
    throttled_until = 0.0
    kerberos = Kerberos(service="kafka")

    def authenticator_gssapi(self) -> TicketAuthenticator:
        """Log in as whom the settings name."""
        return TicketAuthenticator(loop=self._loop, principal=self.sasl_principal, kerberos=self.kerberos)

    def note_throttle(self, throttle_ms: int) -> None:
        """What an answer says of a quota: the broker reads nothing from this connection for that long (KIP-219)."""
        if throttle_ms > 0:
            self.throttle_ms, self.throttled_until = throttle_ms, time.monotonic() + throttle_ms / 1000

    cluster: str = ""
    """The alias of the cluster, for errors."""
    round_trip_s: float = float("inf")
    """The quickest answer so far. What a line cannot do faster, however little is sent."""
    breaks: Breaks | None = None
    """Where the end of this connection is noted, unless we end it ourselves."""
    _frames: Frames | None = None
    _opened_at: float = 0.0

    def away(self, reason: str) -> BrokerAway:
        """The error for everybody who waits on this connection."""
        return BrokerAway.at(self.cluster, f"{self.host}:{self.port}", reason)

    async def connect(self) -> None:
        """Open, log in, and take the socket over from aiokafka's stream."""
        await super().connect()
        self._read_task.cancel()
        self._opened_at = time.monotonic()
        keep_alive(self._writer.transport)
        self._frames = Frames(self, self._writer.transport)
        self._writer.transport.set_protocol(self._frames)

    async def _do_version_lookup(self) -> None:
        began = time.monotonic()
        await super()._do_version_lookup()
        self.round_trip_s = time.monotonic() - began

    def connected(self) -> bool:
        """Whether it is open, as far as anybody told us."""
        return self._reader is not None and (self._frames is None or not self._frames.ended)

    def take_frame(self, frame: bytes | bytearray) -> None:
        """An answer is complete: who asked first gets it."""
        if not self._requests:
            raise KafkaConnectionError(f"{self.host}:{self.port}: an answer that nobody asked for")
        self._handle_frame(frame)

    def lost(self, error: Exception | None) -> None:
        """The connection has ended: so has everything that waits for an answer."""
        if self.breaks is not None and self._writer is not None:
            reason = why(error or EOFError())
            self.breaks.note(time.monotonic(), f"{self.host}:{self.port}", reason, self._opened_at)
        if self._closed_fut is not None and not self._closed_fut.done():
            self._closed_fut.set_result(None)
        self.close(reason=CloseReason.CONNECTION_BROKEN, exc=error)

    def look_at_line(self, now: float) -> Load | None:
        """How sending goes; None while it is not open."""
        return None if self._frames is None or self._frames.ended else self._frames.look(now)

    @property
    def sent(self) -> int:
        """Bytes of all requests so far."""
        return 0 if self._frames is None else self._frames.sent

    def moved(self, end: int) -> int:
        """Bytes that we have received, and those that the other host has, of requests up to this end."""
        return 0 if self._frames is None else self._frames.moved(end)

    async def exchange(
        self, api_key: int, version: int, body: Iterable[bytes], *, flexible: bool, timeout_s: float
    ) -> FrameReader:
        """Send one request and wait for its answer; the reader stands behind the answer's header.

        Requests are answered in the order in which they were sent, so many may be under way; the frame is written
        before the first await, so calls made one after the other go out in that order.
        """
        return await self.begin(api_key, version, body, _as_it_is, flexible=flexible, timeout_s=timeout_s)

    def begin(
        self,
        api_key: int,
        version: int,
        body: Iterable[bytes],
        read: Callable[[FrameReader], T],
        *,
        flexible: bool,
        timeout_s: float,
    ) -> asyncio.Future[T]:
        """Send now, return the answer as a future: for pipelines that must keep the order of sending.

        Read the moment it comes: each task between the socket and who asked would cost another turn of the loop.
        """
        if self._writer is None:
            raise self.away("connection is closed")
        correlation_id = self._next_correlation_id()
        head = _REQUEST.pack(api_key, version, correlation_id) + string(self._client_id)
        parts = [head, b"\x00" if flexible else b"", *body]
        parts.insert(0, _SIZE.pack(sum(map(len, parts))))
        if self._frames is not None:
            self._frames.send(parts)
        else:
            self._writer.write(b"".join(parts))
        awaited = _Awaited(self, correlation_id, read, flexible=flexible)
        awaited.wait(timeout_s)
        self._requests.append((None, None, awaited))  # no correlation id: aiokafka hands the answer over as it came
        return awaited.answer

    def highest_version(self, api_key: int) -> int:
        """The newest version of an API this broker speaks; -1 when it does not know it."""
        return int(self._versions.get(api_key, (0, -1))[1])


class Frames(asyncio.BufferedProtocol):
    """Sends requests, and cuts what a broker sends into answers.

    A large answer is received where it stays; small ones share a buffer.

    scratch   │size│answer│size│answer│size│begin of a large one          the rest of it goes to a buffer of its own
    """

    def __init__(self, connection: BrokerConnection, transport: asyncio.WriteTransport) -> None:
        self._connection = connection
        self._transport = transport
        encrypted = transport.get_extra_info("sslcontext") is not None
        self._socket: int | None = None if encrypted else transport.get_extra_info("socket").fileno()
        self._scratch = bytearray(_SCRATCH)
        self._view = memoryview(self._scratch)
        self._held = 0  # bytes in the scratch buffer
        self._large: bytearray | None = None
        self._filled = 0  # bytes of the large answer
        self.ended = False
        self._load = Load()
        self._received = 0

    def look(self, now: float) -> Load:
        """Compare what was sent with what the other host has received."""
        self._load.look(waiting_bytes(self._transport), now)
        return self._load

    @property
    def sent(self) -> int:
        """Bytes of all requests so far."""
        return self._load.sent

    def moved(self, end: int) -> int:
        """Bytes that we have received, and those that the other host has, of requests up to this end."""
        return self._received + min(end, self._load.sent - waiting_bytes(self._transport))

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        """Send the parts of a request, one behind the other; what the kernel takes at once is not copied before."""
        transport = self._transport
        self._load.sent += sum(map(len, parts))
        if self._socket is not None and not transport.get_write_buffer_size() and not transport.is_closing():
            try:
                sent = os.writev(self._socket, parts[:_MOST_PARTS])
            except OSError:  # it is full, or broken, which the transport finds out as well
                sent = 0
            parts = list(_behind(parts, sent))
        if parts:
            transport.write(b"".join(parts))

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  the answer decides
        """Asyncio's name: where the next bytes go."""
        if self._large is not None:
            return memoryview(self._large)[self._filled :]
        return self._view[self._held :]

    def buffer_updated(self, nbytes: int) -> None:
        """Asyncio's name: so many came."""
        self._received += nbytes
        try:
            self._take(nbytes)
        except Exception as error:  # noqa: BLE001  asyncio would only log it, and everybody would wait for ever
            self._connection.lost(error)

    def _take(self, size: int) -> None:
        if self._large is not None:
            self._filled += size
            if self._filled == len(self._large):
                frame, self._large = self._large, None
                self._connection.take_frame(frame)
            return
        self._held += size
        at = 0
        while self._held - at >= _SIZE.size:
            (length,) = _SIZE.unpack_from(self._scratch, at)
            if not 0 <= length <= _LARGEST:
                raise KafkaConnectionError(f"an answer of {length} bytes: this is not a Kafka broker")
            begin, end = at + _SIZE.size, at + _SIZE.size + length
            if end > self._held:
                if length > _SCRATCH // 2:
                    self._large, self._filled = bytearray(length), self._held - begin
                    self._large[: self._filled] = self._view[begin : self._held]
                    self._held = 0
                    return
                break
            at = end
            self._connection.take_frame(bytes(self._view[begin:end]))
        if at:
            self._scratch[: self._held - at] = self._scratch[at : self._held]
            self._held -= at

    def eof_received(self) -> bool:
        """Asyncio's name: the broker will send nothing more."""
        self.ended = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Asyncio's name: it is over."""
        self.ended = True
        self._connection.lost(exc)


def _behind(parts: Iterable[bytes | memoryview], sent: int) -> Iterator[bytes | memoryview]:
    """What is left of some parts when so many bytes of them are sent."""
    for part in parts:
        if sent < len(part):
            yield memoryview(part)[sent:] if sent else part
        sent = max(0, sent - len(part))


class _Awaited(Generic[T]):
    """One answer under way, in aiokafka's row of them: for aiokafka it is a future of bytes."""

    __slots__ = ("_connection", "_correlation_id", "_end", "_flexible", "_late", "_read", "_sent_at", "answer")

    def __init__(
        self, connection: BrokerConnection, correlation_id: int, read: Callable[[FrameReader], T], *, flexible: bool
    ) -> None:
        self._connection = connection
        self._correlation_id = correlation_id
        self._sent_at = time.monotonic()
        self._read = read
        self._flexible = flexible
        self.answer: asyncio.Future[T] = connection._loop.create_future()  # noqa: SLF001  aiokafka has no other way
        self._late: asyncio.TimerHandle | None = None
        self._end = 0

    def wait(self, timeout_s: float) -> None:
        """Give up after this time, unless the line still moves by then."""
        self._end = self._connection.sent
        self._late = self._connection._loop.call_later(timeout_s / 2, self._look, timeout_s / 2)  # noqa: SLF001

    def _look(self, within_s: float) -> None:
        """From now on something must move."""
        moved = self._connection.moved(self._end)
        self._late = self._connection._loop.call_later(within_s, self._give_up, within_s, moved)  # noqa: SLF001

    def done(self) -> bool:
        """Whether anybody still waits."""
        return self.answer.done()

    def set_result(self, data: bytes | bytearray) -> None:
        self._on_time()
        connection = self._connection
        connection.round_trip_s = min(connection.round_trip_s, time.monotonic() - self._sent_at)
        reader = FrameReader(data)
        try:
            if reader.i32() != self._correlation_id:
                # Not at once: aiokafka is about to take this answer out of the row.
                asyncio.get_running_loop().call_soon(self._connection.close)
                raise connection.away("answers out of step")  # noqa: TRY301
            if self._flexible:
                reader.tags()
            self.answer.set_result(self._read(reader))
        except Exception as error:  # noqa: BLE001  it belongs to who asked, not to aiokafka
            self.set_exception(error)

    def set_exception(self, error: BaseException) -> None:
        """It will never come."""
        self._on_time()
        self.answer.set_exception(self._connection.away(why(error)) if isinstance(error, BROKEN) else error)
        # Who asked may be gone before it looks; the end of the connection is then no error that nobody saw.
        self.answer.exception()

    def _give_up(self, within_s: float, moved: int) -> None:
        """It did not come in time. Answers come in order: one that never comes poisons all behind it.

        A line that still moves is slow, not dead. To send the same bytes again would make it slower.
        """
        if self.answer.done():
            return
        if self._connection.moved(self._end) > moved:
            self._look(within_s)
            return
        self.set_exception(TimeoutError())
        self._connection.close()

    def _on_time(self) -> None:
        if self._late is not None:
            self._late.cancel()


def _as_it_is(reader: FrameReader) -> FrameReader:
    return reader
