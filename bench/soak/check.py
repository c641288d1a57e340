"""The reader of the soak's target, in a process of its own: `check SERVERS TOPIC PARTITIONS`.

It reads from the first record on. Its input ends with the counts that must be there, as JSON; then it reads on until it
has them or nothing comes for a minute, and prints what was wrong.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import asdict, dataclass

from bench.soak.load import NUMBER
from confluent_kafka import Consumer, TopicPartition

_NOTHING_FOR_S = 60.0


@dataclass
class Verdict:
    """What a reader of committed records saw."""

    records: int = 0
    lost: int = 0
    doubled: int = 0

    def see(self, number: int, expected: int) -> int:
        """Count a record; returns the number that must come next."""
        self.records += 1
        if number < expected:
            self.doubled += 1
            return expected
        self.lost += number - expected
        return number + 1


def main(servers: str, topic: str, partitions: int) -> None:
    wanted: list[int] = []

    def wait_for_counts() -> None:
        wanted.extend(json.loads(sys.stdin.read()))

    threading.Thread(target=wait_for_counts, daemon=True).start()
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "soak-check",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",  # records that retention took before they were read would go unseen
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    expected, verdict = [0] * partitions, Verdict()
    came = time.monotonic()
    while not wanted or (expected != wanted and time.monotonic() - came < _NOTHING_FOR_S):
        for message in consumer.consume(1000, 0.5):
            if message.error() is not None:
                raise RuntimeError(f"{topic}: {message.error()}")
            came = time.monotonic()
            partition, value = message.partition(), message.value()
            if partition is None or value is None:
                raise RuntimeError(f"{topic}: a record without a number, at {message.offset()}")
            expected[partition] = verdict.see(NUMBER.unpack_from(value)[0], expected[partition])
    verdict.lost += sum(max(0, last - seen) for last, seen in zip(wanted, expected, strict=True))
    verdict.doubled += sum(max(0, seen - last) for last, seen in zip(wanted, expected, strict=True))
    consumer.close()
    print(json.dumps(asdict(verdict)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
