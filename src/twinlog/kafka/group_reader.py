"""An ordinary member of a consumer group: it reads, and commits what it has read. Runs in commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from twinlog.config.settings import ClientSettings
from twinlog.kafka.client_options import client_options
from twinlog.kafka.clients import LogRecord, record_of
from twinlog.kafka.foreign_errors import translated

_COMMIT_MS: Final = 1_000


class GroupReader:
    """Reads topics as a group does; a group without positions begins at the first record."""

    def __init__(self, settings: ClientSettings, group: str, topics: Iterable[str]) -> None:
        self._cluster = settings.cluster
        options: dict[str, Any] = {
            **client_options(settings),
            "group.id": group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": _COMMIT_MS,
            "isolation.level": "read_committed",
        }
        self._client = Consumer(options)
        self._client.subscribe(list(topics))

    def poll(self, timeout_s: float) -> tuple[str, LogRecord] | None:
        """Return the next record with its topic, or None when none came in time."""
        message = self._client.poll(timeout_s)
        if message is None:
            return None
        error = message.error()
        if error is None:
            return message.topic() or "", record_of(message)
        if error.code() in {KafkaError._PARTITION_EOF, KafkaError.UNKNOWN_TOPIC_OR_PART}:  # noqa: SLF001  its name
            return None
        raise translated(self._cluster, error) from KafkaException(error)

    def close(self) -> None:
        """Commit what was read, and leave the group."""
        self._client.close()
