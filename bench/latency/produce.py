"""The paced producer of the latency question, in a process of its own: `produce SERVERS TOPIC PARTITIONS RATE`.

Every record carries its number and the time at which it was handed to the client; it goes on until its input closes.
Numbers are dealt to partitions in turn, so whoever reads a partition knows which number comes next.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import time

from confluent_kafka import Producer

STAMP = struct.Struct(">qq")  # number, time in nanoseconds
_VALUE_BYTES = 100
_TICK_S = 0.001


def main(servers: str, topic: str, partitions: int, rate: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 1, "enable.idempotence": True})
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    filler = os.urandom(_VALUE_BYTES - STAMP.size)
    began, number = time.monotonic_ns(), 0
    while not ended.is_set():
        due = (time.monotonic_ns() - began) * rate // 1_000_000_000
        # Behind after a pause of the machine: the records are sent now and carry the time of now, as late ones would.
        while number < due:
            value = STAMP.pack(number, time.monotonic_ns()) + filler
            producer.produce(topic, value, partition=number % partitions)
            number += 1
        producer.poll(0)
        time.sleep(_TICK_S)
    producer.flush(10)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
