"""Answers are cut out of the stream of a broker, however the network cut it."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any, cast

import pytest
from aiokafka.errors import KafkaConnectionError
from hypothesis import given
from hypothesis import strategies as st

from twinlog.wire.broker_connection import Frames


class Connection:
    """Takes answers; the first error ends it."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.error: Exception | None = None

    def take_frame(self, frame: bytes | bytearray) -> None:
        self.frames.append(bytes(frame))

    def lost(self, error: Exception | None) -> None:
        self.error = self.error or error


class Transport:
    """Not encrypted; what the kernel does not take at once waits here."""

    def __init__(self, sock: socket.socket | None = None) -> None:
        self.socket = sock
        self.waiting = b""

    def get_extra_info(self, name: str) -> Any:
        return None if name == "sslcontext" else self.socket or Nowhere()

    def get_write_buffer_size(self) -> int:
        return len(self.waiting)

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        self.waiting += data


class Nowhere:
    def fileno(self) -> int:
        return -1


def frames_of(connection: Connection) -> Frames:
    return Frames(cast("Any", connection), cast("Any", Transport()))


def receive(frames: Frames, data: bytes, most: int) -> None:
    """As an event loop does: the kernel fills what room it is offered, with at most what has arrived."""
    while data:
        room = frames.get_buffer(-1)
        size = min(len(room), len(data), most)
        assert size, "no room is offered: the loop would take this for the end of the connection"
        room[:size] = data[:size]
        frames.buffer_updated(size)
        data = data[size:]


sizes = st.one_of(st.integers(0, 40), st.integers(30_000, 36_000), st.integers(64_000, 70_000), st.integers(0, 300_000))


@given(st.lists(sizes, max_size=8), st.lists(st.integers(1, 200_000), min_size=1, max_size=6))
def test_every_answer_comes_out_whole_and_in_order_wherever_the_stream_is_cut(
    lengths: list[int], cuts: list[int]
) -> None:
    answers = [bytes([number % 251]) * length for number, length in enumerate(lengths, 1)]
    stream = b"".join(struct.pack(">i", len(answer)) + answer for answer in answers)
    connection = Connection()
    frames = frames_of(connection)
    turn = 0
    while stream:
        part, stream = stream[: cuts[turn % len(cuts)]], stream[cuts[turn % len(cuts)] :]
        receive(frames, part, most=cuts[(turn + 1) % len(cuts)])
        turn += 1
    assert connection.frames == answers
    assert connection.error is None


@pytest.mark.parametrize("length", [-1, 1 << 30 | 1, 0x48545450])  # the last: "HTTP"
def test_a_length_that_no_broker_sends_ends_the_connection(length: int) -> None:
    connection = Connection()
    receive(frames_of(connection), struct.pack(">i", length), most=4)
    assert isinstance(connection.error, KafkaConnectionError)
    assert "not a Kafka broker" in str(connection.error)


def test_an_answer_that_cannot_be_handed_over_ends_the_connection() -> None:
    class Closed(Connection):
        def take_frame(self, frame: bytes | bytearray) -> None:
            raise KafkaConnectionError(f"nobody asked for {frame!r}")

    connection = Closed()
    receive(frames_of(connection), struct.pack(">i", 1) + b"x", most=5)
    assert "nobody asked" in str(connection.error)


@given(st.lists(st.integers(0, 300_000), max_size=8), st.integers(0, 200_000))
def test_a_request_goes_out_whole_and_in_order_however_much_the_kernel_takes(sizes: list[int], before: int) -> None:
    parts = [os.urandom(min(size, 64)) * (size // 64 + 1) for size in sizes]
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        transport = Transport(near)
        transport.waiting = b"?" * (before if before > 100_000 else 0)  # an earlier request may still wait
        earlier = len(transport.waiting)
        Frames(cast("Any", Connection()), cast("Any", transport)).send(parts)
        received = b""
        try:
            while chunk := far.recv(1 << 20):
                received += chunk
        except BlockingIOError:
            pass
        assert received + transport.waiting[earlier:] == b"".join(parts)
        assert not (earlier and received), "it overtook the earlier request"
