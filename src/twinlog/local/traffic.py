"""Traffic for local clusters: a paced producer and a consumer group, so that a tour needs no other Kafka client."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from twinlog.config.client_properties import ClusterProperties
from twinlog.config.settings import ClientSettings
from twinlog.config.text.precedence import Client
from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.clients import RecordProducer
from twinlog.kafka.group_reader import GroupReader
from twinlog.local.cluster import LocalCluster
from twinlog.local.demo.load import PacedLoad
from twinlog.local.demo.records import read_stamp

_LOOK_S = 0.2
_TELL_S = 1.0


@dataclass
class Read:
    """What a consumer read: how many records, how many again, and how many whose checksum is wrong."""

    records: int = 0
    again: int = 0
    unsound: int = 0
    by_topic: Counter[str] = field(default_factory=Counter)
    _next: dict[tuple[str, int], int] = field(default_factory=dict)

    def take(self, topic: str, partition: int, offset: int, sound: bool | None) -> None:
        """Count one record; the same offset twice is read again."""
        self.records += 1
        self.by_topic[topic] += 1
        place = (topic, partition)
        self.again += offset < self._next.get(place, 0)
        self._next[place] = max(offset + 1, self._next.get(place, 0))
        self.unsound += sound is False


def settings_of(cluster: LocalCluster, kind: Client) -> ClientSettings:
    """How a client reaches the cluster, as its administrator."""
    return ClusterProperties(cluster.client_properties(), cluster.name).client(kind)


def produce(
    cluster: LocalCluster, topic: str, *, partitions: int, rate: int, seconds: float, tell: Callable[[int], None]
) -> int:
    """Make the topic unless it exists, write to it at a steady rate, return how many records were acknowledged."""
    admin = ClusterAdmin(settings_of(cluster, Client.ADMIN))
    if topic in admin.list_topics():
        facts = admin.describe_topics([topic])[topic]
        if isinstance(facts, ClusterError):
            raise facts
        partitions = facts.partitions
    else:
        refusal = admin.create_topics([TopicOrder(topic, partitions, -1, {})])[topic]
        if refusal is not None:
            raise refusal
    producer = RecordProducer(settings_of(cluster, Client.PRODUCER), compression="lz4", linger_ms=5)
    load = PacedLoad(producer, topic, partitions, rate)
    load.start()
    try:
        ends = time.monotonic() + seconds
        told = time.monotonic()
        while time.monotonic() < ends and load.trouble is None:
            time.sleep(_LOOK_S)
            if time.monotonic() - told >= _TELL_S:
                told = time.monotonic()
                tell(sum(load.acknowledged.values()))
    finally:
        load.finish()
    if load.trouble is not None:
        raise load.trouble
    return sum(load.acknowledged.values())


def consume(
    cluster: LocalCluster,
    topics: list[str],
    *,
    group: str,
    seconds: float,
    most: int | None,
    tell: Callable[[Read], None],
) -> Read:
    """Read as a group until the time is over or so many records came; the position is committed."""
    reader = GroupReader(settings_of(cluster, Client.CONSUMER), group, topics)
    read = Read()
    ends = time.monotonic() + seconds
    told = time.monotonic()
    try:
        while time.monotonic() < ends and (most is None or read.records < most):
            taken = reader.poll(_LOOK_S)
            if taken is not None:
                topic, record = taken
                stamp = read_stamp(record)
                read.take(topic, record.partition, record.offset, None if stamp is None else stamp.sound)
            if time.monotonic() - told >= _TELL_S:
                told = time.monotonic()
                tell(read)
    finally:
        reader.close()
    return read
