"""The proof that a fence stands: every leader refuses, and nothing is written to find that out."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.faults.brokers import controller
from tests.kit.ends import Ends
from tests.kit.waiting import wait_until

from twinlog.config.switch_settings import SwitchSettings
from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.local.cluster import LocalCluster
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import FenceNote
from twinlog.recovery.fencing import Fence
from twinlog.recovery.proof import Deadline
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.probe import REFUSED_BY_SIZE, WOULD_BE_TAKEN, probe_writes


@pytest.mark.proves("R1")
def test_a_probe_tells_an_open_topic_from_a_shut_one_and_writes_nothing(make_ends: Callable[..., Ends]) -> None:
    ends = make_ends()
    place = TopicPartition(ends.create("orders"), 0)

    async def probe() -> int:
        cluster = Cluster(ends.link.clients.source_admin, "test")
        try:
            return (await probe_writes(cluster, [place], 10))[place]
        finally:
            await cluster.close()

    assert asyncio.run(probe()) in WOULD_BE_TAKEN
    for limit in ("78", "0"):
        assert ends.source.apply_topic_configs({place.topic: {"max.message.bytes": limit}}) == {place.topic: None}
        wait_until(lambda: asyncio.run(probe()), lambda code: code == REFUSED_BY_SIZE, within_s=10, what="a refusal")
    assert ends.source.delete_topics([place.topic]) == {place.topic: None}
    wait_until(
        lambda: asyncio.run(probe()),
        lambda code: code in {codes.LEADER_NOT_AVAILABLE, codes.UNKNOWN_TOPIC_OR_PARTITION},
        within_s=10,
        what="no topic",
    )


class LateBroker(ClusterAdmin):
    """An admin of a cluster whose brokers hear of a config some seconds after they confirmed it."""

    late_s = 5.0

    def apply_topic_configs(self, changes: Mapping[str, Mapping[str, str | None]]) -> dict[str, ClusterError | None]:
        threading.Timer(self.late_s, super().apply_topic_configs, [changes]).start()
        return dict.fromkeys(changes)


@pytest.mark.proves("R1")
def test_a_slow_producer_behind_a_broker_that_hears_late_loses_nothing(make_ends: Callable[..., Ends]) -> None:
    ends = make_ends()
    topic = ends.create("orders")
    stop, attempts, taken = threading.Event(), list[int](), list[int]()

    def note(error: KafkaError | None, message: Message) -> None:
        if error is None:
            taken.append(message.offset() or 0)

    def write_slowly() -> None:
        producer = Producer({"bootstrap.servers": ends.source_cluster.bootstrap_servers, "message.timeout.ms": 5000})
        while not stop.is_set():
            producer.produce(topic, b"x" * 100, on_delivery=note)
            producer.flush(10)
            attempts.append(1)
            stop.wait(2.2)  # more than the look at the ends of the logs takes

    writer = threading.Thread(target=write_slowly)
    writer.start()
    wait_until(lambda: len(taken), lambda count: count > 0, within_s=10, what="the first record")
    back = ends.link.updated(clients={"target_admin": ends.link.clients.source_admin})
    fence = Fence.around(LateBroker(ends.link.clients.source_admin), back, SwitchSettings(), "topic-config")
    try:
        found = asyncio.run(fence.shut([topic], Deadline("A->B", "fence-source", 60), FenceNote()))
        before = len(attempts)
        wait_until(lambda: len(attempts), lambda count: count >= before + 2, within_s=30, what="two more attempts")
    finally:
        stop.set()
        writer.join()
    assert found == {TopicPartition(topic, 0): len(taken)}


@pytest.mark.chaos
@pytest.mark.proves("R1")
def test_records_that_a_leader_took_and_readers_do_not_see_yet_are_before_the_cut(
    make_cluster: Callable[..., LocalCluster], target_cluster: LocalCluster
) -> None:
    """A follower in sync stands still: what the leader acknowledged alone is behind the end that readers are told."""
    # The cluster must not give up on the follower by itself, which makes the records visible as well.
    patient = {"broker.session.timeout.ms": "90000", "replica.lag.time.max.ms": "90000"}
    source = make_cluster("replicated", brokers=3, settings=patient)
    ends = Ends(source, target_cluster)
    leads = controller(source)
    follower = next(broker for broker in source.brokers if broker is not leads)
    topic = ends.name("orders")
    order = NewTopic(topic, 1, replica_assignment=[[leads.node_id, follower.node_id]])
    admin = AdminClient({"bootstrap.servers": leads.address})
    admin.create_topics([order])[topic].result(30)
    ends.await_topic(ends.source, topic)
    producer = Producer({"bootstrap.servers": leads.address, "acks": "1"})
    producer.produce(topic, b"seen")
    assert producer.flush(10) == 0
    back = ends.link.updated(clients={"target_admin": ends.link.clients.source_admin})
    fence = Fence.around(ClusterAdmin(ends.link.clients.source_admin), back, SwitchSettings(), "topic-config")
    thaw = threading.Timer(20.0, follower.thaw)
    follower.freeze()
    try:
        for number in range(9):
            producer.produce(topic, f"hidden {number}".encode())
        assert producer.flush(10) == 0  # acknowledged, and visible to nobody
        thaw.start()
        found = asyncio.run(fence.shut([topic], Deadline("A->B", "fence-source", 60), FenceNote()))
    finally:
        thaw.cancel()
        follower.thaw()
    assert found == {TopicPartition(topic, 0): 10}
