"""`twinlog registry promote` and `repair` as an operator runs them, on real brokers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.engine import twinlog
from tests.kit.registry import RegistryProcess, avro
from tests.kit.switches import IDENTITY, service_running
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


@pytest.mark.proves("R25", "R27")
def test_a_copy_is_promoted_by_the_command(make_ends: Callable[..., Ends], tmp_path: Path, stack: ExitStack) -> None:
    mark = uuid.uuid4().hex[:8]
    own = {"registry_topic": f"_schemas_{mark}", "registry_group_id": f"sr-{mark}", "registry_id_gap": "1000"}
    ends = make_ends(replication_policy_class=IDENTITY, **own)
    ends.create("orders")
    same = {"kafkastore.topic": own["registry_topic"], "schema.registry.group.id": own["registry_group_id"]}
    home, away = (
        RegistryProcess(tmp_path, cluster.bootstrap_servers, **same)
        for cluster in (ends.source_cluster, ends.target_cluster)
    )
    for one in (home, away):
        stack.callback(one.kill)
    known = home.start().await_ready().register("orders-value", avro("Order", "a")).body["id"]
    file = str(ends.write_file(tmp_path))
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        away.start().await_ready(leader=False)
        wait_until(lambda: away.facts()["versions"], lambda count: count == 1, within_s=60, what="the schema")
        # The link says whose schemas these are some seconds after it began to copy them.
        wait_until(lambda: away.facts()["role"], lambda role: role == "copy", within_s=30, what="a copy")
        would = twinlog("registry", "promote", ends.link.name, "-c", file, "--dry-run")
        assert (would.returncode, "would be promoted" in would.stdout) == (0, True), would.stderr
        assert away.facts()["role"] == "copy"
    done = twinlog("registry", "promote", ends.link.name, "-c", file)
    assert (done.returncode, "the registry is promoted" in done.stdout) == (0, True), done.stderr
    wait_until(lambda: away.facts()["role"], lambda role: role == "leader", within_s=60, what="a leader away")
    assert away.register("new-value", avro("New", "a")).body["id"] > known + 900
    again = twinlog("registry", "promote", ends.link.name, "-c", file)
    assert again.returncode == 0, again.stderr
    assert away.facts()["term"] == 1  # it was the home already


def test_old_keys_of_a_topic_are_repaired(target_cluster: LocalCluster, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex[:8]
    own = {"kafkastore.topic": f"_schemas_{mark}", "schema.registry.group.id": f"sr-{mark}"}
    registry = RegistryProcess(tmp_path, target_cluster.bootstrap_servers, **own).start().await_ready()
    registry.register("new", avro("New", "a"))
    registry.stop()
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": target_cluster.bootstrap_servers})
    value = json.dumps({"subject": "old", "version": 1, "id": 90, "schema": '"int"', "deleted": False})
    for key in (
        '{"subject":"old","version":1,"magic":1,"keytype":"SCHEMA"}',
        '{"keytype":"SCHEMA","subject":"old","version":1,"magic":1}',
    ):
        producer.produce(own["kafkastore.topic"], value, key, on_delivery=lambda error, _: refused.append(error))
    assert (producer.flush(30), refused) == (0, [None, None])
    looked = twinlog("registry", "repair", "-c", str(registry.file), "--dry-run")
    assert "records repair it" in looked.stdout, looked.stdout + looked.stderr
    assert "0 records written" in looked.stdout
    repaired = twinlog("registry", "repair", "-c", str(registry.file))
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    assert "0 defects" in twinlog("registry", "repair", "-c", str(registry.file)).stdout
    registry.start().await_ready()
    assert registry.ask("GET", "/schemas/ids/90").body["schema"] == '"int"'
    registry.kill()
