"""What our own end of a line tells: what waits, what is carried, what breaks."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from tests.kit.waiting import until

from twinlog.wire.broker_connection import Frames
from twinlog.wire.line import Breaks, Load, keep_alive

MEGABYTE = 1_000_000


def watched(*looks: tuple[float, int, int]) -> Load:
    """A load that was looked at: when, sent by then, waiting then."""
    load = Load()
    for now, sent, waiting in looks:
        load.sent = sent
        load.look(waiting, now)
    return load


@pytest.mark.proves("R14")
def test_a_line_is_slow_where_bytes_wait_all_the_time_and_some_arrive() -> None:
    assert watched((1, 1_000, 900), (2, 1_000, 800), (3, 1_000, 700)).backlog() == (100, 700)
    assert watched((1, 1_000, 900), (2, 1_000, 900), (3, 1_000, 900)).backlog() == (0, 900)


def test_a_line_is_not_slow_that_was_empty_once_or_is_new() -> None:
    assert watched((1, 1_000, 900), (2, 1_000, 0), (3, 2_000, 700)).backlog() is None
    assert watched((1, 1_000, 900), (2, 1_000, 800)).backlog() is None
    assert Load().backlog() is None


def test_only_the_last_seconds_of_a_line_count() -> None:
    """A broker that is frozen takes bytes until its buffers are full."""
    early = [(float(at), 9_000, 9_000 - 1_000 * at) for at in range(3)]
    late = [(float(at), 9_000, 7_000) for at in range(3, 10)]
    assert watched(*early).backlog() == (1_000, 7_000)
    assert watched(*early, *late).backlog() == (0, 7_000)


@pytest.mark.proves("R14")
def test_connections_that_break_once_are_a_broker_that_ends() -> None:
    breaks = Breaks()
    for opened_at in (1.0, 8.0, 9.5):
        breaks.note(10.0, "b1:9092", "the broker closed the connection", opened_at)
    breaks.note(10.0, "b2:9092", "the broker closed the connection", 1.0)
    assert breaks.repeated(11.0) is None
    for at in (11.0, 12.0):
        breaks.note(at, "b1:9092", "connection reset by peer", at - 0.5)
    assert breaks.repeated(12.0) == (6, ["b1:9092", "b2:9092"], "the broker closed the connection")
    assert breaks.repeated(20.5) == (2, ["b1:9092"], "connection reset by peer")
    assert breaks.repeated(21.5) is None  # one is left


class Reader:
    """A broker that reads as much as it is told to, and the line to it."""

    def __init__(self, frames: Frames, transport: Any, far: socket.socket) -> None:
        self.frames, self.transport, self._far = frames, transport, far
        self.lost: list[Exception | None] = []

    async def read(self, size: int) -> None:
        loop = asyncio.get_running_loop()
        while size > 0:
            size -= len(await loop.sock_recv(self._far, min(size, 65_536)))

    def reset(self) -> None:
        self._far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._far.close()


@asynccontextmanager
async def line() -> AsyncIterator[Reader]:
    loop = asyncio.get_running_loop()
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        door.bind(("127.0.0.1", 0))
        door.listen()
        door.setblocking(False)
        transport, _ = await loop.create_connection(asyncio.Protocol, *door.getsockname())
        far, _ = await loop.sock_accept(door)
        far.setblocking(False)
        lost: list[Exception | None] = []

        class Connection:
            def lost(self, error: Exception | None) -> None:
                lost.append(error)

        frames = Frames(cast("Any", Connection()), transport)
        keep_alive(transport)
        transport.set_protocol(frames)
        reader = Reader(frames, transport, far)
        reader.lost = lost
        try:
            yield reader
        finally:
            transport.abort()
            far.close()


def test_what_the_other_host_has_not_received_is_counted_over_a_real_line() -> None:
    async def main() -> None:
        async with line() as broker:
            frames = broker.frames
            frames.send([bytes(8 * MEGABYTE)])
            await asyncio.sleep(0.2)
            begun = frames.moved(frames.sent)
            assert begun < 7 * MEGABYTE  # buffers of the other host are small: the rest waits
            assert frames.moved(1_000) == 1_000  # an early request is there
            await broker.read(4 * MEGABYTE)
            assert begun < frames.moved(frames.sent) <= 8 * MEGABYTE
            await broker.read(4 * MEGABYTE)
            await until(lambda: frames.moved(frames.sent) == 8 * MEGABYTE)

    asyncio.run(main())


def test_a_reset_is_heard_while_nothing_is_sent() -> None:
    async def main() -> None:
        async with line() as broker:
            assert broker.transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            broker.reset()
            await until(lambda: bool(broker.lost))
            assert [type(error) for error in broker.lost] == [ConnectionResetError]

    asyncio.run(main())
