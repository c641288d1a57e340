"""Applications of an operator: they write and read where a file tells them to, and keep account of every record."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer

from twinlog.local.jars import KAFKA, class_path, resolve
from twinlog.machine.java import find_java


class Writer(threading.Thread):
    """Writes numbers; one that was not acknowledged is written again, to whichever cluster the file names by then."""

    def __init__(self, address: Path, topic: str, rate: float, first: int = 0) -> None:
        super().__init__(daemon=True)
        self.address, self.topic, self.rate, self.first = address, topic, rate, first
        self.acknowledged: dict[int, str] = {}  # by number: the cluster that took it
        self.refused = 0
        self.doubtful: set[int] = set()  # timed out here: it may be in the log, and is written again
        self._again: list[int] = []
        self._ending = threading.Event()

    def run(self) -> None:
        number, server = self.first, ""
        producer: Producer | None = None
        while not self._ending.is_set() or self._again:
            if (now := self.address.read_text().strip()) != server:
                if producer is not None:
                    producer.flush(20)
                server, producer = now, self._producer(now)
            assert producer is not None
            batch, self._again = self._again, []
            if not self._ending.is_set():
                batch.append(number)
                number += 1
            for one in batch:
                self._send(producer, server, one)
            producer.poll(0)
            if (batch and len(batch) > 1) or self._ending.is_set():
                producer.flush(20)
            self._ending.wait(1 / self.rate)
        if producer is not None:
            producer.flush(20)

    def _send(self, producer: Producer, server: str, number: int) -> None:
        def done(error: KafkaError | None, _: Message) -> None:
            if error is None:
                self.acknowledged[number] = server
            else:
                self.refused += 1
                if error.code() == KafkaError._MSG_TIMED_OUT:
                    self.doubtful.add(number)
                self._again.append(number)

        producer.produce(self.topic, str(number).encode() + b" " * 30, partition=0, on_delivery=done)

    def once(self, numbers: Iterable[int]) -> list[int]:
        """The numbers in order; those that the application itself may have written twice are there once."""
        found = sorted(numbers)
        return [n for n, before in zip(found, [None, *found], strict=False) if n != before or n not in self.doubtful]

    @staticmethod
    def _producer(server: str) -> Producer:
        # Not idempotent: after a refusal it would number its batches anew, which is not what is tried here.
        return Producer({"bootstrap.servers": server, "linger.ms": 0, "message.timeout.ms": 4000, "log_level": 0})

    def finish(self) -> None:
        self._ending.set()
        self.join(60)
        assert not self.is_alive()


class Reader(threading.Thread):
    """Reads as one group and commits what it has read; moves when the file names another cluster."""

    def __init__(self, address: Path, topic: str, group: str) -> None:
        super().__init__(daemon=True)
        self.address, self.topic, self.group = address, topic, group
        self.read: list[int] = []
        self._ending = threading.Event()

    def run(self) -> None:
        while not self._ending.is_set():
            self._read_from(self.address.read_text().strip())

    def _read_from(self, server: str) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": server,
                "group.id": self.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6000,
                "log_level": 0,
            }
        )
        try:
            consumer.subscribe([self.topic])
            while not self._ending.is_set() and self.address.read_text().strip() == server:
                messages = [m for m in consumer.consume(500, 0.2) if m.error() is None]
                if messages:
                    self.read += [int(m.value() or b"-1") for m in messages]
                    consumer.commit(asynchronous=False)
        finally:
            consumer.close()

    def finish(self) -> None:
        self._ending.set()
        self.join(60)


def console_read(bootstrap: str, topic: str, group: str) -> list[int]:
    """What Kafka's own console consumer prints, as a member of the group, until nothing more comes."""
    command = [
        str(find_java().java), "-cp", class_path(resolve(KAFKA)),
        "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", topic,
        "--group", group, "--timeout-ms", "10000",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return [int(line) for line in done.stdout.split() if line.isdecimal()]


def wait_for_progress(reader: Reader, more: int, within_s: float = 60) -> None:
    """Until so many more records are read."""
    wanted, deadline = len(reader.read) + more, time.monotonic() + within_s
    while len(reader.read) < wanted:
        assert time.monotonic() < deadline, f"{len(reader.read)} of {wanted} read"
        reader._ending.wait(0.1)
