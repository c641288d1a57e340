"""What lies in the topic of a registry."""

from __future__ import annotations

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
