"""The offsets of a consumer group without members. Blocking; runs on the driver and in Python workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as ForeignPartition

from twinlog.config.settings import ClientSettings
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated
from twinlog.model.names import TopicPartition

_WITHIN_S: Final = 30.0


class GroupOffsets:
    """Reads and writes the positions of one group."""

    def __init__(self, settings: ClientSettings, group: str) -> None:
        self._cluster = settings.cluster
        options: dict[str, Any] = {**client_options(settings), "group.id": group, "enable.auto.commit": False}
        self._client = Consumer(options)

    def fetch(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Committed next offsets; partitions without one are left out. Raises ClusterError."""
        wanted = [ForeignPartition(p.topic, p.partition) for p in partitions]
        try:
            committed = self._client.committed(wanted, timeout=_WITHIN_S) if wanted else []
        except KafkaException as error:
            raise translated(self._cluster, error.args[0]) from error
        return {
            TopicPartition(partition.topic, partition.partition): partition.offset
            for partition in committed
            if partition.offset >= 0
        }

    def commit(self, positions: Mapping[TopicPartition, int]) -> None:
        """Store next offsets. Raises ClusterError; a group with members refuses."""
        if not positions:
            return
        wanted = [ForeignPartition(p.topic, p.partition, offset) for p, offset in positions.items()]
        try:
            self._client.commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:
            raise translated(self._cluster, error.args[0]) from error

    def close(self) -> None:
        self._client.close()
