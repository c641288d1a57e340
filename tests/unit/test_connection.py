"""What a connection does with answers, without a broker."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from twinlog.wire.connection import BrokerConnection


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
