"""How long a registry needs until it serves, and how much memory, by the number of schemas."""

from __future__ import annotations

import json
import statistics
import time
import uuid
from pathlib import Path
from typing import Any

from bench.goals import Goal
from bench.options import Options
from bench.registry.asking import started
from bench.report import table
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from twinlog.local.cluster import LocalCluster
from twinlog.registry.content import Content
from twinlog.registry.records import SchemaValue, schema_record

STARTS = (1_000, 10_000, 100_000)
MOST_S, MOST_MIB = 5.0, 300.0


def answer(options: Options, folder: Path, cluster: LocalCluster) -> tuple[list[Goal], str]:
    """Goals, and the table."""
    rows, goals = [], list[Goal]()
    for count in STARTS:
        size = count // (10 if options.quick else 1)
        topic = f"start-{size}-{uuid.uuid4().hex[:6]}"
        _fill(cluster, topic, size)
        runs = [_start(cluster, folder, topic, size) for _ in range(options.rounds)]
        took, cpu, rss = (statistics.median(values) for values in zip(*runs, strict=True))
        shown = ", ".join(f"{one[0]:.1f}" for one in runs)
        rows.append((f"{size}", f"{took:.1f}", f"{cpu:.1f}", f"{rss:.0f}", shown))
        if count == STARTS[-1]:
            goals.append(Goal(f"s until ready, {size} schemas", f"at most {MOST_S:.0f}", f"{took:.1f}", took <= MOST_S))
            goals.append(Goal(f"MiB, {size} schemas", f"at most {MOST_MIB:.0f}", f"{rss:.0f}", rss <= MOST_MIB))
    rows.append(("100000: Confluent 8.1.1 (another day, another run)", "51", "18", "540", "-"))
    return goals, table(("schemas", "s until ready", "CPU s", "MiB", "every round, s"), rows)


def _start(cluster: LocalCluster, folder: Path, topic: str, size: int) -> tuple[float, float, float]:
    began = time.perf_counter()
    registry = started(cluster, folder, topic)
    try:
        registry.await_serving()
        took = time.perf_counter() - began
        versions: Any = registry.facts()["versions"]
        if versions != size:
            raise RuntimeError(f"{topic}: {versions} versions instead of {size}")
        return took, registry.cpu_s, registry.rss_mib
    finally:
        registry.kill()


def _fill(cluster: LocalCluster, topic: str, count: int) -> None:
    """Records as a registry writes them: ten versions of each subject, some 700 bytes each."""
    options: dict[str, Any] = {**cluster.client_properties("bench")}
    admin = AdminClient(options)
    admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})])[topic].result(30)
    producer = Producer({**options, "linger.ms": 20, "queue.buffering.max.messages": 200_000})
    for number in range(1, count + 1):
        fields = [
            {"name": f"field_{n}_{number if n == 0 else ''}", "type": "string", "doc": "x" * 40} for n in range(6)
        ]
        text = json.dumps({"type": "record", "name": "R", "fields": fields}, separators=(",", ":"))
        subject, version = f"subject-{(number - 1) // 10}", (number - 1) % 10 + 1
        record = schema_record(SchemaValue(subject, version, number, Content("AVRO", text), deleted=False))
        producer.produce(topic, record.value, record.key)
        producer.poll(0)
    if producer.flush(120):
        raise RuntimeError(f"{topic}: not all records were written")
