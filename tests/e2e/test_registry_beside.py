"""A registry beside the links, as an operator has it: one file, `twinlog run --listen`, the page, and the commands."""

from __future__ import annotations

import io
import json
import struct
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import Producer
from tests.kit.connect_worker import ask, free_port
from tests.kit.ends import Ends
from tests.kit.engine import twinlog, twinlog_run
from tests.kit.switches import IDENTITY
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.chaos

ORDER: dict[str, Any] = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}


def _page(base: str) -> str:
    with urllib.request.urlopen(f"{base}/ui/schemas", timeout=20) as answer:  # noqa: S310
        return str(answer.read().decode())


def _write(bootstrap: str, topic: str, number: int, order: str) -> None:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER, _force=True), {"id": order})
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(
        topic,
        b"\0" + struct.pack(">I", number) + out.getvalue(),
        on_delivery=lambda error, _: refused.append(error) if error else None,
    )
    assert (producer.flush(30), refused) == (0, [])


@pytest.mark.timeout(300)
@pytest.mark.proves("R20", "R25", "R26")
def test_one_file_runs_links_and_a_registry(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    mark = uuid.uuid4().hex[:8]
    own = {"registry_topic": f"_schemas_{mark}", "registry_group_id": f"sr-{mark}", "registry_id_gap": "1000"}
    ends = make_ends(replication_policy_class=IDENTITY, **own)
    topic, port = ends.create("orders"), free_port()
    file, registry = tmp_path / "links.properties", f"http://127.0.0.1:{port}"
    beside = {
        "registry.listeners": registry,
        "registry.cluster": ends.alias,
        "registry.topic": own["registry_topic"],
        "registry.group.id": own["registry_group_id"],
        "registry.server.host.name": "127.0.0.1",
        "registry.server.kafkastore.topic.replication.factor": "1",
    }
    file.write_text(ends.properties + "".join(f"{key} = {value}\n" for key, value in beside.items()), "latin-1")
    listen = f"127.0.0.1:{free_port()}"
    with twinlog_run(ends, tmp_path, "--listen", listen, settings=file):

        def register() -> Any:
            return ask(registry, "POST", f"/subjects/{topic}-value/versions", {"schema": json.dumps(ORDER)}).body

        made = wait_until(register, lambda body: "id" in body, within_s=60, what="a registered schema")
        _write(ends.source_cluster.bootstrap_servers, topic, made["id"], "first")
        ends.await_copied(topic)
        page = wait_until(
            lambda: _page(f"http://{listen}"),
            lambda text: f"copy of {ends.alias}" in text and "the same" in text,
            within_s=60,
            what="both datacenters on the page",
        )
        assert registry in page
        verified = twinlog("verify", ends.link.name, "-c", str(file), "-o", "json", scratch=tmp_path)
        found = json.loads(verified.stdout)
        assert (found["equal"], found["schemas"]["decoded"], found["schemas"]["problems"]) == (True, 1, []), found
        # Bytes that are not what the schema says, and an id that nobody gave.
        producer = Producer({"bootstrap.servers": ends.source_cluster.bootstrap_servers})
        producer.produce(topic, b"\0" + struct.pack(">I", made["id"]) + b"\xff")
        producer.produce(topic, b"\0" + struct.pack(">I", 777) + b"x")
        assert producer.flush(30) == 0
        ends.await_copied(topic)
        doctor = json.loads(twinlog("doctor", ends.link.name, "-c", str(file), "-o", "json").stdout)
        (check,) = [one for one in doctor["checks"] if one["name"] == "schemas-readable"]
        assert check["verdict"] == "fail"
        assert "id 777" in check["seen"]
