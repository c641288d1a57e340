"""Load that goes on whatever happens: refused records are counted, not raised."""

from __future__ import annotations

import threading
import time

from confluent_kafka import KafkaException
from tests.kit.load import Load
from tests.kit.waiting import wait_until


class Steady(Load):
    """A load in a thread of its own between `start` and `stop`."""

    rate: float = 40.0
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"load-{self.topic}", daemon=True)
        self._thread.start()

    def stop(self, within_s: float = 60.0) -> int:
        """End; return how many records were sent and never acknowledged."""
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None
        left = self._producer.flush(within_s)
        return left + len(self._failures)

    def produce_quickly(self, count: int) -> None:
        """So many records at once, beside those that come steadily."""
        for _ in range(count):
            self._send(self._producer, self.acknowledged, None)

    def next_numbers(self) -> dict[int, int]:
        """What each partition gets next."""
        return dict(enumerate(self._next))

    def last_numbers(self) -> dict[int, int]:
        """The newest acknowledged number of each partition that has one."""
        return {partition: numbers[-1] for partition, numbers in self.acknowledged.items() if numbers}

    def grow(self, partitions: int) -> None:
        """Write to more partitions from now on."""
        # The producer refuses partitions that it has not heard of.
        wait_until(
            lambda: len(self._producer.list_topics(self.topic, timeout=10).topics[self.topic].partitions),
            lambda known: known >= partitions,
            within_s=30,
            what=f"{partitions} partitions of {self.topic}",
        )
        for partition in range(self.partitions, partitions):
            self.acknowledged[partition], self.aborted[partition], self.open[partition] = [], set(), []
        self._next += [0] * (partitions - self.partitions)
        self.partitions = partitions

    def _run(self) -> None:
        started, sent = time.monotonic(), 0
        while not self._over.is_set():
            if sent <= (time.monotonic() - started) * self.rate:
                try:
                    self._send(self._producer, self.acknowledged, None)
                except KafkaException as error:
                    self._failures.append(str(error))
                    self._producer.poll(0.2)
                sent += 1
            else:
                self._producer.poll(0.01)
