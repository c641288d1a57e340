"""Appends records in the background: the caller continues, a callback gets the result. Runs in any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, TypeAlias

from twinlog.config.settings import ClientSettings
from twinlog.errors import BrokerRefused, ClusterError
from twinlog.kafka.clients import NewRecord, RecordProducer
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition

OnDone: TypeAlias = Callable[[ClusterError | None], None]
"""Called with None when all replicas have the record, or with the error."""

_LINGER_MS: Final = 5
_SERVE_S: Final = 0.2


class BackgroundWriter:
    """Appends to partition 0 of one topic. `on_done` is called in a thread of this object, or in the caller's."""

    def __init__(self, settings: ClientSettings, topic: str) -> None:
        """Nothing is sent yet."""
        self._settings = settings
        self._where = TopicPartition(topic, 0)
        self._producer: RecordProducer | None = None
        self._opening = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"append-{topic}", daemon=True)

    def append(self, key: bytes | None, value: bytes, on_done: OnDone) -> None:
        """Hand one record over. A full queue is an error that `on_done` gets at once."""

        def done(error: ClusterError | None) -> None:
            on_done(None if error is None else type(error)(error.cluster, f"{self._where.topic}: {error.problem}"))

        record = NewRecord(key, value, (), SYSTEM_CLOCK.now_ms())
        if not self._open().offer(self._where, record, done):
            done(BrokerRefused(self._settings.cluster, "too many records wait to be written"))

    def close(self, within_s: float = 3.0) -> None:
        """Wait until what was handed over is written. Raises ClusterUnreachable when that takes too long."""
        self._closing.set()
        if self._producer is not None:
            self._thread.join(within_s)
            self._producer.flush(within_s)

    def _open(self) -> RecordProducer:
        with self._opening:
            if self._producer is None:
                self._producer = RecordProducer(self._settings, compression="none", linger_ms=_LINGER_MS)
                self._thread.start()
            return self._producer

    def _serve(self) -> None:
        """Deliveries are told only to who asks for them."""
        while not self._closing.is_set() and self._producer is not None:
            self._producer.serve(_SERVE_S)
