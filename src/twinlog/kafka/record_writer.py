"""Records written in Kafka transactions, or idempotently. Runs in Python workers.

Opening a transactional writer shuts every earlier writer of the same id out and ends what it left open.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError
from twinlog.kafka.client_options import client_options
from twinlog.kafka.foreign_errors import translated
from twinlog.model.backoff import Backoff

_WITHIN_S: Final = 60.0
_FENCED: Final = frozenset(
    {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}  # noqa: SLF001
)
_LONGEST_PAUSE_S: Final = 2.0


class WriterFenced(Exception):
    """A younger writer has the transactional id."""


class RecordWriter:
    """Writes records; with a transactional id everything between `begin` and `commit` counts at once."""

    def __init__(
        self,
        settings: ClientSettings,
        transactional_id: str | None = None,
        overrides: Mapping[str, str | int | bool] | None = None,
    ) -> None:
        self._cluster = settings.cluster
        self._failed: dict[Any, ClusterError] = {}
        options: dict[str, Any] = {
            **client_options(settings),
            "enable.idempotence": True,
            "linger.ms": 5,
            "queue.buffering.max.messages": 200_000,
            "queue.buffering.max.kbytes": 64 * 1024,
            **(overrides or {}),
        }
        if transactional_id is not None:
            options |= {"transactional.id": transactional_id, "transaction.timeout.ms": 60_000}
        self._client = Producer(options)
        # Arguments by position: half of the price of a call.
        self._produce: Any = self._client.produce
        self._transactional = transactional_id is not None

    def open(self) -> None:
        """Shut earlier writers out. Raises ClusterError."""
        if self._transactional:
            self._calling(lambda: self._client.init_transactions(_WITHIN_S))

    def begin(self) -> None:
        if self._transactional:
            self._calling(self._client.begin_transaction)

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        partition: int = -1,
        timestamp_ms: int = 0,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        mark: Any = None,
    ) -> None:
        """Hand one record over. `mark` names it among the failures that `flush` returns.

        In a transaction `mark` may be left out, which makes this four times as cheap: `commit` fails if a broker
        refused a record.
        """
        heard = None if mark is None and self._transactional else partial(self._heard, mark)
        while True:
            try:
                self._produce(
                    topic, value, key, partition, heard, None, max(0, timestamp_ms), list(headers) if headers else None
                )
            except BufferError:
                self._client.poll(0.05)
            except KafkaException as error:
                if error.args[0].code() in _FENCED:
                    raise WriterFenced from error
                self._failed[mark or topic] = translated(self._cluster, error.args[0])
                return
            else:
                return

    def send_all(
        self,
        topic: str,
        count: int,
        keys: Sequence[bytes | None] | None,
        values: Sequence[bytes | None] | None,
        times_ms: Sequence[int | None] | None,
    ) -> None:
        """Hand so many records without headers over, in a transaction. None: all are absent."""
        produce = self._produce
        columns = (itertools.repeat(None, count) if some is None else some for some in (keys, values, times_ms))
        for key, value, at in zip(*columns, strict=True):
            try:
                produce(topic, value, key, -1, None, None, at if at and at > 0 else 0)
            except (BufferError, KafkaException):
                self.send(topic, key, value, timestamp_ms=at or 0)

    def _heard(self, mark: Any, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed[mark] = translated(self._cluster, error)

    def serve(self) -> None:
        self._client.poll(0)

    def flush(self) -> dict[Any, ClusterError]:
        """Wait for all acknowledgements; returns the records that were refused, by their mark."""
        while self._client.flush(_WITHIN_S):
            pass
        failed, self._failed = self._failed, {}
        return failed

    def commit(self) -> None:
        """End the transaction well. Raises WriterFenced, ClusterError."""
        if self._transactional:
            self._calling(lambda: self._client.commit_transaction(_WITHIN_S))

    def abort(self) -> None:
        if self._transactional:
            self._calling(lambda: self._client.abort_transaction(_WITHIN_S))

    def _calling(self, call: Any) -> None:
        """Repeat what may be repeated; everything else is the caller's."""
        backoff = Backoff(0.1, _LONGEST_PAUSE_S)
        while True:
            try:
                call()
            except KafkaException as error:
                problem = error.args[0]
                if problem.code() in _FENCED:
                    raise WriterFenced from error
                if not problem.retriable():
                    raise translated(self._cluster, problem) from error
                time.sleep(backoff.next_s())
            else:
                return
