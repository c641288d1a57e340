"""The load of the soak, in a process of its own: `load SERVERS TOPIC PARTITIONS SECONDS SEED`.

Each record carries its number within its partition. Numbers of an aborted transaction are given again to the records
after it, so a reader of committed records sees each number once and in order. Prints the counts per partition.
"""

from __future__ import annotations

import json
import random
import struct
import sys
import time
from dataclasses import dataclass

from confluent_kafka import Producer

NUMBER = struct.Struct(">q")
PHASE_S = 30.0
RATES = (0, 50, 500, 2000, 4000, 8000)
SIZES = (20, 100, 1000)
_TICK_S = 0.01
_TRANSACTION_S = 0.2


@dataclass(frozen=True)
class Phase:
    """Half a minute of load."""

    rate: int
    value_bytes: int
    transactional: bool


def phase_of(number: int, seed: int) -> Phase:
    """The phase of this number: the same seed gives the same load."""
    dice = random.Random(seed * 1_000_003 + number)
    return Phase(dice.choice(RATES), dice.choice(SIZES), dice.random() < 1 / 3)


class Load:
    """Two producers that share the numbers of all partitions."""

    def __init__(self, servers: str, topic: str, partitions: int, seed: int) -> None:
        self.topic, self.seed = topic, seed
        self.next = [0] * partitions
        self._dice = random.Random(seed)
        base = {"bootstrap.servers": servers, "compression.type": "lz4", "linger.ms": 5, "enable.idempotence": True}
        self._plain = Producer(base)
        self._transactional = Producer(base | {"transactional.id": f"soak-{seed}"})
        self._transactional.init_transactions(60)
        self._refused = 0

    def run(self, seconds: float) -> None:
        began = time.monotonic()
        number = 0
        while time.monotonic() - began < seconds:
            phase = phase_of(number, self.seed)
            number += 1
            until = min(began + seconds, began + number * PHASE_S)
            (self._transactions if phase.transactional else self._stream)(phase, until)
            # The order within a partition is certain only after all of one producer's records have been accepted.
            if self._plain.flush(60) or self._refused:
                raise RuntimeError(f"{self.topic}: the source did not accept the load ({self._refused} refused)")

    def _stream(self, phase: Phase, until: float) -> None:
        began, sent = time.monotonic(), 0
        while (now := time.monotonic()) < until:
            due = int((now - began) * phase.rate)
            self._send(self._plain, phase, due - sent)
            sent = due
            self._plain.poll(0)
            time.sleep(_TICK_S)

    def _transactions(self, phase: Phase, until: float) -> None:
        while time.monotonic() < until:
            before = list(self.next)
            self._transactional.begin_transaction()
            self._send(self._transactional, phase, max(1, int(phase.rate * _TRANSACTION_S)))
            if self._dice.random() < 1 / 4:
                self._transactional.flush(30)  # so that there is something to abort
                self._transactional.abort_transaction(60)
                self.next = before
            else:
                self._transactional.commit_transaction(60)
            time.sleep(_TRANSACTION_S)

    def _send(self, producer: Producer, phase: Phase, count: int) -> None:
        for _ in range(count):
            partition = self._dice.randrange(len(self.next))
            value = NUMBER.pack(self.next[partition]) + bytes(phase.value_bytes)
            self.next[partition] += 1
            while True:
                try:
                    producer.produce(self.topic, value, partition=partition, on_delivery=self._delivered)
                    break
                except BufferError:
                    producer.poll(0.1)

    def _delivered(self, error: object, _message: object) -> None:
        # Records of an aborted transaction are reported as purged; those of a stream must all be accepted.
        if error is not None and "PURGE" not in repr(error).upper():
            self._refused += 1


def main(servers: str, topic: str, partitions: int, seconds: float, seed: int) -> None:
    load = Load(servers, topic, partitions, seed)
    load.run(seconds)
    print(json.dumps(load.next))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
