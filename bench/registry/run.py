"""Asks how fast the schema registry answers, writes and starts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from bench.options import Options
from bench.registry import apicurio
from bench.report import amount, table
from bench.wan.line import LineKind, laid
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kit.registry import RegistryProcess, free_port

from twinlog.local.cluster import LocalCluster
from twinlog.registry.content import Content
from twinlog.registry.records import SchemaValue, schema_record

STARTS = (1_000, 10_000, 100_000)
SCHEMAS = 10_000
PEERS = (("Confluent 8.1.1 (earlier, another run)", "6.0-7.8 k", "0.14", "75-118", "1.0-3.0 k", "283"),)
GOALS = ("goal", "10 k", "0.05", "1.0 k", "5.0 k", "-")
FAR_MS = 40


class Asked(Protocol):
    """A registry as a process, of whatever make."""

    port: int

    @property
    def cpu_s(self) -> float: ...

    @property
    def rss_mib(self) -> float: ...


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    part = 10 if options.quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with LocalCluster("bench", folder / "kafka") as cluster:
            parts = [_rates(cluster, folder, part), _starts(cluster, folder, part)]
        parts.append(_far(folder, part))
        return "\n\n".join(parts)


def _registry(cluster: LocalCluster, folder: Path, topic: str, **settings: str) -> RegistryProcess:
    own = {"kafkastore.topic": topic, "schema.registry.group.id": f"sr-{topic}", **settings}
    return RegistryProcess(folder, settings.pop("servers", cluster.bootstrap_servers), **own).start()


def _load(registry: Asked, kind: str, count: int, clients: int, mark: str, *, base: str = "") -> dict[str, float]:
    cpu = registry.cpu_s
    asked = (kind, str(registry.port), str(count), str(clients), mark, base)
    out = subprocess.run(
        [sys.executable, "-m", "bench.registry.load", *asked], check=True, capture_output=True, text=True
    ).stdout
    found: dict[str, float] = json.loads(out)
    if found["wrong"]:
        raise RuntimeError(f"{kind}: {found['wrong']:.0f} of {found['answered']:.0f} answers were wrong")
    found["rate"] = found["answered"] / found["seconds"]
    found["cpu_ms"] = (registry.cpu_s - cpu) * 1000 / found["answered"]
    return found


def _measured(registry: Asked, part: int, base: str = "") -> dict[str, dict[str, float]]:
    """New, known and looked up, in this order."""
    new = _load(registry, "register", SCHEMAS // part, 32, "n", base=base)
    again = _load(registry, "register", SCHEMAS // part, 32, "n", base=base)
    alone = _load(registry, "register", 1_000 // part, 1, "o", base=base)
    ids = f"{new['lowest']:.0f}-{new['highest']:.0f}"
    _load(registry, "lookup", 20_000 // part, 32, ids, base=base)  # once, so that answers are prepared
    lookups = _load(registry, "lookup", 200_000 // part, 32, ids, base=base)
    return {"lookups": lookups, "new": new, "again": again, "alone": alone}


def _row(name: str, runs: dict[str, dict[str, float]], rss_mib: float) -> tuple[str, ...]:
    lookups = runs["lookups"]
    rates = (amount(runs["new"]["rate"]), amount(runs["again"]["rate"]))
    return (name, amount(lookups["rate"]), f"{lookups['cpu_ms']:.3f}", *rates, f"{rss_mib:.0f}")


def _rates(cluster: LocalCluster, folder: Path, part: int) -> str:
    registry = _registry(cluster, folder, f"rates-{uuid.uuid4().hex[:6]}").await_ready()
    try:
        ours = _measured(registry, part)
        rows = [_row("Twinlog, Kafka with one broker", ours, registry.rss_mib)]
    finally:
        registry.kill()
    rows.append(_apicurio(folder, part))
    head = ("", "lookups by id /s", "CPU ms each", "new schemas /s, 32 clients", "known schema again /s", "MiB")
    names = {"lookups": "lookup by id, 32 clients", "new": "new schema, 32 clients"}
    names |= {"again": "known schema, 32 clients", "alone": "new schema, one client"}
    times = [
        (said, f"{ours[name]['p50_ms']:.1f}", f"{ours[name]['p99_ms']:.1f}", f"{ours[name]['cpu_ms']:.3f}")
        for name, said in names.items()
    ]
    return "\n\n".join((table(head, [*rows, GOALS, *PEERS]), table(("", "p50 ms", "p99 ms", "CPU ms each"), times)))


def _apicurio(folder: Path, part: int) -> tuple[str, ...]:
    with apicurio.running(folder) as peer:
        if peer is None:
            return (f"Apicurio {apicurio.VERSION}", *("not measured: no Maven",) * 5)
        until = time.monotonic() + (0 if part > 1 else apicurio.WARM_S)
        warm = 0
        while time.monotonic() < until:
            warm += 1
            made = _load(peer, "register", 500, 8, f"w{warm}", base=peer.base)
            _load(peer, "lookup", 5_000, 32, f"{made['lowest']:.0f}-{made['highest']:.0f}", base=peer.base)
        runs = _measured(peer, part, peer.base)
        return _row(f"Apicurio {apicurio.VERSION}, H2 in memory, no Kafka", runs, peer.rss_mib)


def _far(folder: Path, part: int) -> str:
    """Registering through a follower whose line to Kafka and to the leader takes 40 ms there and back."""
    kafka_port, leader_port = free_port(), free_port()
    with LocalCluster("far", folder / "far", advertised_ports={1: kafka_port}) as cluster, ExitStack() as stack:
        topic = f"far-{uuid.uuid4().hex[:6]}"
        leader = _registry(cluster, folder, topic, servers=cluster.internal_servers, **{"host.port": str(leader_port)})
        stack.callback(leader.kill)
        kind = LineKind(FAR_MS, 0)
        stack.enter_context(laid(kind, cluster.brokers[0].port, kafka_port))
        stack.enter_context(laid(kind, leader.port, leader_port))
        _await_leader(leader)
        follower = _registry(cluster, folder, topic, **{"leader.eligibility": "false"})
        stack.callback(follower.kill)
        follower.await_ready()
        run = _load(follower, "register", 5_000 // part, 32, "f")
        more = _load(follower, "register", 5_000 // part, 128, "g")
    rows = [
        (f"{clients} clients", amount(one["rate"]), f"{one['p50_ms']:.0f}", f"{one['p99_ms']:.0f}")
        for clients, one in ((32, run), (128, more))
    ]
    head = (f"new schemas through a follower {FAR_MS} ms away", "/s", "p50 ms", "p99 ms")
    return table(
        head, [*rows, ("goal", "500", "-", "-"), ("Confluent, one write at a time (by reading)", "25", "-", "-")]
    )


def _await_leader(leader: RegistryProcess) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if leader.leads:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise RuntimeError("nobody leads")


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
