"""The ledger stays small, and no number of partitions in a shard makes a note too large for the broker."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.ends import Ends
from tests.load.waiting import wait_until
from tests.threads import engine_running

from twinlog.kafka.admin import TopicOrder
from twinlog.kafka.client_options import client_options
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger import SEAL_AT, Entry, PartitionState, RosterTopic, SealedRuns, ledger_topic
from twinlog.model.names import TopicPartition
from twinlog.model.packed_runs import pack
from twinlog.model.runs import Run, RunMap
from twinlog.wire.connection import Cluster

MakeEnds = Callable[..., Ends]


def widest_map(rng: random.Random) -> RunMap:
    """A full map without any pattern: the largest that a partition can have, and nothing to compress."""
    built, source, target = RunMap(), rng.randint(0, 1 << 40), rng.randint(0, 1 << 40)
    while len(built) < SEAL_AT:
        source, target, length = (
            source + rng.randint(1, 1 << 30),
            target + rng.randint(1, 1 << 30),
            rng.randint(1, 1 << 30),
        )
        built.add(Run(source, target, length))
        source, target = source + length, target + length
    return built


@pytest.mark.proves("R9", "R11")
def test_notes_of_any_number_of_partitions_are_split_and_arrive_in_order(make_ends: MakeEnds) -> None:
    ends = make_ends()
    topic = ledger_topic(ends.alias)
    assert ends.target.create_topics([TopicOrder(topic, 2, 1, {"max.message.bytes": "1048588"})]) == {topic: None}
    ends.await_topic(ends.target, topic, 2)
    rng = random.Random(5)
    entries: list[Entry] = []
    for number in range(160):
        known = widest_map(rng)
        first, last = next(iter(known)), list(known)[-1]
        where = {"topic": "orders", "partition": number, "incarnation": "s/t"}
        entries.append(SealedRuns(**where, first=first.source, next=last.source_end, packed=pack(known)))
        entries.append(
            PartitionState(
                **where,
                phase="copying",
                source_first=first.source,
                target_first=first.target,
                source_next=last.source_end,
                target_next=last.target_end,
                producer_id=1,
                map_first=last.source_end,
            )
        )
    assert sum(len(entry.value()) for entry in entries) > 1_200_000

    async def there_and_back() -> LedgerView:
        target = Cluster(ends.link.target_producer, "test")
        try:
            writer = LedgerWriter(target, topic, 1, ends.link.name)
            assert await writer.write(entries) == 0
            view = LedgerView({1: 0}, keep_maps=True)
            await view.catch_up(target, ends.alias)
            return view
        finally:
            await target.close()

    view = asyncio.run(there_and_back())
    view.roster["orders"] = RosterTopic(topic="orders", source_id="s", remote="o", target_id="t", origins=[0] * 160)
    rng = random.Random(5)
    for number in range(160):
        found = view.map_of(TopicPartition("orders", number))
        assert found is not None
        assert list(found.runs()) == list(widest_map(rng))


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R9")
def test_many_partitions_of_transactions_in_one_shard(make_ends: MakeEnds, tmp_path: Path) -> None:
    """Their open maps are all full: as one uncompressed batch of JSON their states were larger than a broker takes."""
    ends = make_ends(ledger_shards="1")
    name = ends.create("transactions", 120)
    options = {**client_options(ends.link.source_producer), "transactional.id": name, "linger.ms": 100}
    producer = Producer(options)
    producer.init_transactions(30)
    rng, sent = random.Random(9), 0
    for _ in range(550):
        producer.begin_transaction()
        for partition in range(120):
            for _ in range(rng.randint(1, 10)):
                producer.produce(name, b"%d" % sent, partition=partition)
                sent += 1
            producer.poll(0)
        producer.commit_transaction(30)
    with engine_running(ends.link, tmp_path):
        wait_until(
            lambda: sum(p.records for p in ends.status().partitions),
            lambda copied: copied == sent,
            within_s=120,
            what=f"{sent} records noted in the ledger",
        )
    status = ends.status()
    assert not [p for p in status.partitions if p.fault]
    assert sum(p.records for p in status.partitions) == sent
