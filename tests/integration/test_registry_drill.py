"""A drill tries the schemas, too: the records of the copies are decoded as the promoted registry would decode them."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.kit.drills import drill
from tests.kit.ends import Ends
from tests.kit.registry import RegistryProcess, avro
from tests.kit.switches import commit_at
from tests.kit.threads import engine_running


@pytest.mark.proves("R26")
def test_a_drill_decodes_records_and_names_an_id_that_nobody_knows(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    mark = uuid.uuid4().hex[:8]
    ends = make_ends(registry_topic=f"_schemas_{mark}", registry_group_id=f"sr-{mark}")
    own = {"kafkastore.topic": f"_schemas_{mark}", "schema.registry.group.id": f"sr-{mark}"}
    registry = RegistryProcess(tmp_path, ends.source_cluster.bootstrap_servers, **own).start()
    try:
        known = registry.await_ready().register("orders-value", avro("Order", "a")).body["id"]
    finally:
        registry.stop()
    topic, group = ends.create("orders"), f"g{ends.alias}"
    ends.set(groups=group)

    def write(schema_id: int, payload: bytes) -> None:
        producer = Producer(ends.source_cluster.client_properties("writer"))
        producer.produce(topic, value=b"\0" + struct.pack(">I", schema_id) + payload)
        assert producer.flush(10) == 0

    def schemas_of(report: dict[str, Any]) -> dict[str, Any]:
        return dict(report["facts"]["schemas"])

    for _ in range(3):
        write(known, b"\x02")
    with engine_running(ends.link, tmp_path):
        commit_at(ends.source_cluster.bootstrap_servers, group, topic, 1)
        ends.await_copied()
        code, passed = drill(ends, tmp_path, "--shadow")
        assert (code, passed["verdict"], passed["failures"]) == (0, "passed", [])
        assert (schemas_of(passed)["ids"], schemas_of(passed)["decoded"]) == (1, 3)
        assert any(step["step"] == "schemas" for step in passed["steps"]), passed["steps"]

        write(known + 700, b"\x02")
        write(known, b"")
        ends.await_copied()
        code, failed = drill(ends, tmp_path, "--shadow")
    assert (code != 0, failed["verdict"]) == (True, "failed")
    assert any(f"id {known + 700} " in told and topic in told for told in failed["failures"]), failed["failures"]
    assert any(f"records with id {known} " in told for told in failed["failures"]), failed["failures"]
