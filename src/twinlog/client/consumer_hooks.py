"""Hooks for an application's consumers that write consumer timestamps. Runs in the application, in its own threads.

The consumers are the application's: they are only listened to, and any object with the methods of confluent-kafka's
`Consumer` or aiokafka's `AIOKafkaConsumer` will do. What goes wrong with the timestamps never disturbs them; it is
counted (`written`, `failed`) and the last reason is kept (`trouble`).
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from twinlog.config.client_properties import ClusterProperties
from twinlog.config.text.precedence import Client
from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.clients import NewRecord, RecordProducer
from twinlog.logs.ensure import ensure_logs
from twinlog.logs.topic import LogTopic
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.groups.consumer_timestamps import PARTITIONS, TIMESTAMPS_TOPIC, ConsumerTimestamp, ReadTimes
from twinlog.model.names import TopicPartition

log = logging.getLogger("twinlog.client")

_SWITCH: Final = "offset.timestamps.commit"
_FACTOR: Final = "timestamps.topic.replication.factor"
_LINGER_MS: Final = 500
_TOPIC: Final = LogTopic(TIMESTAMPS_TOPIC, {"cleanup.policy": "compact"}, PARTITIONS)


class ConsumerTimestamps:
    """Writes, at each commit of a group, how far it is in time, to `__consumer_timestamps` on the cluster it reads.

        stamps = ConsumerTimestamps({"bootstrap.servers": "east:9092"}, group="billing")
        consumer = stamps.watch(Consumer({..., "group.id": "billing", "on_commit": stamps.on_commit}))

    With `offset.timestamps.commit = false` among the properties nothing is written.
    """

    def __init__(self, properties: Mapping[str, object], group: str) -> None:
        """Nothing is connected before the first commit. Raises SettingsInvalid."""
        words = ClusterProperties(properties, "source")
        self._group = group
        self.enabled = (words.text(_SWITCH) or "true").strip().lower() != "false"
        self._factor = int(words.text(_FACTOR) or -1)
        self._admin = words.client(Client.ADMIN)
        self._settings = words.client(Client.PRODUCER)
        self._producer: RecordProducer | None = None
        self._partitions = 0
        self._times: dict[TopicPartition, ReadTimes] = {}
        self._lock = threading.Lock()
        self.written = 0
        self.failed = 0
        self.trouble: str | None = None

    # --- confluent-kafka --------------------------------------------------------------------------------------------

    def watch(self, consumer: Any) -> Any:
        """A confluent-kafka consumer that is listened to; use it in place of the given one.

        Commits that are not awaited, and automatic ones, are told by `on_commit`: put it into the consumer's settings.
        """
        return _Watched(consumer, self) if self.enabled else consumer

    def on_commit(self, error: object, partitions: Iterable[Any]) -> None:
        """For the setting `on_commit` of a confluent-kafka consumer."""
        if error is None:
            self.committed({TopicPartition(p.topic, p.partition): p.offset for p in partitions if p.error is None})

    # --- aiokafka -----------------------------------------------------------------------------------------------------

    def watch_async(self, consumer: Any) -> Any:
        """An aiokafka consumer that is listened to; use it in place of the given one and commit by `commit()`."""
        return _WatchedAsync(consumer, self) if self.enabled else consumer

    # --- what both tell -----------------------------------------------------------------------------------------------

    def saw(self, partition: TopicPartition, offset: int, timestamp_ms: int) -> None:
        """A record was handed to the application."""
        with self._lock:
            self._times.setdefault(partition, ReadTimes()).saw(offset, timestamp_ms)

    def last_seen(self) -> dict[TopicPartition, int]:
        """The positions behind the last records that were handed over."""
        with self._lock:
            return {place: times.offsets[-1] + 1 for place, times in self._times.items() if times.offsets}

    def committed(self, positions: Mapping[TopicPartition, int]) -> None:
        """The group committed these positions."""
        if not self.enabled:
            return
        with self._lock:
            stamps = [
                ConsumerTimestamp(self._group, *place, read[0], position, read[1])
                for place, position in positions.items()
                if place in self._times and (read := self._times[place].committed(position)) is not None
            ]
        for stamp in stamps:
            try:
                self._send(stamp)
            except ClusterError as error:
                self._done(error)

    def close(self, within_s: float = 10.0) -> None:
        """Wait until what was handed over is written. Raises ClusterUnreachable when that takes too long."""
        if self._producer is not None:
            self._producer.flush(within_s)

    def _send(self, stamp: ConsumerTimestamp) -> None:
        if self._producer is None:
            self._partitions = self._ensure_topic()
            self._producer = RecordProducer(self._settings, compression="lz4", linger_ms=_LINGER_MS)
        key = stamp.key()
        place = TopicPartition(TIMESTAMPS_TOPIC, zlib.crc32(key) % self._partitions)
        self._producer.send(place, NewRecord(key, stamp.value(), stamp.headers(), SYSTEM_CLOCK.now_ms()), self._done)
        self._producer.serve(0)

    def _done(self, error: ClusterError | None) -> None:
        if error is None:
            self.written += 1
            return
        self.failed += 1
        if self.trouble is None:
            log.warning("consumer timestamps of %s are not written: %s", self._group, error)
        self.trouble = str(error)

    def _ensure_topic(self) -> int:
        return ensure_logs(ClusterAdmin(self._admin), self._factor, _TOPIC)[TIMESTAMPS_TOPIC].partitions


class _Watched:
    """A confluent-kafka consumer, and an ear beside it."""

    def __init__(self, consumer: Any, stamps: ConsumerTimestamps) -> None:
        self._consumer = consumer
        self._stamps = stamps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def poll(self, *args: Any, **kwargs: Any) -> Any:
        message = self._consumer.poll(*args, **kwargs)
        self._hear(message)
        return message

    def consume(self, *args: Any, **kwargs: Any) -> Any:
        messages = self._consumer.consume(*args, **kwargs)
        for message in messages:
            self._hear(message)
        return messages

    def commit(self, *args: Any, **kwargs: Any) -> Any:
        done = self._consumer.commit(*args, **kwargs)
        if done is not None:  # awaited; the others are told by on_commit
            self._stamps.on_commit(None, done)
        return done

    def close(self, *args: Any, **kwargs: Any) -> Any:
        # Closing commits the last positions when the consumer commits by itself, so the stamps come behind it.
        try:
            return self._consumer.close(*args, **kwargs)
        finally:
            self._stamps.close()

    def _hear(self, message: Any) -> None:
        if message is not None and message.error() is None:
            place = TopicPartition(message.topic(), message.partition())
            self._stamps.saw(place, message.offset(), message.timestamp()[1])


class _WatchedAsync:
    """An aiokafka consumer, and an ear beside it."""

    def __init__(self, consumer: Any, stamps: ConsumerTimestamps) -> None:
        self._consumer = consumer
        self._stamps = stamps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def __aiter__(self) -> _WatchedAsync:
        return self

    async def __anext__(self) -> Any:
        return self._hear(await self._consumer.__anext__())

    async def getone(self, *args: Any, **kwargs: Any) -> Any:
        return self._hear(await self._consumer.getone(*args, **kwargs))

    async def getmany(self, *args: Any, **kwargs: Any) -> Any:
        batches = await self._consumer.getmany(*args, **kwargs)
        for records in batches.values():
            for record in records:
                self._hear(record)
        return batches

    async def commit(self, offsets: Mapping[Any, Any] | None = None) -> None:
        positions = self._stamps.last_seen() if offsets is None else _positions(offsets)
        await self._consumer.commit(offsets)
        self._stamps.committed(positions)

    async def stop(self) -> None:
        try:
            await self._consumer.stop()
        finally:
            self._stamps.close()

    def _hear(self, record: Any) -> Any:
        self._stamps.saw(TopicPartition(record.topic, record.partition), record.offset, record.timestamp)
        return record


def _positions(offsets: Mapping[Any, Any]) -> dict[TopicPartition, int]:
    """The positions of aiokafka's mapping: a number, or a pair of number and metadata."""
    return {
        TopicPartition(place.topic, place.partition): at if isinstance(at, int) else at[0]
        for place, at in offsets.items()
    }
