"""Iceberg and Delta tables under load while their worker, its JVM and its Python workers are killed -9.

The tables are read by hand, without the libraries that wrote them. Each number is there once.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.kit.connect_process import ConnectProcess, connect_process, worker_config
from tests.kit.jdbc_copies import NOTHING, differences, in_background
from tests.kit.killing import PATIENCE_S, faults
from tests.kit.lake import delta_config, delta_files, iceberg_config, iceberg_files, rows_in
from tests.kit.pipelines import produce
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1_500)]
TOPIC = "kills-tables"
FIELDS: list[dict[str, object]] = [
    {"field": "n", "type": "int64", "optional": False},
    {"field": "name", "type": "string", "optional": True},
]
LATE: dict[str, object] = {"field": "late", "type": "int32", "optional": True}


def record(number: int) -> bytes:
    """From the thousandth on there is a further column."""
    is_late = number >= 1000
    fields = [*FIELDS, LATE] if is_late else FIELDS
    payload = {"n": number, "name": f"name {number}"} | ({"late": number % 7} if is_late else {})
    schema = {"type": "struct", "optional": False, "fields": fields}
    return json.dumps({"schema": schema, "payload": payload}).encode()


@pytest.mark.proves("R30")
def test_rows_of_lake_tables_survive_every_kill_once(source_cluster: LocalCluster, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    sinks = {
        "to-iceberg": iceberg_config(lake / "ice", **{"iceberg__control__commit__interval-ms": "500"}),
        "to-delta": delta_config(lake / "delta", delta__commit__interval__ms="500"),
    }

    def write(number: int) -> None:
        records = [(None, record(number * 20 + n)) for n in range(20)]
        produce(source_cluster, TOPIC, records, partitions=3)

    def iceberg() -> Counter[int]:
        return Counter(row["n"] for row in rows_in(iceberg_files(lake / "ice" / "shop" / "orders")))

    def delta() -> Counter[int]:
        return Counter(row["n"] for row in rows_in(delta_files(lake / "delta" / TOPIC)))

    with ExitStack() as stack:

        def start() -> ConnectProcess:
            return stack.enter_context(connect_process(worker_config(source_cluster, "kills-tables"), tmp_path))

        produce(source_cluster, TOPIC, [], partitions=3)
        worker = start()
        for name, sink in sinks.items():
            worker.put(name, sink | {"topics": TOPIC, "tasks.max": "2"})
        with in_background(write, 0.2) as written:
            faults(worker, start, lambda: min(iceberg().total(), delta().total()), random.Random(4))
        want = Counter(range(written() * 20))
        assert want.total() > 1000
        for look in (iceberg, delta):
            wait_until(
                lambda one=look: differences(want, one()),  # type: ignore[misc]
                lambda found: found == NOTHING,
                within_s=PATIENCE_S,
                what=look.__name__,
            )
    late = [row["late"] for row in rows_in(delta_files(lake / "delta" / TOPIC)) if row["n"] >= 1000]
    assert None not in late
