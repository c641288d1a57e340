"""What a connection does with answers, without a broker."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterUnreachable
from twinlog.wire import connection as module
from twinlog.wire.connection import BrokerConnection, Cluster, why


def test_a_cancellation_that_meets_the_answer_is_not_lost() -> None:
    """A reader that misses its cancellation reads on for ever, and its epoch never ends."""

    async def meet() -> None:
        raw: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        connection: Any = SimpleNamespace()
        waiting = asyncio.ensure_future(BrokerConnection._answer(connection, raw, 7, False, 5.0))
        await asyncio.sleep(0)
        raw.set_result(b"\x00\x00\x00\x07")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(meet())


def test_who_cannot_be_reached_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    cluster = Cluster(ClientSettings(cluster="east", bootstrap_servers=(address,)), "test")
    with pytest.raises(ClusterUnreachable) as caught:
        asyncio.run(cluster.refresh(None))
    assert str(caught.value) == f"east: no broker answers: {address}: connection refused"
    assert why(TimeoutError()) == "no answer in time"
    assert why(socket.gaierror(-2, "Name or service not known")) == "Name or service not known"


def test_addresses_that_keep_silent_share_the_time_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CONNECT_SECONDS", 0.3)
    monkeypatch.setattr(module, "_LEAST_CONNECT_SECONDS", 0.1)
    # They take connections, as the kernel does for a frozen process, and never say a word.
    silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    addresses = tuple(f"127.0.0.1:{one.getsockname()[1]}" for one in silent)
    cluster = Cluster(ClientSettings(cluster="east", bootstrap_servers=addresses, request_timeout_ms=600_000), "test")
    try:
        with pytest.raises(ClusterUnreachable) as caught:
            asyncio.run(cluster.refresh(None))
    finally:
        for one in silent:
            one.close()
    assert caught.value.problem == "; ".join(f"{address}: no answer in time" for address in addresses)
