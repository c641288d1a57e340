"""A compacted topic read from its beginning to the end that it has now: the last value of each key. Blocking.

The end is that of all records, not of committed ones: a transaction of somebody else that is open would hide committed
records behind it, and whoever takes an older position for the last one writes records twice. So it is waited for.
"""

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
    ends = _ends(options, settings, topic, partitions)
    client = Consumer(options)
    table: dict[bytes, bytes] = {}
    try:
        client.assign([ForeignPartition(topic, number, 0) for number in ends])
        left = {number for number, end in ends.items() if end > 0}
        deadline = time.monotonic() + _WITHIN_S
        while left:
            if time.monotonic() > deadline:
                raise ClusterUnreachable(settings.cluster, f"{topic} could not be read within {_WITHIN_S:.0f} s")
            message = client.poll(0.5)  # `consume` would wait for more records behind the last one
            if message is None:
                continue
            number, offset = message.partition() or 0, message.offset() or 0
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    if offset >= ends[number]:
                        left.discard(number)
                elif not error.retriable():
                    raise translated(settings.cluster, error) from KafkaException(error)
                continue
            if offset >= ends[number] - 1:  # where others write all the time no end is ever reached
                left.discard(number)
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


def _ends(options: dict[str, Any], settings: ClientSettings, topic: str, partitions: int) -> dict[int, int]:
    """Where the partitions end now. A client that reads committed records is told the end of those alone."""
    client = Consumer({**options, "isolation.level": "read_uncommitted"})
    try:
        places = {number: ForeignPartition(topic, number) for number in range(partitions)}
        return {number: client.get_watermark_offsets(at, timeout=_WITHIN_S)[1] for number, at in places.items()}
    except KafkaException as error:
        raise translated(settings.cluster, error.args[0]) from error
    finally:
        client.close()
