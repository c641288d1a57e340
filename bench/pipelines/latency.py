"""How long a record takes from a producer through a topic into a file, at a steady rate."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.pipelines.scene import Scene, fresh
from bench.pipelines.workers import WITHIN_S, Worker
from confluent_kafka import Producer

PIPELINE: Final = "latency"
RATE: Final = 1000
SECONDS: Final = 30.0
SETTLE_S: Final = 10.0


@dataclass(frozen=True)
class Latency:
    """One figure per record."""

    milliseconds: list[float]

    def percentile(self, share: int) -> float:
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def latency(scene: Scene, worker: Worker, scale: float) -> Latency:
    """Send records that hold the time of their sending; note when each line is in the file."""
    topic, out = scene.empty_topic(fresh("steady")), scene.folder / fresh("steady")
    worker.put(topic, {"connector.class": "FileStreamSink", "file": str(out), "topics": topic})
    count = int(RATE * (SETTLE_S + SECONDS * max(scale, 0.3)))
    threading.Thread(target=_send, args=(scene.cluster.bootstrap_servers, topic, count), daemon=True).start()
    found = _followed(out, count)
    worker.delete(topic)
    return Latency(found[int(RATE * SETTLE_S) :])


def _send(servers: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    began = time.monotonic()
    for number in range(count):
        while (wait := began + number / RATE - time.monotonic()) > 0:
            time.sleep(wait)
        producer.produce(topic, b"%d %s" % (time.monotonic_ns(), b"x" * 90))
        producer.poll(0)
    producer.flush(60)


def _followed(out: Path, count: int) -> list[float]:
    found: list[float] = []
    position, rest = 0, b""
    deadline = time.monotonic() + WITHIN_S
    while len(found) < count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(found)} of {count} records within {WITHIN_S:.0f} s")
        time.sleep(0.001)
        if not out.exists():
            continue
        with out.open("rb") as file:
            file.seek(position)
            block = file.read()
        now = time.monotonic_ns()
        position += len(block)
        *lines, rest = (rest + block).split(b"\n")
        found += [(now - int(line.split()[0])) / 1e6 for line in lines]
    return found
