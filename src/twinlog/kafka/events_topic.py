"""The topic that keeps what happened to links, for a week. Blocking; the service calls it in threads.

One topic for all services of a store; the group's name is the key of each record.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterUnreachable
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated
from twinlog.kafka.links_topic import ensure_topics
from twinlog.model.connectors import EVENTS_TOPIC

log = logging.getLogger("twinlog.events")

_WITHIN_S: Final = 15.0
_LOOK_BACK: Final = 4
"""Other groups write to the same topic: so many times more records are read than events are wanted."""


class EventsTopic:
    """The events of one group of services."""

    def __init__(self, settings: ClientSettings, group: str, *, replication_factor: int) -> None:
        """Nothing is sent yet."""
        self.cluster = settings.cluster
        self._settings = settings
        self._key = group.encode()
        self._replication_factor = replication_factor
        self._producer: Producer | None = None

    def read(self, most: int) -> list[bytes]:
        """The last events of the group, oldest first. Raises ClusterError."""
        ensure_topics(ClusterAdmin(self._settings), self._replication_factor, EVENTS_TOPIC)
        place = TopicPartition(EVENTS_TOPIC, 0)
        options = {
            # The client insists on a name; without subscribing and committing there is no group.
            "group.id": "twinlog-events-reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
        reader = Consumer({**client_options(self._settings), **options})
        try:
            begin, end = reader.get_watermark_offsets(place, timeout=_WITHIN_S)
            reader.assign([TopicPartition(EVENTS_TOPIC, 0, max(begin, end - most * _LOOK_BACK))])
            found = self._read_to_end(reader) if end > begin else []
        except KafkaException as error:
            raise translated(self.cluster, error.args[0]) from error
        finally:
            reader.close()
        return found[-most:]

    def _read_to_end(self, reader: Consumer) -> list[bytes]:
        found: list[bytes] = []
        deadline = time.monotonic() + _WITHIN_S
        while time.monotonic() < deadline:
            for message in reader.consume(1000, 0.2):
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    return found
                if error is None and message.key() == self._key and message.value() is not None:
                    found.append(message.value() or b"")
        raise ClusterUnreachable(self.cluster, f"{EVENTS_TOPIC} could not be read in time")

    def append(self, entry: bytes) -> None:
        """Hand one event over; it is on its way when this returns. One that gets lost is told in the log."""
        if self._producer is None:
            self._producer = Producer({**client_options(self._settings), "enable.idempotence": True})
        try:
            self._producer.produce(EVENTS_TOPIC, value=entry, key=self._key, partition=0, on_delivery=_tell_loss)
        except BufferError:
            log.warning("%s: an event is not kept: too many wait for %s", EVENTS_TOPIC, self.cluster)
        self._producer.poll(0)

    def close(self) -> None:
        """Let what is on its way arrive."""
        if self._producer is not None:
            self._producer.flush(3.0)


def _tell_loss(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.warning("%s: an event is not kept: %s", EVENTS_TOPIC, error.str())
