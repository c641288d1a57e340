"""A compacted topic read from its beginning to its end: the last value of each key. Blocking."""

from __future__ import annotations

import time
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ForeignPartition

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterUnreachable
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated

_WITHIN_S: Final = 30.0


def read_table(settings: ClientSettings, topic: str, partitions: int) -> dict[bytes, bytes]:
    """The last committed value of each key; keys whose last value is null are left out. Raises ClusterError."""
    options: dict[str, Any] = {
        **client_options(settings),
        "group.id": "twinlog-table-reader",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
    }
    client = Consumer(options)
    table: dict[bytes, bytes] = {}
    try:
        client.assign([ForeignPartition(topic, number, 0) for number in range(partitions)])
        left = set(range(partitions))
        deadline = time.monotonic() + _WITHIN_S
        while left:
            if time.monotonic() > deadline:
                raise ClusterUnreachable(settings.cluster, f"{topic} could not be read within {_WITHIN_S:.0f} s")
            message = client.poll(0.5)  # `consume` would wait for more records behind the last one
            if message is None:
                continue
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    left.discard(message.partition() or 0)
                elif not error.retriable():
                    raise translated(settings.cluster, error) from KafkaException(error)
                continue
            key, value = message.key(), message.value()
            if key is None:
                continue
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
    finally:
        client.close()
    return table
