"""A paced stream of self-checking records into the source. Runs in a thread of the demo."""

from __future__ import annotations

import threading
import time

from twinlog.errors import ClusterError
from twinlog.kafka.clients import RecordProducer
from twinlog.local.demo.records import make_record
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition

_FLUSH_WITHIN_S = 30.0
_PAUSE_S = 0.002


class PacedLoad:
    """Produces at a steady rate, one partition after the other, numbering each partition's records from 0."""

    def __init__(self, producer: RecordProducer, topic: str, partitions: int, rate: int) -> None:
        """Nothing is sent before `start`."""
        self.acknowledged = dict.fromkeys(range(partitions), 0)
        """Records per partition that the source has for sure."""
        self.trouble: Exception | None = None
        self._producer = producer
        self._topic = topic
        self._rate = rate
        self._next = [0] * partitions
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo-load", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Stop producing and wait until all that was sent is acknowledged."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._produce()
            self._producer.flush(_FLUSH_WITHIN_S)
        except Exception as error:  # noqa: BLE001  a thread's entry: the story shows it
            self.trouble = error

    def _produce(self) -> None:
        began = time.monotonic()
        sent = 0
        while not self._stop.is_set() and self.trouble is None:
            due = int((time.monotonic() - began) * self._rate)
            for number in range(sent, due):
                self._send(number % len(self._next))
            sent = max(sent, due)
            self._producer.serve(_PAUSE_S)

    def _send(self, partition: int) -> None:
        sequence = self._next[partition]
        self._next[partition] += 1

        def done(error: ClusterError | None) -> None:
            if error is None:
                self.acknowledged[partition] += 1
            else:
                self.trouble = error

        record = make_record(partition, sequence, SYSTEM_CLOCK.now_ns())
        self._producer.send(TopicPartition(self._topic, partition), record, done)
