"""Pipelines of files, and what they wrote to a topic."""

from __future__ import annotations

from confluent_kafka import Consumer
from tests.kit.pipelines import JSON, PATIENCE_S
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster

SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector"}
SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"}
WITH_SCHEMA = {"value.converter": JSON, "value.converter.schemas.enable": "true"}


def records_of(cluster: LocalCluster, topic: str, count: int) -> list[tuple[bytes | None, bytes | None]]:
    reader = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "checker",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    reader.subscribe([topic])
    found: list[tuple[bytes | None, bytes | None]] = []

    def look() -> int:
        message = reader.poll(0.5)
        if message is not None and message.error() is None:
            found.append((message.key(), message.value()))
        return len(found)

    wait_until(look, lambda seen: seen >= count, within_s=PATIENCE_S, what=topic)
    reader.close()
    return found
