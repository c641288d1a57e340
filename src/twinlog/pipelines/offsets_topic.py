"""Positions of sources in Connect's offsets topic, byte by byte as a worker writes them.

    key    ["orders-file",{"filename":"/var/log/orders"}]
    value  {"position":4711}

A worker looks offsets up by the bytes of the key, so the order of fields counts. Bytes that are there are used again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twinlog.config.settings import ClientSettings
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.compacted_table import read_table
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.pipelines.api import Offset, SourcePartition
from twinlog.pipelines.dead_letters import ensure_topic

_COMPACTED = {"cleanup.policy": "compact"}


def written(value: Any) -> bytes:
    """JSON as Jackson writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def key_of(connector: str, partition: SourcePartition) -> bytes:
    return written([connector, dict(partition.at)])


@dataclass(frozen=True)
class StoredOffset:
    """The position of one source partition, with the bytes of its key."""

    key: bytes
    partition: Mapping[str, Any]
    offset: Mapping[str, Any]


def offsets_of(table: Mapping[bytes, bytes], connector: str) -> list[StoredOffset]:
    """What the topic holds for one connector. Records of other formats are passed over."""
    offsets = []
    for key, value in table.items():
        try:
            name, partition = json.loads(key)
            offset = json.loads(value)
        except (ValueError, TypeError):
            continue
        if name == connector and isinstance(partition, dict) and isinstance(offset, dict):
            offsets.append(StoredOffset(key, partition, offset))
    return offsets


class OffsetsTopic:
    """The offsets topic of a group of workers."""

    def __init__(self, cluster: ClientSettings, topic: str) -> None:
        self.cluster = cluster
        self.topic = topic

    def ensure(self, partitions: int, replicas: int) -> int:
        """Create it unless it is there; returns how many partitions it has. Raises ClusterError."""
        ensure_topic(self.cluster, self.topic, replicas, partitions, _COMPACTED)
        return self.partitions()

    def partitions(self) -> int:
        facts = ClusterAdmin(self.cluster).describe_topics([self.topic])[self.topic]
        if not isinstance(facts, TopicFacts):
            raise facts
        return facts.partitions

    def read(self, connector: str, partitions: int) -> list[StoredOffset]:
        """Committed positions. Raises ClusterError."""
        return offsets_of(read_table(self.cluster, self.topic, partitions), connector)


def start_of(stored: list[StoredOffset], partition: SourcePartition) -> tuple[Offset | None, StoredOffset | None]:
    """Where a source partition continues; fields may stand in another order."""
    for known_as in (partition.at, *partition.also):
        for entry in stored:
            if entry.partition == dict(known_as):
                return dict(entry.offset), entry
    return None, None
