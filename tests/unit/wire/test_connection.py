"""What a connection does with answers, without a broker."""

from __future__ import annotations

import asyncio
import errno
import io
import socket
import time
from collections import deque
from typing import Any

import pytest
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaConnectionError

from twinlog.config.settings import ClientSettings
from twinlog.errors import BrokerAway, BrokerTooOld, ClusterUnreachable
from twinlog.wire import connection as module
from twinlog.wire.broken import why
from twinlog.wire.broker_connection import BrokerConnection
from twinlog.wire.connection import Cluster


class Wire:
    """A connection whose broker is the test: enough of aiokafka's for `begin`."""

    host, port, _client_id = "broker", 9092, "test"
    round_trip_s = float("inf")
    _frames = None

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._requests: deque[tuple[None, None, Any]] = deque()
        self._writer = io.BytesIO()
        self.closed = False
        self.cluster = "east"
        self.sent = self.line = 0

    def _next_correlation_id(self) -> int:
        return 7

    def away(self, reason: str) -> BrokerAway:
        it: Any = self
        return BrokerConnection.away(it, reason)

    def moved(self, end: int) -> int:
        return self.line + end

    def ask(self, read: Any = bytes.hex, timeout_s: float = 60) -> asyncio.Future[Any]:
        it: Any = self
        return BrokerConnection.begin(
            it, 0, 0, [b"?"], lambda reader: read(bytes(reader.data[reader.at :])), flexible=False, timeout_s=timeout_s
        )

    def hear(self, data: bytes) -> None:
        AIOKafkaConnection._handle_frame(self, data)

    def close(self) -> None:
        self.closed = True
        for _, _, awaited in self._requests:
            if not awaited.done():
                awaited.set_exception(KafkaConnectionError("closed"))


ANSWER = b"\x00\x00\x00\x07"


def test_an_answer_is_read_for_who_asked_and_in_the_order_of_asking() -> None:
    async def ask() -> list[str]:
        wire = Wire()
        answers = [wire.ask(), wire.ask()]
        wire.hear(ANSWER + b"\x01")
        wire.hear(ANSWER + b"\x02")
        return [await answer for answer in answers]

    assert asyncio.run(ask()) == ["01", "02"]


def test_a_cancellation_that_meets_the_answer_is_not_lost() -> None:
    """A reader that misses its cancellation reads on for ever, and its epoch never ends."""

    async def meet() -> None:
        wire = Wire()

        async def wait() -> None:
            await wire.ask()

        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        wire.hear(ANSWER)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(meet())


def test_an_answer_for_somebody_who_is_gone_does_not_disturb_the_next() -> None:
    async def ask() -> str:
        wire = Wire()
        wire.ask().cancel()
        answer: asyncio.Future[str] = wire.ask()
        wire.hear(ANSWER + b"\x01")
        wire.hear(ANSWER + b"\x02")
        return await answer

    assert asyncio.run(ask()) == "02"


@pytest.mark.proves("R9")
def test_a_request_is_not_given_up_while_its_line_still_moves() -> None:
    """Sent again on a new connection it would take the slow line once more, from its first byte on."""

    async def ask() -> None:
        wire = Wire()
        answer = wire.ask(timeout_s=0.1)
        for _ in range(10):
            await asyncio.sleep(0.03)
            wire.line += 1
        assert not answer.done()
        with pytest.raises(BrokerAway, match="no answer in time"):  # nothing moves any more
            async with asyncio.timeout(1):
                await answer
        assert wire.closed

    asyncio.run(ask())


@pytest.mark.proves("R9")
def test_an_answer_that_does_not_come_ends_the_connection_and_all_behind_it() -> None:
    async def ask() -> None:
        wire = Wire()
        first, second = wire.ask(timeout_s=0.01), wire.ask()
        with pytest.raises(BrokerAway, match="no answer in time"):
            await first
        with pytest.raises(BrokerAway, match="closed"):
            await second
        assert wire.closed

    asyncio.run(ask())


def test_answers_out_of_step_end_the_connection() -> None:
    async def ask() -> None:
        wire = Wire()
        answer = wire.ask()
        wire.hear(b"\x00\x00\x00\x08")
        with pytest.raises(BrokerAway, match="out of step"):
            await answer
        await asyncio.sleep(0)
        assert wire.closed

    asyncio.run(ask())


def test_an_answer_that_cannot_be_read_is_the_trouble_of_who_asked() -> None:
    async def ask() -> None:
        wire = Wire()
        answers = wire.ask(read=lambda _: 1 / 0), wire.ask()
        wire.hear(ANSWER)
        wire.hear(ANSWER)
        with pytest.raises(ZeroDivisionError):
            await answers[0]
        assert await answers[1] == ""
        assert not wire.closed

    asyncio.run(ask())


def test_who_cannot_be_reached_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    cluster = Cluster(ClientSettings(cluster="east", bootstrap_servers=(address,)), "test")
    with pytest.raises(ClusterUnreachable) as caught:
        asyncio.run(cluster.refresh(None))
    assert str(caught.value) == f"east: no broker answers: {address}: connection refused"
    assert why(TimeoutError()) == "no answer in time"
    # A broker that speaks no TLS ends the handshake so; an open connection that is closed ends as the second one.
    assert why(ConnectionResetError()) == "the broker closed the connection"
    assert why(KafkaConnectionError("Connection at 127.0.0.1:9092 closed")) == "the broker closed the connection"
    assert why(ConnectionRefusedError(errno.ECONNREFUSED, "x")) == "connection refused"
    assert why(socket.gaierror(-2, "Name or service not known")) == "Name or service not known"


def test_addresses_that_keep_silent_are_asked_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BOOTSTRAP_SECONDS", 1.5)
    # They take connections, as the kernel does for a frozen process, and never say a word.
    silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    addresses = tuple(f"127.0.0.1:{one.getsockname()[1]}" for one in silent)
    cluster = Cluster(ClientSettings(cluster="east", bootstrap_servers=addresses, request_timeout_ms=600_000), "test")
    began = time.monotonic()
    try:
        with pytest.raises(ClusterUnreachable) as caught:
            asyncio.run(cluster.refresh(None))
    finally:
        for one in silent:
            one.close()
    assert time.monotonic() - began < 3 * 1.5
    assert caught.value.problem == "; ".join(f"{address}: no answer in time" for address in addresses)


def test_a_broker_that_is_too_old_is_refused_by_name_and_not_called_away(monkeypatch: pytest.MonkeyPatch) -> None:
    async def speaks_as_kafka_2_7(self: BrokerConnection) -> None:
        self._versions = {3: (0, 9), 1: (0, 12)}

    monkeypatch.setattr(BrokerConnection, "connect", speaks_as_kafka_2_7)
    with pytest.raises(BrokerTooOld) as caught:
        asyncio.run(Cluster(ClientSettings(cluster="east", bootstrap_servers=("old:9092",)), "test").refresh(None))
    assert "old:9092" in str(caught.value)
    assert "2.8" in str(caught.value)
    assert "Upgrade" in caught.value.remedy_text()
