"""A reader whose part of the ledger has no leader, and has one again."""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.kit.fake_cluster import NODE, FakeBroker, FakeCluster

from twinlog.config.resolve import resolve
from twinlog.errors import LedgerUnwritable, PartitionFault, TargetUnwritable
from twinlog.flow.delivery import Reading
from twinlog.flow.parcel_queue import ParcelQueue
from twinlog.flow.plan import TaskPlan
from twinlog.flow.read import Reader
from twinlog.flow.takeover import fault_entry
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import PartitionState, RosterTopic, ledger_topic, shard_of
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds
from twinlog.wire.connection import Leader, TopicMetadata
from twinlog.wire.fetch import FetchPosition

SHARDS = 2
PLACES = [TopicPartition("orders", number) for number in range(8)]
LOST = [place for place in PLACES if shard_of(place, SHARDS) == 0]
ROSTER = RosterTopic(topic="orders", source_id="s", remote="A.orders", target_id="t", origins=[0] * len(PLACES))
TEXT = b"clusters = A, B\nA->B.enabled = true\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1"


def reader() -> Reader:
    """One that reads all partitions, of both shards."""
    (link,) = resolve(TEXT, "test.properties", (), {}).links
    broker = FakeBroker()
    plan = TaskPlan(1, 1, 0, tuple(range(SHARDS)), SHARDS, dict.fromkeys(range(1 + SHARDS), 0))
    out = ParcelQueue(1_000_000, asyncio.get_running_loop())
    made = Reader(link, plan, ClusterIds("a", "b"), broker.cluster(), broker.cluster(), out, LedgerView({}))
    made.reading |= {place: Reading(ROSTER, FetchPosition("s", 0)) for place in PLACES}
    return made


def lead(read: Reader, nodes: dict[int, int]) -> None:
    """Say who leads the parts of the ledger."""
    assert isinstance(read.target, FakeCluster)
    topic = ledger_topic("A")
    read.target.topics[topic] = TopicMetadata(topic, "l", 0, {n: Leader(node, 0) for n, node in nodes.items()})


@pytest.mark.proves("R8", "R11")
def test_partitions_are_read_again_at_once_when_their_part_of_the_ledger_has_a_leader_again() -> None:
    async def look() -> None:
        read = reader()
        faulted = LOST[-1]
        lead(read, {1: -1, 2: NODE})
        read._rest_where_the_ledger_is_lost(100.0)
        assert not read.resting, "it may pass"
        read._rest_where_the_ledger_is_lost(110.0)
        assert set(read.resting) == set(LOST)
        read.resting[faulted] = 170.0  # of a fault of its own
        lead(read, {1: NODE, 2: NODE})
        read._rest_where_the_ledger_is_lost(110.5)
        due = {place for place, when in read.resting.items() if when <= 110.5}
        assert due == set(LOST) - {faulted}

    asyncio.run(look())


@pytest.mark.proves("R8", "R11")
@pytest.mark.parametrize(
    ("fault", "rests"),
    [
        (LedgerUnwritable("orders", 0, "ledger-1", "it has no leader for 10 s"), False),
        (TargetUnwritable("orders", 0, "A.orders-0", "no leader"), True),
    ],
    ids=["the ledger", "the copy"],
)
def test_a_ledger_that_notes_that_it_took_no_notes_takes_notes_again(fault: PartitionFault, rests: bool) -> None:
    async def hear() -> None:
        read = reader()
        told = PartitionState(
            topic="orders",
            partition=0,
            incarnation="i",
            phase="faulted",
            source_first=0,
            target_first=0,
            source_next=0,
            target_next=0,
            producer_id=1,
            fault=fault_entry(fault),
        )
        read._hear(told, {0, 1})
        assert (read.resting[PLACES[0]] > time.monotonic()) is rests

    asyncio.run(hear())
