"""Pipelines on the real Spark, beside a real cluster: one Spark for all tests of a session."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
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
    made = Pipelines(read_worker(config | worker), spark, "test:8083")
    made.prepare()
    try:
        yield made
    finally:
        made.close()


def produce(
    cluster: LocalCluster,
    topic: str,
    records: Iterable[tuple[bytes | None, bytes | None]],
    *,
    partitions: int = 1,
    headers: Sequence[tuple[str, bytes]] = (),
) -> None:
    """Write records to a topic, made if it is not there, and look at every answer.

    A flush alone says nothing: it counts a refused record as done.
    """
    client: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers}
    admin = AdminClient(client)  # kept until the answer is there: without it nobody waits for one
    try:
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
    refused: list[str] = []
    producer = Producer(client)

    def heard(error: Any, _: Any) -> None:
        if error is not None:
            refused.append(str(error))

    for key, value in records:
        producer.produce(topic, value, key=key, headers=list(headers), on_delivery=heard)
        producer.poll(0)
    assert producer.flush(60) == 0
    assert refused == [], refused


def committed(cluster: LocalCluster, topic: str) -> list[Any]:
    """All records of a topic that readers of committed records see, partition by partition."""
    reader = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "checker",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    partitions = reader.list_topics(topic, 30).topics[topic].partitions
    reader.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
    found, open_ones = [], set(partitions)
    while open_ones:
        message = reader.poll(30)
        assert message is not None, f"{topic}: no end of {open_ones}"
        error = message.error()
        if error is None:
            found.append(message)
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            open_ones.discard(message.partition())
    reader.close()
    return found


def committed_values(cluster: LocalCluster, topic: str) -> list[Any]:
    """Their values as JSON, in the order of the log."""
    return [json.loads(one.value()) for one in committed(cluster, topic)]


def until_file_holds(path: Path, text: str, *engines: Engine) -> None:
    def look() -> tuple[str | None, list[Any]]:
        return path.read_text() if path.exists() else None, [one.progress for one in engines]

    wait_until(look, lambda seen: seen[0] == text, within_s=PATIENCE_S, what=str(path))
