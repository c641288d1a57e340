"""A transactional producer with one owner at a time: the next owner fences the former one. Blocking.

Each call is one transaction: readers that leave out open transactions see all of its records or none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from twinlog.config.settings import ClientSettings
from twinlog.errors import LogFenced
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated
from twinlog.model.names import TopicPartition

_WITHIN_S: Final = 15.0
_TRANSACTION_MS: Final = 30_000
_SHUT_OUT: Final = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})  # noqa: SLF001


class ExclusiveProducer:
    """Writes to one partition as the owner of a transactional id. One call at a time."""

    def __init__(self, settings: ClientSettings, transactional_id: str, where: TopicPartition) -> None:
        """Take the id over: from now on its former owner can write nothing. Raises ClusterError."""
        self._cluster = settings.cluster
        self._where = where
        options: dict[str, Any] = {
            **client_options(settings),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": _TRANSACTION_MS,
        }
        self._client = Producer(options)
        try:
            self._client.init_transactions(_WITHIN_S)
        except KafkaException as error:
            raise translated(self._cluster, error.args[0]) from error

    def write(self, pairs: Sequence[tuple[bytes, bytes | None]]) -> int:
        """Write all of them or none; returns the offset of the last one. Raises ClusterError.

        LogFenced: another process took the id over, or the client cannot continue. This object is of no use any more.
        """
        reached: list[int] = []

        def done(error: KafkaError | None, message: Message) -> None:
            if error is None:
                reached.append(message.offset() or 0)

        topic, partition = self._where
        try:
            self._client.begin_transaction()
            for key, value in pairs:
                self._client.produce(topic, value=value, key=key, partition=partition, on_delivery=done)
            self._client.commit_transaction(_WITHIN_S)
        except KafkaException as failure:
            error: KafkaError = failure.args[0]
            if error.code() in _SHUT_OUT or error.fatal():
                raise LogFenced(self._cluster, str(self._where)) from failure
            with contextlib.suppress(KafkaException):
                self._client.abort_transaction(_WITHIN_S)
            raise translated(self._cluster, error) from failure
        return max(reached, default=-1)
