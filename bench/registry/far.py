"""New schemas through a follower whose line to Kafka and to the leader takes 40 ms there and back."""

from __future__ import annotations

import time
import uuid
from contextlib import ExitStack
from pathlib import Path

from bench.goals import Goal
from bench.options import Options
from bench.registry.asking import Figures, each, load, median, started
from bench.report import amount, table
from bench.wan.line import LineKind, laid
from tests.kit.registry import RegistryProcess, free_port

from twinlog.local.cluster import LocalCluster

FAR_MS = 40
CLIENTS = (32, 128)
SCHEMAS = 5_000
LEAST = 500


def answer(options: Options, folder: Path) -> tuple[list[Goal], str]:
    """Goals, and the tables."""
    size = SCHEMAS // (10 if options.quick else 1)
    kafka_port, leader_port = free_port(), free_port()
    runs: dict[int, list[Figures]] = {clients: [] for clients in CLIENTS}
    with LocalCluster("far", folder / "far", advertised_ports={1: kafka_port}) as cluster, ExitStack() as stack:
        topic = f"far-{uuid.uuid4().hex[:6]}"
        leader = started(cluster, folder, topic, cluster.internal_servers, **{"host.port": str(leader_port)})
        stack.callback(leader.kill)
        kind = LineKind(FAR_MS, 0)
        stack.enter_context(laid(kind, cluster.brokers[0].port, kafka_port))
        stack.enter_context(laid(kind, leader.port, leader_port))
        _await_leader(leader)
        follower = started(cluster, folder, topic, **{"leader.eligibility": "false"})
        stack.callback(follower.kill)
        follower.await_ready()
        for number in range(options.rounds):
            for clients in CLIENTS:
                cpu = leader.cpu_s
                run = load(follower, "register", size, clients, f"f{number}-{clients}")
                run["leader_ms"] = (leader.cpu_s - cpu) * 1000 / run["answered"]
                runs[clients].append(run)
    head = (f"new schemas through a follower {FAR_MS} ms away", "/s", "p50 ms", "p99 ms", "CPU ms", "leader's CPU ms")
    rows = [
        (
            f"{clients} clients",
            amount(median(found, "rate")),
            *(f"{median(found, name):.0f}" for name in ("p50_ms", "p99_ms")),
            *(f"{median(found, name):.2f}" for name in ("cpu_ms", "leader_ms")),
        )
        for clients, found in runs.items()
    ]
    rows.append(("Confluent, one write at a time (by reading its code)", "25", "-", "-", "-", "-"))
    rounds = [(f"{clients} clients", each(found, "rate", amount)) for clients, found in runs.items()]
    goals = [
        Goal(
            f"new schemas /s through a far follower, {clients} clients",
            f"at least {LEAST}",
            amount(rate),
            rate >= LEAST,
        )
        for clients, rate in ((clients, median(found, "rate")) for clients, found in runs.items())
    ]
    return goals, f"{table(head, rows)}\n\n{table(('every round', '/s'), rounds)}"


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
