"""The client library against real clusters: exact positions, MirrorMaker 2's pairs, times, and clear refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, Producer
from tests.kit.ends import Ends
from tests.kit.load import Ending
from tests.kit.logs import LogRecord, read_logs
from tests.kit.threads import engine_running

from twinlog.client import (
    AtOrBefore,
    ClusterError,
    ConsumerTimestamps,
    Exact,
    MirrorClient,
    RecordsUnreadable,
    TopicPartition,
    TopicUnknown,
    Untranslatable,
)
from twinlog.kafka.admin import TopicOrder
from twinlog.model.groups.consumer_timestamps import TIMESTAMPS_TOPIC
from twinlog.model.mirrormaker.records import OffsetSync


def client_of(ends: Ends) -> MirrorClient:
    source = {"bootstrap.servers": ends.source_logs.bootstrap_servers}
    return MirrorClient(
        {"bootstrap.servers": ends.target_logs.bootstrap_servers}, alias="T", sources={ends.alias: source}
    )


def read_with_confluent(ends: Ends, stamps: ConsumerTimestamps, group: str, topic: str, count: int) -> int:
    """Read so many records of partition 0, commit, leave; returns the committed position."""
    consumer = stamps.watch(
        Consumer(
            {
                "bootstrap.servers": ends.source_logs.bootstrap_servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "on_commit": stamps.on_commit,
                "isolation.level": "read_committed",
            }
        )
    )
    consumer.subscribe([topic])
    seen: list[Any] = []
    while len(seen) < count:
        seen += [message for message in consumer.consume(count - len(seen), 1.0) if message.error() is None]
    (position,) = [place.offset for place in consumer.commit(asynchronous=False)]
    consumer.close()
    return int(position)


async def read_with_aiokafka(ends: Ends, stamps: ConsumerTimestamps, group: str, topic: str, count: int) -> int:
    consumer = stamps.watch_async(
        AIOKafkaConsumer(
            topic,
            bootstrap_servers=ends.source_logs.bootstrap_servers,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
    )
    await consumer.start()
    position = 0
    for _ in range(count):
        position = (await consumer.getone()).offset + 1
    await consumer.commit()
    await consumer.stop()
    return position


def same(one: LogRecord, other: LogRecord) -> bool:
    return one[1:] == other[1:]


@pytest.mark.proves("R5")
def test_positions_are_translated_exactly_and_by_time(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends()
    name = ends.create("orders", 1)
    load = ends.load(name)
    for ending in (Ending.COMMITTED, Ending.ABORTED, Ending.COMMITTED):  # the two logs drift apart
        load.produce(50)
        load.transaction(30, ending)
    properties = {"bootstrap.servers": ends.source_logs.bootstrap_servers}
    positions: dict[str, int] = {}
    for group, read in (("confluent", 120), ("aiokafka", 77)):
        stamps = ConsumerTimestamps(properties, group=f"{ends.prefix}.{group}")
        if group == "confluent":
            positions[group] = read_with_confluent(ends, stamps, f"{ends.prefix}.{group}", name, read)
        else:
            positions[group] = asyncio.run(read_with_aiokafka(ends, stamps, f"{ends.prefix}.{group}", name, read))
        assert (stamps.written, stamps.failed, stamps.trouble) == (1, 0, None)
    silent = ConsumerTimestamps({**properties, "offset.timestamps.commit": False}, group="silent")
    read_with_confluent(ends, silent, f"{ends.prefix}.silent", name, 5)
    assert silent.written == 0

    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
    client, remote = client_of(ends), ends.remote(name)
    originals = read_logs(ends.source_logs, name, "read_committed")[0]
    copies = read_logs(ends.target_logs, remote, "read_uncommitted")[0]
    assert TIMESTAMPS_TOPIC not in {name.removeprefix(f"{ends.alias}.") for name in ends.target.list_topics()}

    for index in (0, 1, 49, 50, 81, 130, len(originals) - 1):
        there = client.translate(name, 0, originals[index].offset, ends.alias)
        assert isinstance(there, Exact)
        assert same(originals[index], next(record for record in copies if record.offset >= there.offset))
        assert client.translate(remote, 0, there.offset, ends.alias, reverse=True) == Exact(originals[index].offset)
    end = originals[-1].offset + 1_000
    assert isinstance(client.translate(name, 0, end, ends.alias), AtOrBefore)
    unknown = client.translate("elsewhere", 0, 5, ends.alias)
    assert isinstance(unknown, Untranslatable)
    assert "the ledger does not know the topic" in unknown.reason

    for group, position in positions.items():
        found = client.translate_by_timestamps(f"{ends.prefix}.{group}", ends.alias)[TopicPartition(remote, 0)]
        assert found.source_offset == position
        before = [record for record in originals if record.offset < position]
        # Nothing is skipped; some records are read again, all that lie behind the first one of that time or later.
        assert found.offset <= copies[len(before) - 1].offset
        assert found.offset == next(r.offset for r in copies if r.timestamp[1] >= found.timestamp_ms)
        assert found.re_read is not None
        assert 1 <= found.re_read <= len([r for r in copies[: len(before)] if r.offset >= found.offset])
    assert client.translate_by_timestamps("nobody", ends.alias) == {}


def test_positions_are_translated_by_mirrormaker_s_pairs_where_there_is_no_ledger(
    make_ends: Callable[..., Ends],
) -> None:
    ends = make_ends()
    syncs = f"mm2-offset-syncs.{ends.alias}.internal"
    ends.target.create_topics([TopicOrder(syncs, 1, 1, {"cleanup.policy": "compact"})])
    ends.await_topic(ends.target, syncs)
    producer = Producer({"bootstrap.servers": ends.target_logs.bootstrap_servers})
    for sync in (OffsetSync("t", 0, 10, 4), OffsetSync("t", 1, 0, 900), OffsetSync("t", 0, 111, 99)):
        producer.produce(syncs, key=sync.key(), value=sync.value())
    producer.flush()
    client = client_of(ends)
    assert client.translate("t", 0, 10, ends.alias) == Exact(4)
    assert client.translate("t", 0, 100, ends.alias) == AtOrBefore(5)
    assert client.translate("t", 0, 500, ends.alias) == AtOrBefore(100)
    assert client.translate(f"{ends.alias}.t", 0, 99, ends.alias, reverse=True) == Exact(111)
    early = client.translate("t", 0, 9, ends.alias)
    assert isinstance(early, Untranslatable)
    assert "no ledger" in early.reason
    assert "oldest offset sync is at 10" in early.reason


@pytest.mark.proves("R14")
def test_what_cannot_be_answered_is_refused_with_the_reason(make_ends: Callable[..., Ends]) -> None:
    ends = make_ends()
    client = client_of(ends)
    with pytest.raises(TopicUnknown, match=rf"{ends.alias}\.checkpoints\.internal: no link from {ends.alias}"):
        client.translate_offsets("billing", ends.alias)
    checkpoints = f"{ends.alias}.checkpoints.internal"
    ends.target.create_topics([TopicOrder(checkpoints, 1, 1, {})])
    ends.await_topic(ends.target, checkpoints)
    assert client.translate_offsets("billing", ends.alias) == {}
    producer = Producer({"bootstrap.servers": ends.target_logs.bootstrap_servers})
    producer.produce(checkpoints, key=b"foreign", value=b"foreign")
    producer.flush()
    with pytest.raises(RecordsUnreadable, match=r"offset 0"):
        client.translate_offsets("billing", ends.alias)
    nobody = MirrorClient({"bootstrap.servers": "127.0.0.1:1", "request.timeout.ms": 2000}, timeout_s=2)
    for ask in (nobody.upstream_clusters, lambda: nobody.translate("t", 0, 5, "A")):
        with pytest.raises(ClusterError):
            ask()
