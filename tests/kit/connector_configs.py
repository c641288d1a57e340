"""Configs of connectors that log in, and how they are sent to a service."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
SECRET = "9Kafka-Pr0d!x"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='{}';"


def mirror(**more: str) -> dict[str, str]:
    return {
        "name": "c",
        "connector.class": SOURCE,
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:9092",
        "target.cluster.bootstrap.servers": "b:9092",
        **more,
    }


def login(**more: str) -> dict[str, str]:
    return {
        "source.cluster.security.protocol": "SASL_SSL",
        "source.cluster.sasl.mechanism": "PLAIN",
        "source.cluster.sasl.jaas.config": PLAIN.format(SECRET),
        **more,
    }


def put(client: TestClient, config: dict[str, str], **headers: Any) -> Any:
    return client.put("/connectors/c/config", json={**config, "name": "c"}, **headers)
