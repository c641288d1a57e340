"""A throw-away consumer group: reads some records from where the group stands, then is deleted. Runs in drills.

The reader is a real consumer with the group's name: it asks the coordinator for its positions and starts there, as the
application would. It commits nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ForeignPartition

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, ClusterUnreachable
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.client_options import client_options
from twinlog.kafka.clients import LogRecord
from twinlog.kafka.foreign_errors import translated
from twinlog.model.drills.shadow import Window
from twinlog.model.names import TopicPartition

_AT_ONCE = 1_000
_LIMIT_S = 0.1


def read_as_group(
    settings: ClientSettings, group: str, ends: Mapping[TopicPartition, int], *, limit: int, within_s: float
) -> dict[TopicPartition, Window]:
    """Read each partition from the group's position up to its end, or `limit` offsets; raises after `within_s`."""
    options: dict[str, Any] = {
        **client_options(settings),
        "group.id": group,
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        # A position outside of the log is what a drill must find, not mend.
        "auto.offset.reset": "error",
    }
    reader = Consumer(options)
    deadline = time.monotonic() + within_s
    try:
        starts = _positions(reader, settings.cluster, ends, within_s)
        stops = {partition: min(ends[partition], start + limit) for partition, start in starts.items()}
        by_partition: dict[TopicPartition, list[LogRecord]] = {partition: [] for partition in starts}
        left = {partition for partition, start in starts.items() if start < stops[partition]}
        reader.assign([ForeignPartition(*partition, starts[partition]) for partition in left])
        while left:
            if time.monotonic() > deadline:
                raise ClusterUnreachable(settings.cluster, f"{group}: not read within {within_s:.0f} s: {min(left)}")
            for message in reader.consume(_AT_ONCE, _LIMIT_S):
                partition = TopicPartition(message.topic() or "", message.partition() or 0)
                if partition not in left:
                    continue
                position = _take(message, stops[partition], by_partition[partition], settings.cluster)
                if position is not None and position >= stops[partition]:
                    left.discard(partition)
        return {p: Window(starts[p], max(starts[p], stops[p]), records) for p, records in by_partition.items()}
    finally:
        reader.close()


def _positions(
    reader: Consumer, cluster: str, wanted: Iterable[TopicPartition], within_s: float
) -> dict[TopicPartition, int]:
    places = [ForeignPartition(*partition) for partition in wanted]
    try:
        answers = reader.committed(places, timeout=within_s)
    except KafkaException as error:
        raise translated(cluster, error.args[0]) from error
    positions: dict[TopicPartition, int] = {}
    for answer in answers:
        if answer.error is not None:
            raise translated(cluster, answer.error)
        if answer.offset >= 0:
            positions[TopicPartition(answer.topic, answer.partition)] = answer.offset
    return positions


def _take(message: Any, stop: int, records: list[LogRecord], cluster: str) -> int | None:
    error = message.error()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (librdkafka's own codes begin with an underscore)
            return int(message.offset())
        if error.retriable():
            return None
        raise translated(cluster, error)
    offset: int = message.offset()
    if offset < stop:
        headers: Any = message.headers() or ()
        time_ms = message.timestamp()[1]
        records.append(LogRecord(message.partition(), offset, time_ms, message.key(), message.value(), tuple(headers)))
    return offset + 1


def delete_groups(admin: ClusterAdmin, names: Iterable[str]) -> dict[str, ClusterError | None]:
    """Delete groups. The answer holds the error of each group; None for a deleted one."""
    wanted = list(names)
    if not wanted:
        return {}
    answers = admin.ask(lambda client, timeout_s: client.delete_consumer_groups(wanted, request_timeout=timeout_s))
    return {name: answer if isinstance(answer, ClusterError) else None for name, answer in answers.items()}
