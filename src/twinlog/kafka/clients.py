"""Ordinary clients: one that produces records and one that reads logs from end to end, in our words.

They run in the demo, in any thread, but each object in one thread at a time. The data path does not use them: it
carries whole batches (see wire/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as ForeignPartition

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, ClusterUnreachable
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated
from twinlog.model.names import TopicPartition

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
OnDone: TypeAlias = Callable[[ClusterError | None], None]

_NOTHING_CAME_S = 30.0


class NewRecord(NamedTuple):
    """What a producer decides about a record."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int


class LogRecord(NamedTuple):
    """One record where it lies in a log."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class RecordProducer:
    """Produces records idempotently to one cluster; `serve` or `flush` must be called for deliveries to be told."""

    def __init__(self, settings: ClientSettings, *, compression: str, linger_ms: int) -> None:
        """Nothing is sent yet."""
        self._cluster = settings.cluster
        options: dict[str, Any] = {
            **client_options(settings),
            "enable.idempotence": True,
            "compression.type": compression,
            "linger.ms": linger_ms,
        }
        self._client = Producer(options)

    def send(self, to: TopicPartition, record: NewRecord, on_done: OnDone) -> None:
        """Hand one record over; waits while the queue is full. `on_done` gets None once all replicas have it."""
        while not self.offer(to, record, on_done):
            self._client.poll(0.05)

    def offer(self, to: TopicPartition, record: NewRecord, on_done: OnDone) -> bool:
        """Hand one record over, unless the queue is full: then False, and `on_done` is not called."""

        def done(error: KafkaError | None, _: Message) -> None:
            on_done(None if error is None else translated(self._cluster, error))

        try:
            self._client.produce(
                to.topic,
                value=record.value,
                key=record.key,
                partition=to.partition,
                on_delivery=done,
                timestamp=record.timestamp_ms,
                headers=list(record.headers),
            )
        except BufferError:
            return False
        except KafkaException as error:  # the client itself refuses it: too large, for one
            on_done(translated(self._cluster, error.args[0]))
        return True

    def serve(self, timeout_s: float) -> None:
        """Tell about deliveries, waiting at most so long for one."""
        self._client.poll(timeout_s)

    def flush(self, within_s: float) -> None:
        """Wait until every record is delivered or has failed."""
        left = self._client.flush(within_s)
        if left:
            raise ClusterUnreachable(self._cluster, f"{left} records were not acknowledged within {within_s:.0f} s")


class LogReader:
    """Reads partitions from their beginnings, outside of any group. Uncommitted records are not hidden."""

    def __init__(self, settings: ClientSettings, partitions: Iterable[TopicPartition]) -> None:
        """The topics must exist: a reader of an unknown one would wait for ever."""
        self._cluster = settings.cluster
        self._partitions = tuple(partitions)
        options: dict[str, Any] = {
            **client_options(settings),
            # The client insists on a name; without subscribing and committing there is no group.
            "group.id": "twinlog-reader",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "enable.partition.eof": True,
        }
        self._client = Consumer(options)
        self._client.assign([ForeignPartition(p.topic, p.partition, 0) for p in self._partitions])

    def poll(self, timeout_s: float) -> LogRecord | None:
        """Return the next record of any partition, or None when none came in time."""
        message = self._client.poll(timeout_s)
        if message is None or self._ended(message):
            return None
        return record_of(message)

    def read_until(self, ends: Mapping[TopicPartition, int]) -> Iterator[LogRecord]:
        """Read each partition up to its end offset. Offsets without a record (markers) count as read.

        `ends` are next offsets, asked of the cluster beforehand; records behind them may be returned as well.
        """
        left = {partition for partition in self._partitions if ends[partition] > 0}
        while left:
            message = self._client.poll(_NOTHING_CAME_S)
            if message is None:
                waiting = ", ".join(str(partition) for partition in sorted(left))
                raise ClusterUnreachable(self._cluster, f"nothing came within {_NOTHING_CAME_S:.0f} s from {waiting}")
            here = TopicPartition(message.topic() or "", message.partition() or 0)
            position = message.offset() or 0
            if not self._ended(message):
                yield record_of(message)
                position += 1
            if position >= ends[here]:
                left.discard(here)

    def close(self) -> None:
        self._client.close()

    def _ended(self, message: Message) -> bool:
        """Tell whether this stands for the present end of a partition and not for a record."""
        error = message.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 (librdkafka's own codes begin with an underscore)
            return True
        if error.retriable() or error.code() in {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}:  # noqa: SLF001
            return True
        raise translated(self._cluster, error) from KafkaException(error)


def record_of(message: Message) -> LogRecord:
    """Return a message of the client as a record."""
    headers: Any = message.headers() or ()
    return LogRecord(
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(headers),
    )
