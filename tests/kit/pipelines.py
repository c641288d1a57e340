"""Pipelines on the real Spark, beside a real cluster: one Spark for all tests of a session."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.engine import Engine
from twinlog.pipelines.worker import Pipelines
from twinlog.pipelines.worker_settings import read_worker
from twinlog.spark.session import Session

JSON = "org.apache.kafka.connect.json.JsonConverter"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
PATIENCE_S = 180.0


@contextmanager
def pipelines(spark: Session, cluster: LocalCluster, folder: Path, **worker: str) -> Iterator[Pipelines]:
    """A worker of one test's own group and topics."""
    group = f"workers-{uuid.uuid4().hex[:8]}"
    config = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": group,
        "config.storage.topic": f"{group}-configs",
        "offset.storage.topic": f"{group}-offsets",
        "status.storage.topic": f"{group}-status",
        "offset.storage.partitions": "2",
        "status.storage.partitions": "1",
        "key.converter": TEXT,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    made = Pipelines(read_worker(config | worker), spark, folder, "test:8083")
    made.prepare()
    try:
        yield made
    finally:
        made.close()


def until_file_holds(path: Path, text: str, *engines: Engine) -> None:
    def look() -> tuple[str | None, list[Any]]:
        return path.read_text() if path.exists() else None, [one.progress for one in engines]

    wait_until(look, lambda seen: seen[0] == text, within_s=PATIENCE_S, what=str(path))
