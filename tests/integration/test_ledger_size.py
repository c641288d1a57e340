"""The ledger stays small, and no number of partitions in a shard makes a note too large for the broker."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.errors import BrokerRefused, ClusterError
from twinlog.flow import write
from twinlog.kafka.admin import TopicOrder
from twinlog.kafka.client_options import client_options
from twinlog.ledger.reading import look_at_ledger
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import SEAL_AT, Entry, PartitionState, RosterTopic, SealedRuns, ledger_topic
from twinlog.model.ledger.runs import Run, RunMap, Stretch
from twinlog.model.names import TopicPartition
from twinlog.sync.answers.explain_map import list_map
from twinlog.sync.ends import LinkEnds
from twinlog.sync.link_topics import LinkTopics
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
        target = Cluster(ends.link.clients.target_producer, "test")
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


@pytest.mark.proves("R14")
def test_a_ledger_with_too_little_room_is_named_before_anything_is_copied(make_ends: MakeEnds) -> None:
    ends = make_ends()
    both, topic = LinkEnds.of(ends.link), ledger_topic(ends.alias)
    topics = LinkTopics(ends.link, both.source, both.target)
    assert topics.ensure_ledger() == ends.link.writing.ledger_shards
    assert _config(ends, topic, "max.message.bytes") == "8388608"
    assert ends.target.apply_topic_configs({topic: {"max.message.bytes": "100000"}}) == {topic: None}
    wait_until(
        lambda: _config(ends, topic, "max.message.bytes"),
        lambda value: value == "100000",
        within_s=10,
        what="the limit",
    )
    with pytest.raises(BrokerRefused, match=r"max\.message\.bytes is 100000: set it"):
        topics.ensure_ledger()


def _config(ends: Ends, topic: str, name: str) -> str | None:
    answer = ends.target.fetch_topic_configs([topic])[topic]
    assert not isinstance(answer, ClusterError)
    return {config.name: config.value for config in answer}[name]


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R9")
def test_many_partitions_of_transactions_in_one_shard(make_ends: MakeEnds, tmp_path: Path) -> None:
    """Their open maps are all full: as one uncompressed batch of JSON their states were larger than a broker takes."""
    ends = make_ends(ledger_shards="1")
    name = ends.create("transactions", 120)
    options = {**client_options(ends.link.clients.source_producer), "transactional.id": name, "linger.ms": 100}
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


@pytest.mark.proves("R5", "R11")
def test_the_owner_removes_what_no_offset_needs_that_still_exists(make_ends: MakeEnds, tmp_path: Path) -> None:
    """Parts below both logs, and entries of a topic that is gone; not those of one that is only not selected."""
    ends = make_ends(ledger_shards="1")
    name, other = ends.create("orders"), ends.create("other")
    ends.load(name).produce(100)
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    ends.set(topics=name)
    write._PRUNED.clear()  # the same process has pruned this shard a moment ago
    planted = asyncio.run(_plant_parts(ends, name, other))
    for topic, on_target in ((name, False), (ends.remote(name), True)):
        ends.delete_records(topic, 0, 60, on_target=on_target)
    with engine_running(ends.link, tmp_path):
        view = wait_until(
            lambda: _ledger(ends),
            lambda view: "ghost" not in {p.topic for p in view.states} and _firsts(view, name) == [50],
            within_s=30,
            what="the parts that are left",
        )
    assert _firsts(view, other) == [0], "the topic is not selected, but it exists"
    assert TopicPartition("ghost", 0) not in view.sealed
    known = view.map_of(TopicPartition(name, 0))
    assert known is not None
    listed = asyncio.run(list_map(LinkEnds.of(ends.link), TopicPartition(name, 0), 60, 1))
    assert (listed.rows, listed.more, listed.parts) == ((Stretch(50, 50, 25, 25, 25, 1),), True, 1)
    for offset in range(60, 101):
        assert known.to_target(offset) == planted.to_target(offset)
        assert known.to_source(offset) == planted.to_source(offset)


async def _plant_parts(ends: Ends, name: str, other: str) -> PartitionMap:
    """Divide the map of what was copied into sealed parts, and note topics that are not mirrored any more."""
    target = Cluster(ends.link.clients.target_producer, "test")
    try:
        view = LedgerView({0: 0, 1: 0}, keep_maps=True)
        await view.catch_up(target, ends.alias)
        state = view.states[TopicPartition(name, 0)]
        writer = LedgerWriter(target, ledger_topic(ends.alias), 1, ends.link.name)
        entries: list[Entry] = [_part(name, state.incarnation, first) for first in (0, 25, 50)]
        open_map = pack(RunMap([], Run(75, 75, 25)))
        entries.append(state.model_copy(update={"map_first": 75, "open_map": open_map}))
        source_id = ends.await_topic(ends.source, other).topic_id
        for topic, incarnation in ((other, f"{source_id}/gone"), ("ghost", "gone/gone")):
            entries.append(_part(topic, incarnation, 0))
            entries.append(state.model_copy(update={"topic": topic, "incarnation": incarnation, "map_first": 25}))
        await writer.write(entries)
        await view.catch_up(target, ends.alias)
        known = view.map_of(TopicPartition(name, 0))
        assert known is not None
        return known
    finally:
        await target.close()


def _part(topic: str, incarnation: str, first: int) -> SealedRuns:
    packed = pack(RunMap([], Run(first, first, 25)))
    where = {"topic": topic, "partition": 0, "incarnation": incarnation}
    return SealedRuns(**where, first=first, next=first + 25, packed=packed)


def _ledger(ends: Ends) -> LedgerView:
    view = asyncio.run(look_at_ledger(ends.link.clients.target_producer, ends.alias))
    assert view is not None
    return view


def _firsts(view: LedgerView, topic: str) -> list[int]:
    parts = view.parts_of(TopicPartition(topic, 0))
    return [parts.first(index) for index in range(len(parts))] if parts is not None else []
