"""A forced stop of a link whose shards are all blocked: they are stopped side by side, each failure is named."""

from __future__ import annotations

import asyncio
from typing import Any, cast
from unittest import mock

import pytest

from twinlog.errors import ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.names import TopicPartition
from twinlog.recovery import forced_stop
from twinlog.recovery.forced_stop import _ForcedStop

WANTED = {shard: [TopicPartition("orders", shard)] for shard in range(8)}


class Nobody:
    """Copies of which none is known to be dead or unwritable."""

    async def __call__(self, *_: object) -> dict[object, str]:
        return {}


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> _ForcedStop:
    monkeypatch.setattr(forced_stop, "dead_copies", Nobody())
    monkeypatch.setattr(_ForcedStop, "_what_blocks", mock.AsyncMock(return_value=""))
    view = LedgerView({})
    view.roster["orders"] = cast("Any", mock.Mock())
    link = mock.Mock(source="S", target="T")
    link.name = "S->T"
    return _ForcedStop(cast("Any", mock.Mock()), link, view)


@pytest.mark.proves("R9")
def test_blocked_shards_are_waited_for_together(work: _ForcedStop, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way: set[int] = set()
    most = 0

    async def hang(_: _ForcedStop, shard: int, __: object) -> None:
        nonlocal most
        under_way.add(shard)
        most = max(most, len(under_way))
        try:
            await asyncio.Event().wait()
        finally:
            under_way.discard(shard)

    monkeypatch.setattr(_ForcedStop, "_stop_shard", hang)
    monkeypatch.setattr(forced_stop, "_SHARD_WITHIN_S", 0.05)
    asyncio.run(work.stop_all(WANTED))
    assert most == len(WANTED)
    assert sorted(work.found.unproven) == sorted(WANTED)
    assert all(f"shard {shard} of S->T" in why for shard, why in work.found.unproven.items())


@pytest.mark.proves("R14")
@pytest.mark.parametrize("told", ["the coordinator of transactional id x: CONCURRENT_TRANSACTIONS", None])
def test_a_shard_that_is_not_proven_to_be_shut_says_what_it_waited_for(
    work: _ForcedStop, monkeypatch: pytest.MonkeyPatch, told: str | None
) -> None:
    class Blocked:
        """The coordinator does not let the shard be taken over."""

        def __init__(self, *_: object) -> None:
            self.waits = {3: told} if told else {}

        async def take_over(self, *_: object) -> None:
            await asyncio.Event().wait()

    work.fence = cast("Any", Blocked())
    monkeypatch.setattr(forced_stop, "_SHARD_WITHIN_S", 0.05)
    asyncio.run(work.stop(3, WANTED[3]))
    expected = told or "its transactional id has no new owner yet"
    assert f"did not confirm it within 0 s: {expected}" in work.found.unproven[3]


def test_a_refusal_of_one_shard_is_raised_after_all_others_were_stopped(
    work: _ForcedStop, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[int] = []

    async def stop(_: _ForcedStop, shard: int, __: object) -> None:
        if shard == 0:
            raise ClusterUnreachable("T", "not allowed")
        await asyncio.sleep(0)
        stopped.append(shard)

    monkeypatch.setattr(_ForcedStop, "_stop_shard", stop)
    with pytest.raises(ClusterUnreachable, match="not allowed"):
        asyncio.run(work.stop_all(WANTED))
    assert stopped == list(range(1, 8))


def test_a_ledger_that_takes_no_record_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(forced_stop, "_SIGN_WITHIN_S", 0.05)
    monkeypatch.setattr(forced_stop, "_sign", mock.Mock())
    monkeypatch.setattr(forced_stop, "roster_writer", lambda *_: mock.Mock(write=hang))
    link = mock.Mock(source="S", target="T")
    with pytest.raises(ClusterUnreachable, match="did not take the record of the switch"):
        asyncio.run(forced_stop._sign_in(cast("Any", mock.Mock()), link, cast("Any", mock.Mock())))
