"""Records of many megabytes, in several partitions at once, through an engine with the memory it always has."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run

from twinlog.local.cluster import LocalCluster

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

_MB = 1 << 20
_SIZE = 95 * _MB
_PARTITIONS, _EACH = 4, 3
_ROOM = {
    "message.max.bytes": str(100 * _MB),
    "replica.fetch.max.bytes": str(100 * _MB),
    "socket.request.max.bytes": str(250 * _MB),
}


def _write(servers: str, topic: str) -> dict[int, list[str]]:
    """Random bytes, which no compression makes small; returns their hashes by partition."""
    producer = Producer(
        {"bootstrap.servers": servers, "message.max.bytes": 100 * _MB, "queue.buffering.max.kbytes": 2**20}
    )
    written: dict[int, list[str]] = {}
    for _ in range(_EACH):
        for partition in range(_PARTITIONS):
            value = os.urandom(_SIZE)
            written.setdefault(partition, []).append(hashlib.sha256(value).hexdigest())
            producer.produce(topic, value, partition=partition)
            assert producer.flush(60) == 0
    return written


def _read(servers: str, topic: str) -> dict[int, list[str]]:
    limits = {"fetch.message.max.bytes": 100 * _MB, "receive.message.max.bytes": 250 * _MB}
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "large", "auto.offset.reset": "earliest", **limits})
    found: dict[int, list[str]] = {}
    try:
        for partition in range(_PARTITIONS):
            consumer.assign([Place(topic, partition, 0)])
            for _ in range(_EACH):
                message = consumer.poll(60)
                assert message is not None, f"{topic}-{partition}: nothing came"
                assert message.error() is None
                found.setdefault(partition, []).append(hashlib.sha256(message.value() or b"").hexdigest())
    finally:
        consumer.close()
    return found


@pytest.mark.proves("R1", "R8", "R11")
def test_records_of_a_hundred_megabytes_do_not_end_the_engine(
    make_cluster: Callable[..., LocalCluster], tmp_path: Path
) -> None:
    source, target = (make_cluster(name, settings=_ROOM, java_options=["-Xmx1g"]) for name in ("here", "there"))
    ends = Ends(source, target, tasks_max="4")
    large = ends.create("large", _PARTITIONS, **{"max.message.bytes": str(100 * _MB)})
    beside = ends.create("beside", 2)
    written = _write(source.bootstrap_servers, large)
    ends.load(beside, 2).produce(200)
    with twinlog_run(ends, tmp_path) as engine:
        pid = engine.jvm()
        ends.await_copied(large, beside, within_s=240)
        assert engine.jvm() == pid, "Spark's JVM ended on the way"
    assert _read(target.bootstrap_servers, ends.remote(large)) == written
    ends.check(beside)
