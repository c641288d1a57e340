"""Reading whole logs: every record between the beginning of a partition and its end at this moment."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple, TypeAlias, cast

from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, Message, TopicPartition
from tests.kit.records import Headers

Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]

_AT_ONCE = 10_000
_PATIENCE_S = 0.1
# A cluster that gives neither a record nor an end of partition for so long does not answer.
_SILENCE_S = 30.0


class LogRecord(NamedTuple):
    """One record as a consumer sees it. `timestamp` is (type, milliseconds)."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: tuple[int, int]


class Cluster(NamedTuple):
    """Where to read; `client` holds librdkafka options for clusters that ask who we are."""

    bootstrap_servers: str
    client: Mapping[str, str] = {}


def read_logs(
    cluster: Cluster, topic: str, isolation: Isolation, partitions: Collection[int] | None = None
) -> dict[int, list[LogRecord]]:
    """Read partitions (all unless told) of a topic completely."""
    logs: dict[int, list[LogRecord]] = {}

    def keep(partition: int, message: Message) -> None:
        logs[partition].append(log_record(message))

    _read(cluster, topic, isolation, partitions, begin=lambda partition: logs.setdefault(partition, []), keep=keep)
    return logs


def read_fingerprints(cluster: Cluster, topic: str, isolation: Isolation) -> dict[int, array[int]]:
    """Read all partitions of a topic, but keep only a hash of each record: eight bytes instead of hundreds.

    The hashes compare only within one process.
    """
    prints: dict[int, array[int]] = {}

    def keep(partition: int, message: Message) -> None:
        headers = tuple(message.headers() or ())
        prints[partition].append(hash((message.key(), message.value(), headers, message.timestamp())))

    _read(cluster, topic, isolation, None, begin=lambda partition: prints.setdefault(partition, array("q")), keep=keep)
    return prints


def log_record(message: Message) -> LogRecord:
    """Take over what a consumer was handed."""
    offset = message.offset()
    assert offset is not None
    headers = cast("Headers", tuple(message.headers() or ()))
    kind, timestamp_ms = message.timestamp()
    assert kind != TIMESTAMP_NOT_AVAILABLE, f"offset {offset} has no timestamp"
    return LogRecord(offset, message.key(), message.value(), headers, (kind, timestamp_ms))


def _read(
    cluster: Cluster,
    topic: str,
    isolation: Isolation,
    partitions: Collection[int] | None,
    *,
    begin: Callable[[int], object],
    keep: Callable[[int, Message], None],
) -> None:
    with _consumer(cluster, isolation) as consumer:
        metadata = consumer.list_topics(topic, timeout=_SILENCE_S).topics[topic]
        assert metadata.error is None, f"{topic}: {metadata.error}"
        open_partitions = set(metadata.partitions if partitions is None else partitions)
        for partition in sorted(open_partitions):
            begin(partition)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in open_partitions])
        heard = time.monotonic()
        while open_partitions:
            # A call waits until it is full or its time is over, so a long one would hold back the last records.
            messages = consumer.consume(_AT_ONCE, _PATIENCE_S)
            if messages:
                heard = time.monotonic()
            assert time.monotonic() - heard < _SILENCE_S, f"{topic}: silence before the end of {open_partitions}"
            for message in messages:
                partition = message.partition()
                assert partition is not None
                error = message.error()
                if error is None:
                    # What arrives behind an end that was seen belongs to a later moment.
                    if partition in open_partitions:
                        keep(partition, message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard(partition)
                else:
                    raise AssertionError(f"{topic}-{partition}: {error}")


@contextmanager
def _consumer(cluster: Cluster, isolation: Isolation) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            **cluster.client,
            "bootstrap.servers": cluster.bootstrap_servers,
            # Required by the client, never used: partitions are assigned by hand and nothing is committed.
            "group.id": "checker",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "fetch.max.bytes": 64_000_000,
            "max.partition.fetch.bytes": 8_000_000,
            "queued.min.messages": 200_000,
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()
