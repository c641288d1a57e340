"""Asks how fast the schema registry answers, writes and starts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from bench.options import Options
from bench.report import amount, table
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kit.registry import RegistryProcess

from twinlog.local.cluster import LocalCluster
from twinlog.registry.content import Content
from twinlog.registry.records import SchemaValue, schema_record

STARTS = (1_000, 10_000, 100_000)
PEERS = (
    ("Confluent 8.1.1 (earlier)", "6.0-7.8 k", "0.14", "75-118", "1.0-3.0 k"),
    ("Apicurio 3.0.9, H2 (earlier)", "3.3-4.5 k", "0.25", "490-510", "1.0-1.4 k"),
)
GOALS = ("goal", "10 k", "0.05", "1.0 k", "5.0 k")


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    part = 10 if options.quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with LocalCluster("bench", folder / "kafka") as cluster:
            return "\n\n".join((_rates(cluster, folder, part), _starts(cluster, folder, part)))


def _registry(cluster: LocalCluster, folder: Path, topic: str) -> RegistryProcess:
    own = {"kafkastore.topic": topic, "schema.registry.group.id": f"sr-{topic}"}
    return RegistryProcess(folder, cluster.bootstrap_servers, **own).start()


def _load(registry: RegistryProcess, kind: str, count: int, clients: int, mark: str) -> dict[str, float]:
    cpu = registry.cpu_s
    command = [sys.executable, "-m", "bench.registry.load", kind, str(registry.port), str(count), str(clients), mark]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(out)
    if found["wrong"]:
        raise RuntimeError(f"{kind}: {found['wrong']:.0f} of {found['answered']:.0f} answers were wrong")
    found["rate"] = found["answered"] / found["seconds"]
    found["cpu_ms"] = (registry.cpu_s - cpu) * 1000 / found["answered"]
    return found


def _rates(cluster: LocalCluster, folder: Path, part: int) -> str:
    registry = _registry(cluster, folder, f"rates-{uuid.uuid4().hex[:6]}").await_ready()
    try:
        new = _load(registry, "register", 10_000, 32, "n")
        again = _load(registry, "register", 10_000, 32, "n")
        alone = _load(registry, "register", 1_000 // part, 1, "o")
        _load(registry, "lookup", 20_000 // part, 32, "-")  # every id once: answers are prepared
        lookups = _load(registry, "lookup", 200_000 // part, 32, "-")
    finally:
        registry.kill()
    head = ("", "lookups by id /s", "CPU ms each", "new schemas /s, 32 clients", "known schema again /s")
    ours = (
        "Twinlog",
        *(amount(lookups["rate"]),),
        f"{lookups['cpu_ms']:.3f}",
        amount(new["rate"]),
        amount(again["rate"]),
    )
    times = [
        (name, f"{run['p50_ms']:.1f}", f"{run['p99_ms']:.1f}", f"{run['cpu_ms']:.3f}")
        for name, run in (
            ("lookup by id, 32 clients", lookups),
            ("new schema, 32 clients", new),
            ("known schema, 32 clients", again),
            ("new schema, one client", alone),
        )
    ]
    return "\n\n".join((table(head, [ours, GOALS, *PEERS]), table(("", "p50 ms", "p99 ms", "CPU ms each"), times)))


def _starts(cluster: LocalCluster, folder: Path, part: int) -> str:
    rows = []
    for count in STARTS:
        size = count // part
        topic = f"start-{size}-{uuid.uuid4().hex[:6]}"
        _fill(cluster, topic, size)
        began = time.perf_counter()
        registry = _registry(cluster, folder, topic)
        try:
            registry.await_serving()
            took = time.perf_counter() - began
            versions: Any = registry.facts()["versions"]
            if versions != size:
                raise RuntimeError(f"{topic}: {versions} versions instead of {size}")
            rows.append((f"{size}", f"{took:.1f}", f"{registry.cpu_s:.1f}", f"{registry.rss_mib:.0f}"))
        finally:
            registry.kill()
    rows += [("100000: goal", "5", "-", "300"), ("100000: Confluent 8.1.1 (earlier)", "51", "18", "540")]
    return table(("schemas", "s until ready", "CPU s", "MiB"), rows)


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
