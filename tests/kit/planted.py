"""A finished link made by hand: two topics and the ledger that calls one the copy of the other, right or wrong.

Damage is planted by producing a damaged copy: brokers, logs and ledger are real, only the mirror is left out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.logs import Cluster as Logs
from tests.kit.waiting import wait_until

from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.records import Entry, PartitionState, RosterTopic, ledger_topic, shard_of
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition
from twinlog.sync.ends import LinkEnds
from twinlog.sync.link_topics import LinkTopics
from twinlog.wire.connection import Cluster

NOW_MS = int(time.time() * 1000) - 60_000
"""Not long ago: records of another year are deleted by retention while the test looks at them."""


class Sown(NamedTuple):
    """A record as a producer gives it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = NOW_MS
    marked: bool = False  # in a transaction of its own: a marker follows


def sown(count: int) -> list[Sown]:
    """Records that differ from each other in everything."""
    return [
        Sown(b"key-%d" % n, b"value-%d" % n * 5, (("trace", b"%d" % n), ("empty", b"")), NOW_MS + n)
        for n in range(count)
    ]


class Field:
    """Topics of one link, sown by hand."""

    def __init__(self, ends: Ends) -> None:
        self.ends = ends
        both = LinkEnds.of(ends.link)
        self.shards = LinkTopics(ends.link, both.source, both.target).ensure_ledger()
        self._entries: list[tuple[int, Entry]] = []
        self._source = _Sower(ends.source_logs, ends.source)
        self._target = _Sower(ends.target_logs, ends.target)

    def sow(
        self,
        topic: str,
        *partitions: tuple[Sequence[Sown], Sequence[Sown], Sequence[Run] | None],
        bytes_: int = 1,
        **target_configs: str,
    ) -> str:
        """Per partition: the source's records, the target's, and the map (None: one to one)."""
        ends, name = self.ends, self.ends.create(topic, len(partitions))
        remote = ends.remote(topic)
        order = TopicOrder(remote, len(partitions), 1, {k.replace("_", "."): v for k, v in target_configs.items()})
        assert ends.target.create_topics([order]) == {remote: None}
        there, here = ends.await_topic(ends.target, remote, len(partitions)), ends.await_topic(ends.source, name)
        for number, (source, target, _) in enumerate(partitions):
            self._source.sow(name, number, source)
            self._target.sow(remote, number, target)
        self._source.finish()
        self._target.finish()
        roster = RosterTopic(
            topic=name, source_id=here.topic_id, remote=remote, target_id=there.topic_id, origins=[0] * len(partitions)
        )
        self._entries.append((0, roster))
        for number, (source, _, runs) in enumerate(partitions):
            ledger = RunMap()
            for run in runs if runs is not None else [Run(0, 0, len(source))]:
                ledger.add(run)
            last = list(ledger)[-1]
            state = PartitionState(
                topic=name,
                partition=number,
                incarnation=roster.incarnation,
                phase="closed",
                source_first=0,
                target_first=0,
                source_next=last.source_end,
                target_next=last.target_end,
                producer_id=-1,
                records=ledger.records(),
                bytes=bytes_,
                at_ms=int(time.time() * 1000),
                open_map=pack(ledger),
            )
            self._entries.append((1 + shard_of(TopicPartition(name, number), self.shards), state))
        return name

    def trespass(self, remote: str, record: Sown) -> None:
        """Write into the copy behind the mirror's back."""
        self._target.sow(remote, 0, [record])
        self._target.finish()

    def write_ledger(self) -> None:
        """Write down what was sown since the last time."""
        asyncio.run(self._write())

    async def _write(self) -> None:
        link = self.ends.link
        target = Cluster(link.clients.target_producer, "planted")
        try:
            for partition, entry in self._entries:
                await LedgerWriter(target, ledger_topic(link.source), partition, link.name).write([entry])
        finally:
            await target.close()
        self._entries.clear()


class _Sower:
    """A producer to one cluster."""

    def __init__(self, cluster: Logs, admin: ClusterAdmin) -> None:
        self._admin = admin
        self._options = {**cluster.client, "bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
        self._plain = Producer({**self._options, "enable.idempotence": True, "linger.ms": 5})

    def sow(self, topic: str, partition: int, records: Sequence[Sown]) -> None:
        offset = -1
        for record in records:
            offset += 1
            if record.marked:
                self.finish()
                offset += 1
                self._sow_marked(topic, partition, record)
                _await_marker(self._admin, TopicPartition(topic, partition), offset + 1)
            else:
                _send(self._plain, topic, partition, record)

    def _sow_marked(self, topic: str, partition: int, record: Sown) -> None:
        producer = Producer({**self._options, "transactional.id": f"planted-{topic}-{partition}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        _send(producer, topic, partition, record)
        producer.commit_transaction(30)

    def finish(self) -> None:
        assert self._plain.flush(30) == 0


def _await_marker(admin: ClusterAdmin, place: TopicPartition, end: int) -> None:
    """The answer to a commit comes before its marker is in the log: the next record would take the marker's place."""
    wait_until(
        lambda: admin.fetch_end_offsets([place])[place],
        lambda found: found == end,
        within_s=30,
        what=f"the marker on {place}",
    )


def _send(producer: Producer, topic: str, partition: int, record: Sown) -> None:
    producer.produce(
        topic,
        value=record.value,
        key=record.key,
        partition=partition,
        headers=list(record.headers),
        timestamp=record.timestamp,
    )
