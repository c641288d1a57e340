"""Producing self-checking records: plain, paced, in the background, in transactions of every ending."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import TypeAlias

from confluent_kafka import KafkaError, Message, Producer
from tests.kit.records import Record, RecordMaker, Shape

_FLUSH_WITHIN_S = 120.0
_TRANSACTION_WITHIN_S = 60.0
_SERVE_EVERY = 100


OnDelivery: TypeAlias = Callable[[KafkaError | None, Message], None]


class Ending(Enum):
    """How a transaction ends."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    HANGING = "hanging"


class Load:
    """One stream of numbered records into one topic. Numbers run per partition; none is used twice.

    `acknowledged` holds, per partition and in log order, the numbers that a read_committed consumer must see exactly
    once. `aborted` holds those it must never see; `open` those of hanging transactions, until they end.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        partitions: int,
        seed: int,
        *,
        compression: str = "none",
        batch_bytes: int = 1_000_000,
        batch_records: int = 10_000,
        linger_ms: float = 5,
        shape: Shape = Shape.VARIED,
        max_record_bytes: int = 1_000,
        keys: int | None = None,
        timed: bool = True,
        client: Mapping[str, str] | None = None,
    ) -> None:
        self.topic = topic
        self.partitions = partitions
        self.seed = seed
        self.acknowledged: dict[int, list[int]] = {partition: [] for partition in range(partitions)}
        self.aborted: dict[int, set[int]] = {partition: set() for partition in range(partitions)}
        self.open: dict[int, list[int]] = {partition: [] for partition in range(partitions)}
        self._maker = RecordMaker(seed, shape, max_record_bytes, keys, timed)
        self._next = [0] * partitions
        self._turn = 0
        self._failures: list[str] = []
        self._hanging: list[tuple[Producer, dict[int, list[int]]]] = []
        self._options: dict[str, str | int | float] = {
            **(client or {}),
            "bootstrap.servers": bootstrap_servers,
            "compression.type": compression,
            "batch.size": batch_bytes,
            "batch.num.messages": batch_records,
            "linger.ms": linger_ms,
            "enable.idempotence": True,
            "message.max.bytes": max(1_000_000, 2 * max_record_bytes + 4_096),
            "queue.buffering.max.messages": 200_000,
            "log_level": 0,
        }
        self._producer = Producer(self._options)
        self._transactional: Producer | None = None

    @property
    def count(self) -> int:
        """How many records a read_committed consumer must see."""
        return sum(len(numbers) for numbers in self.acknowledged.values())

    def produce(self, count: int, *, rate: float | None = None, partition: int | None = None) -> None:
        """Produce so many records (at `rate` a second if given) and return when all are acknowledged."""
        started = time.monotonic()
        for sent in range(count):
            if rate is not None:
                due = started + sent / rate
                while (early := due - time.monotonic()) > 0:
                    self._producer.poll(min(early, 0.1))
            self._send(self._producer, self.acknowledged, partition)
        self._flush(self._producer)

    @contextmanager
    def in_background(self, rate: float) -> Iterator[Load]:
        """Produce at `rate` a second while the block runs; at its end everything sent is acknowledged."""
        stop = threading.Event()
        burst = max(1, round(rate / 100))

        def run() -> None:
            started, sent = time.monotonic(), 0
            while not stop.is_set():
                if sent <= (time.monotonic() - started) * rate:
                    for _ in range(burst):
                        self._send(self._producer, self.acknowledged, None)
                    sent += burst
                else:
                    self._producer.poll(0.002)

        thread = threading.Thread(target=run, name=f"load-{self.topic}", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()
            self._flush(self._producer)

    def transaction(self, count: int, ending: Ending, *, timeout_ms: int = 60_000) -> None:
        """Produce so many records in one transaction and end it, or leave it open (`end_hanging` ends it later)."""
        producer = self._transactional if ending is not Ending.HANGING else None
        if producer is None:
            producer = self._new_transactional(timeout_ms)
        if ending is not Ending.HANGING:
            self._transactional = producer
        numbers: dict[int, list[int]] = {partition: [] for partition in range(self.partitions)}
        producer.begin_transaction()
        for _ in range(count):
            self._send(producer, numbers, None)
        self._flush(producer)
        match ending:
            case Ending.COMMITTED:
                producer.commit_transaction(_TRANSACTION_WITHIN_S)
                self._count(self.acknowledged, numbers)
            case Ending.ABORTED:
                producer.abort_transaction(_TRANSACTION_WITHIN_S)
                self._abort(numbers)
            case Ending.HANGING:
                self._count(self.open, numbers)
                self._hanging.append((producer, numbers))

    def end_hanging(self, ending: Ending) -> None:
        """End the oldest hanging transaction. Committed, its numbers are expected where they lie in the log."""
        producer, numbers = self._hanging.pop(0)
        if ending is Ending.COMMITTED:
            producer.commit_transaction(_TRANSACTION_WITHIN_S)
        else:
            producer.abort_transaction(_TRANSACTION_WITHIN_S)
            self._abort(numbers)
        for partition, some in numbers.items():
            ended = set(some)
            self.open[partition] = [number for number in self.open[partition] if number not in ended]
            if ending is Ending.COMMITTED:
                # Numbers rise along the log because one load sends from one thread, so sorting restores its order.
                self.acknowledged[partition] = sorted([*self.acknowledged[partition], *some])

    def _new_transactional(self, timeout_ms: int) -> Producer:
        name = f"load-{self.topic}-{self.seed}-{time.time_ns()}"
        producer = Producer({**self._options, "transactional.id": name, "transaction.timeout.ms": timeout_ms})
        producer.init_transactions(_TRANSACTION_WITHIN_S)
        return producer

    def _send(self, producer: Producer, numbers: dict[int, list[int]], partition: int | None) -> None:
        if partition is None:
            partition = self._turn
            self._turn = (self._turn + 1) % self.partitions
        number = self._next[partition]
        if number % _SERVE_EVERY == 0:
            producer.poll(0)
        self._next[partition] += 1
        record = self._maker.record(partition, number, time.time_ns() // 1_000_000)

        def acknowledged(error: KafkaError | None, _: Message) -> None:
            if error is None:
                numbers[partition].append(number)
            else:
                self._failures.append(f"{self.topic}-{partition} number {number}: {error}")

        self._hand_over(producer, partition, record, acknowledged)

    def _hand_over(self, producer: Producer, partition: int, record: Record, acknowledged: OnDelivery) -> None:
        while True:
            try:
                producer.produce(
                    self.topic,
                    value=record.value,
                    key=record.key,
                    partition=partition,
                    on_delivery=acknowledged,
                    timestamp=record.timestamp_ms,
                    headers=list(record.headers),
                )
            except BufferError:
                producer.poll(0.1)
            else:
                return

    def _flush(self, producer: Producer) -> None:
        left = producer.flush(_FLUSH_WITHIN_S)
        assert left == 0, f"{self.topic}: {left} records were not acknowledged within {_FLUSH_WITHIN_S} s"
        assert not self._failures, f"{self.topic}: {len(self._failures)} records failed, first {self._failures[0]}"

    def _abort(self, numbers: dict[int, list[int]]) -> None:
        for partition, some in numbers.items():
            self.aborted[partition].update(some)

    @staticmethod
    def _count(total: dict[int, list[int]], numbers: dict[int, list[int]]) -> None:
        for partition, some in numbers.items():
            total[partition].extend(some)
