"""A ledger that is followed: read once, then only what is new; from the start again when it is another one."""

from __future__ import annotations

import asyncio
import copy

import pytest
from tests.kit.fake_cluster import FakeBroker

from twinlog.errors import ClusterUnreachable
from twinlog.ledger.following import FollowedLedger
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import roster_writer
from twinlog.model.ledger.records import RosterTopic, ledger_topic

TOPIC = ledger_topic("A")


def entry(topic: str) -> RosterTopic:
    return RosterTopic(topic=topic, source_id="s", remote=topic, target_id="t", origins=[0])


async def write(broker: FakeBroker, *topics: str) -> None:
    await roster_writer(broker.cluster(), "A", "A->B").write([entry(topic) for topic in topics])


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many batches each look took."""
    counts: list[int] = []
    take = LedgerView.take

    def counted(self: LedgerView, *batch: object) -> object:
        counts.append(1)
        return take(self, *batch)  # type: ignore[arg-type]

    monkeypatch.setattr(LedgerView, "take", counted)
    return counts


def test_a_look_takes_only_what_is_new(taken: list[int]) -> None:
    async def story() -> None:
        broker = FakeBroker()
        broker.create(TOPIC, 3)
        ledger = FollowedLedger(broker.cluster(), "A")
        for number in range(5):
            await write(broker, f"t{number}")
        view = await ledger.read()
        assert view is not None
        assert sorted(view.roster) == [f"t{number}" for number in range(5)]
        read = len(taken)
        for _ in range(10):
            assert await ledger.read() is view
        assert len(taken) == read
        await write(broker, "new")
        assert "new" in ((await ledger.read()) or view).roster
        assert len(taken) == read + 1

    asyncio.run(story())


def test_a_ledger_that_lost_its_end_is_read_from_the_start() -> None:
    async def story() -> None:
        broker = FakeBroker()
        broker.create(TOPIC, 3)
        ledger = FollowedLedger(broker.cluster(), "A")
        await write(broker, "kept")
        before = copy.deepcopy(broker.logs)
        await write(broker, "lost")
        view = await ledger.read()
        assert view is not None
        assert sorted(view.roster) == ["kept", "lost"]
        broker.logs = before  # an unclean election
        again = await ledger.read()
        assert again is not None
        assert list(again.roster) == ["kept"]

    asyncio.run(story())


def test_a_ledger_that_is_deleted_is_none_and_a_new_one_is_read() -> None:
    async def story() -> None:
        broker = FakeBroker()
        ledger = FollowedLedger(broker.cluster(), "A")
        assert await ledger.read() is None
        broker.create(TOPIC, 3)
        await write(broker, "old")
        assert list(((await ledger.read()) or LedgerView({})).roster) == ["old"]
        del broker.logs[TOPIC]
        assert await ledger.read() is None
        broker.create(TOPIC, 3)
        await write(broker, "new", "newer", "newest")
        assert sorted(((await ledger.read()) or LedgerView({})).roster) == ["new", "newer", "newest"]

    asyncio.run(story())


def test_a_ledger_without_a_leader_is_an_error_that_says_so() -> None:
    async def story() -> None:
        broker = FakeBroker()
        broker.create(TOPIC, 2)
        ledger = FollowedLedger(broker.cluster("west"), "A")
        broker.leaderless.add(TOPIC)
        with pytest.raises(ClusterUnreachable, match=r"west.*no end of it came within 0 s"):
            await ledger.read(within_s=0.2)
        broker.leaderless.clear()
        await write(broker, "t")
        view = await ledger.read()
        assert view is not None
        assert list(view.roster) == ["t"]

    asyncio.run(story())
