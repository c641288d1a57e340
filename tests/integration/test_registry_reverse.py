"""The way back from a promoted datacenter: its new schemas are at the old home before the records that need them."""

from __future__ import annotations

import asyncio
import struct
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.registry import RegistryProcess, avro
from tests.kit.registry_topic import unresolved_ids
from tests.kit.switches import IDENTITY, BothWays, both_running, do_switch
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.registry.pair.ahead import Ahead, Bringing

SETTINGS = {
    "replication_policy_class": IDENTITY,
    "switch_grace_seconds": "0",
    "switch_reverse": "start",
    "registry_id_gap": "1000",
}
NEW = 5


@pytest.fixture
def start_registry(tmp_path: Path) -> Iterator[Callable[[LocalCluster, str], RegistryProcess]]:
    with ExitStack() as stack:

        def start(cluster: LocalCluster, mark: str) -> RegistryProcess:
            own = {"kafkastore.topic": f"_schemas_{mark}", "schema.registry.group.id": f"sr-{mark}"}
            made = RegistryProcess(tmp_path, cluster.bootstrap_servers, **own)
            stack.callback(made.kill)
            return made.start()

        yield start


def await_role(registry: RegistryProcess, role: str) -> None:
    registry.await_ready(leader=False)
    wait_until(lambda: registry.facts()["role"], lambda seen: seen == role, within_s=60, what=role)


def write(cluster: LocalCluster, topic: str, schema_id: int) -> None:
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0})
    value = b"\0" + struct.pack(">I", schema_id) + b"x"
    producer.produce(topic, value=value, on_delivery=lambda error, _: refused.append(error))
    producer.flush(30)
    assert refused == [None]


@pytest.mark.timeout(240)
@pytest.mark.proves("R26", "R27")
@pytest.mark.parametrize("gate_ms", ["300000", pytest.param("0", marks=pytest.mark.chaos)])
def test_ids_of_a_promoted_datacenter_resolve_at_the_old_home_before_its_records_are_back(
    source_cluster: LocalCluster,
    target_cluster: LocalCluster,
    start_registry: Callable[[LocalCluster, str], RegistryProcess],
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    gate_ms: str,
) -> None:
    mark = uuid.uuid4().hex[:8]
    own = {"registry_topic": f"_schemas_{mark}", "registry_group_id": f"sr-{mark}", "registry_gate_ms": gate_ms}
    ends = BothWays(source_cluster, target_cluster, **SETTINGS, **own)
    topic = ends.create("orders")
    home = start_registry(source_cluster, mark).await_ready()
    first = home.register("first", avro("First", "a")).body["id"]
    write(source_cluster, topic, first)
    step, free = Bringing.step, threading.Event()
    free.set()

    async def step_when_free(self: Bringing) -> Ahead | None:
        await asyncio.to_thread(free.wait)
        return await step(self)

    monkeypatch.setattr(Bringing, "step", step_when_free)
    with both_running(ends, tmp_path):
        away = start_registry(target_cluster, mark)
        await_role(away, "copy")
        ends.await_copied()
        assert do_switch(ends, tmp_path, "failover-planned").steps[-1]["step"] == "reverse"
        await_role(away, "leader")
        free.clear()  # schemas are slow from now on
        made = [away.register(f"new{number}", avro(f"New{number}", "a")).body["id"] for number in range(NEW)]
        for number in made:
            write(target_cluster, topic, number)
        if gate_ms != "0":
            threading.Timer(4.0, free.set).start()
        seen, unresolved = unresolved_ids(source_cluster, topic, f"_schemas_{mark}", 1 + NEW)
        free.set()
        assert seen == 1 + NEW
        assert unresolved == (0 if gate_ms != "0" else NEW)  # without the gate the same story goes wrong
        if gate_ms == "0":
            return
        await_role(home, "copy")
        for number, schema_id in enumerate(made):
            assert home.ask("GET", f"/schemas/ids/{schema_id}/schema").body["name"] == f"New{number}"
        refused = home.register("other", avro("Other", "a"))
        assert (refused.status, refused.body["error_code"]) == (422, 42205)
        away.ask("DELETE", "/subjects/new0")
        away.ask("DELETE", "/subjects/new0?permanent=true")

        report = do_switch(ends, tmp_path, "failback-delta")
        (told,) = [one for one in report.steps if one["step"] == "registry-home"]
        assert "0 conflicts" in told["says"]
        wait_until(lambda: home.facts()["term"], lambda term: term == 2, within_s=30, what="the home leads again")
        assert home.ask("GET", "/subjects").body == ["first", *(f"new{number}" for number in range(1, NEW))]
        assert home.register("later", avro("Later", "a")).body["id"] > max(made)
