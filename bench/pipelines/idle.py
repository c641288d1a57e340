"""What many connectors cost that have nothing to do: CPU and memory of the worker while no record comes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from bench.cost import Meter
from bench.pipelines.scene import Scene, fresh
from bench.pipelines.workers import Worker
from tests.kit.connect_worker import ask
from tests.kit.waiting import wait_until

IDLE: Final = "idle"
CONNECTORS: Final = 100
SETTLE_S: Final = 75.0
"""Longer than a pipeline of ours keeps its tasks without a record."""
SECONDS: Final = 30.0
_START_S: Final = 400.0


@dataclass(frozen=True)
class Idle:
    """Share of one core, and bytes."""

    connectors: int
    core: float
    resident_bytes: int
    start_s: float  # until all of them ran


def idle(scene: Scene, worker: Worker, scale: float) -> Idle:
    """File sinks, each with an empty topic of its own."""
    count = int(CONNECTORS * scale)
    topics = [scene.empty_topic(fresh("quiet")) for _ in range(count)]
    began = time.monotonic()
    for topic in topics:
        config = {"connector.class": "FileStreamSink", "file": str(scene.folder / topic), "topics": topic}
        worker.put(topic, config)
    wait_until(lambda: _running(worker), lambda running: running >= count, within_s=_START_S, what="all connectors run")
    start_s = time.monotonic() - began
    time.sleep(SETTLE_S)
    with Meter(worker.pid) as meter:
        meter.look_around()
        cpu, at = meter.cpu_seconds(), time.monotonic()
        meter.peak_bytes = 0
        time.sleep(SECONDS)
        meter.look_around()
        core = (meter.cpu_seconds() - cpu) / (time.monotonic() - at)
    for topic in topics:
        worker.delete(topic)
    return Idle(count, core, meter.peak_bytes, start_s)


def _running(worker: Worker) -> int:
    """How many connectors have a task that runs."""
    answer = ask(worker.base, "GET", "/connectors?expand=status")
    if answer.status != 200:
        return 0
    states = [
        [task["state"] for task in about["status"]["tasks"]] for about in answer.body.values() if "status" in about
    ]
    return sum("RUNNING" in tasks for tasks in states)
