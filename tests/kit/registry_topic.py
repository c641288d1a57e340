"""What lies in the topic of a registry."""

from __future__ import annotations

import struct
import uuid

from confluent_kafka import Consumer, TopicPartition

from twinlog.local.cluster import LocalCluster


def records_of(cluster: LocalCluster, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Everything that lies in the topic."""
    options = {**cluster.client_properties("reader"), "group.id": "none", "enable.auto.commit": False}
    consumer = Consumer(options)
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while consumer.position([TopicPartition(topic, 0)])[0].offset < end:
        message = consumer.poll(5)
        if message is None:
            break
        if message.error() is None:
            found.append((message.key(), message.value()))
    consumer.close()
    return found


def unresolved_ids(cluster: LocalCluster, topic: str, schemas: str, records: int) -> tuple[int, int]:
    """Read a topic as it grows; count records, and those whose schema the topic of schemas did not have yet."""
    options = {**cluster.client_properties("reader"), "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}
    consumer = Consumer(options)
    consumer.assign([TopicPartition(topic, 0, 0)])
    seen = unresolved = 0
    while seen < records:
        message = consumer.poll(30)
        assert message is not None, f"{seen} of {records}"
        if message.error():
            continue
        seen += 1
        wanted = struct.unpack(">I", (message.value() or b"")[1:5])[0]
        _, end = consumer.get_watermark_offsets(TopicPartition(schemas, 0), timeout=10)
        if not _holds(cluster, schemas, end, wanted):
            unresolved += 1
    consumer.close()
    return seen, unresolved


def _holds(cluster: LocalCluster, schemas: str, end: int, wanted: int) -> bool:
    consumer = Consumer({**cluster.client_properties("reader"), "group.id": uuid.uuid4().hex})
    consumer.assign([TopicPartition(schemas, 0, 0)])
    needle = f'"id":{wanted},'.encode()
    try:
        while consumer.position([TopicPartition(schemas, 0)])[0].offset < end:
            message = consumer.poll(5)
            if message is None:
                return False
            if message.error() is None and needle in (message.value() or b""):
                return True
        return False
    finally:
        consumer.close()
