"""The measuring consumer of the latency question, in a process of its own.

`consume SERVERS TOPIC PARTITIONS WARM_UP SECONDS [end]` waits for a first record of the producer, lets the mirror warm
up, measures all records sent in the seconds after that, and prints what it saw as JSON. With `end` it leaves out what
is there already. Sender and reader share the machine's clock.
"""

from __future__ import annotations

import json
import sys
import time
from array import array

from bench.latency.percentiles import percentiles
from bench.latency.produce import STAMP
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, TopicPartition

_FIRST_WITHIN_S = 90.0
_SILENT_AFTER_S = 30.0


def main(servers: str, topic: str, partitions: int, times: tuple[float, float], start: int) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.min.bytes": 1,
        }
    )
    consumer.assign([TopicPartition(topic, partition, start) for partition in range(partitions)])
    print(json.dumps(_measure(consumer, partitions, *times)), flush=True)
    consumer.close()


def _measure(consumer: Consumer, partitions: int, warm_up_s: float, seconds: float) -> dict[str, object]:
    begin = end = 0
    waits = array("q")
    last: dict[int, int] = {}
    through: set[int] = set()
    lost = doubled = 0
    silent_after = time.monotonic() + _FIRST_WITHIN_S
    while True:
        message = consumer.poll(0.5)
        if message is not None and (error := message.error()) is not None:
            raise SystemExit(f"the consumer failed: {error}")
        if message is None:
            if time.monotonic() > silent_after:
                raise SystemExit(f"no record came; {len(waits)} were measured before")
            continue
        now = time.monotonic_ns()
        value = message.value()
        if not value:  # a probe
            continue
        number, sent = STAMP.unpack_from(value)
        if not end:
            begin = now + int(warm_up_s * 1e9)
            end = begin + int(seconds * 1e9)
        silent_after = now / 1e9 + _SILENT_AFTER_S
        partition = message.partition() or 0
        step = number - last.get(partition, number - partitions)
        if step <= 0:
            doubled += 1
            continue
        lost += step // partitions - 1
        last[partition] = number
        if sent >= end:
            # Partitions that lag behind hold the slowest records: the first to be through must not end the measuring.
            through.add(partition)
            if len(through) == partitions:
                return {"count": len(waits), "lost": lost, "doubled": doubled, "ms": percentiles(waits)}
        elif sent >= begin:
            waits.append(now - sent)


if __name__ == "__main__":
    begin = OFFSET_END if sys.argv[6:] == ["end"] else OFFSET_BEGINNING
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), (float(sys.argv[4]), float(sys.argv[5])), begin)
