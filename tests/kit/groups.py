"""Consumer groups as applications run them: they read some records, commit, and leave."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.kit.logs import Cluster, LogRecord, log_record
from tests.kit.waiting import wait_until

Protocol: TypeAlias = Literal["classic", "consumer"]

_SILENCE_S = 30.0
COORDINATOR_IS_COMING = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
    }
)


@contextmanager
def member(
    cluster: Cluster, group: str, topic: str, protocol: Protocol = "classic", *, reset: str = "error"
) -> Iterator[Consumer]:
    """One member of a group, which leaves at the end. A group without a position is an error unless `reset` says so."""
    consumer = Consumer(
        {
            **cluster.client,
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": reset,
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )
    try:
        consumer.subscribe([topic])
        yield consumer
    finally:
        consumer.close()


def read_on(
    cluster: Cluster, group: str, topic: str, count: int, protocol: Protocol = "classic", *, reset: str = "error"
) -> list[LogRecord]:
    """Read so many records of a topic (or up to the end of all its partitions), commit, leave."""
    records: list[LogRecord] = []
    ended: set[int] = set()
    with member(cluster, group, topic, protocol, reset=reset) as consumer:
        heard = time.monotonic()
        while len(records) < count and not (ended and ended == {p.partition for p in consumer.assignment()}):
            message = consumer.poll(0.2)
            assert time.monotonic() - heard < _SILENCE_S, f"{group}: silence after {len(records)} records"
            if message is None:
                continue
            heard = time.monotonic()
            error = message.error()
            if error is None:
                records.append(log_record(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition() or 0)
            else:
                raise AssertionError(f"{group}: {error}")
        if records:
            consumer.commit(asynchronous=False)
    return records


def set_positions(cluster: Cluster, group: str, positions: Mapping[tuple[str, int], int]) -> None:
    """Set a group without members to these places, as the console tool does."""
    admin = AdminClient({**cluster.client, "bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    places = [TopicPartition(*partition, offset) for partition, offset in positions.items()]

    def refusals() -> list[str]:
        # A fresh cluster still loads its coordinators; that is told per partition, not raised.
        futures = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
        answers = [future.result(30) for future in futures.values()]
        return [str(place.error) for answer in answers for place in answer.topic_partitions if place.error]

    wait_until(refusals, lambda left: not left, within_s=30, what=f"positions of {group}")


def position(cluster: Cluster, group: str, topic: str, partition: int = 0) -> int | None:
    """Where a group stands in one partition.

    By a consumer that joins nothing: the admin client of librdkafka 2.16 crashes when a coordinator has moved.
    """
    options = {**cluster.client, "bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "log_level": 0}
    consumer = Consumer(options)
    try:
        (found,) = consumer.committed([TopicPartition(topic, partition)], timeout=30)
    except KafkaException as error:
        if error.args[0].code() in COORDINATOR_IS_COMING:
            return None
        raise
    else:
        return found.offset if found.offset >= 0 else None
    finally:
        consumer.close()
