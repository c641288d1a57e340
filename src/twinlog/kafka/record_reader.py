"""Records of given partitions from given offsets, outside of any group. Runs in Python workers and on the driver.

A pipeline reads with it. librdkafka fetches ahead in its own threads and opens batches in C.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as ForeignPartition

from twinlog.config.settings import ClientSettings
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated
from twinlog.model.names import TopicPartition

_PASSING: Final = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._PARTITION_EOF})  # noqa: SLF001
_WITHIN_S: Final = 30.0
# Parts of a record, for `map` over many of them.
TOPIC: Final[Any] = Message.topic
PARTITION: Final[Any] = Message.partition
OFFSET: Final[Any] = Message.offset
KEY: Final[Any] = Message.key
VALUE: Final[Any] = Message.value
HEADERS: Final[Any] = Message.headers
TIMESTAMP: Final[Any] = Message.timestamp  # a pair: what it is, and the milliseconds
_ERROR: Final[Any] = Message.error


class RecordReader:
    """Reads on from positions. `overrides` are librdkafka options that a user set for this reader."""

    def __init__(
        self,
        settings: ClientSettings,
        positions: Mapping[TopicPartition, int],
        overrides: Mapping[str, str | int | bool] | None = None,
        *,
        committed_only: bool = True,
    ) -> None:
        self._cluster = settings.cluster
        options: dict[str, Any] = {
            **client_options(settings),
            "group.id": "twinlog-pipeline-reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if committed_only else "read_uncommitted",
            "enable.partition.eof": False,
            # A position below the log's start is an error that the caller must see, not a silent jump.
            "auto.offset.reset": "error",
            # A fetch is answered when there is a record: only idle readers wait, and should not ask too often.
            "fetch.wait.max.ms": 500,
            "fetch.queue.backoff.ms": 5,
            "queued.max.messages.kbytes": 16 * 1024,
            **(overrides or {}),
        }
        self._client = Consumer(options)
        self._client.assign([ForeignPartition(p.topic, p.partition, offset) for p, offset in positions.items()])

    def take(self, most: int, timeout_s: float, gather_s: float | None = None) -> list[Message]:
        """At most so many records, within so much time. Raises ClusterError.

        librdkafka waits for all of them. With `gather_s` it waits for the first, and then only so long for more.
        """
        if gather_s is None:
            messages = self._client.consume(most, timeout_s)
        else:
            first = self._client.poll(timeout_s)
            messages = [] if first is None else [first, *self._client.consume(most - 1, gather_s)]
        errors = list(map(_ERROR, messages))
        if errors.count(None) == len(messages):
            return messages
        for error in errors:
            if error is not None and error.code() not in _PASSING and not error.retriable():
                raise translated(self._cluster, error) from KafkaException(error)
        return [message for message, error in zip(messages, errors, strict=True) if error is None]

    def positions(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Behind the last record taken, or behind a marker that follows it. Partitions not read yet are left out."""
        positions = self._client.position([ForeignPartition(p.topic, p.partition) for p in partitions])
        return {
            TopicPartition(partition.topic, partition.partition): partition.offset
            for partition in positions
            if partition.offset >= 0
        }

    def ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """First offset and end of each log, as of now."""
        try:
            return {
                p: self._client.get_watermark_offsets(ForeignPartition(p.topic, p.partition), timeout=_WITHIN_S)
                for p in partitions
            }
        except KafkaException as error:
            raise translated(self._cluster, error.args[0]) from error

    def close(self) -> None:
        self._client.close()
