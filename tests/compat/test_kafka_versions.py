"""Links between Kafka versions: real brokers of each, and what an older one cannot do is said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import OLDER_KAFKA
from tests.kit.ends import Ends
from tests.kit.switches import log_numbers, produce
from tests.kit.threads import ThreadedEngine, ThreadedQuery, engine_running
from tests.kit.waiting import wait_until

from twinlog.doctor.checks import reach
from twinlog.doctor.facts import EndFacts, Facts
from twinlog.kafka.admin import TopicOrder
from twinlog.local.cluster import LocalCluster
from twinlog.model.names import TopicPartition
from twinlog.service import forget_topic
from twinlog.wire.connection import Cluster
from twinlog.wire.inspection import fetch_versions

MakeCluster = Callable[..., LocalCluster]


def copy_with_take_overs(ends: Ends, folder: Path) -> None:
    """Records under load and a task that runs beside itself, so that shards are taken over under load."""
    name = ends.create("orders", 2)
    load = ends.load(name, 2, seed=3)
    load.produce(500)
    with engine_running(ends.link, folder) as engine:
        ends.await_copied(name)
        with load.in_background(rate=200):
            for _ in range(2):
                run_beside_itself(engine)
        ends.await_copied(name)
    assert ends.check(name).source_records == load.count


def run_beside_itself(engine: ThreadedEngine) -> None:
    failed = engine.engine.epochs_failed
    twin = ThreadedQuery(engine.queries[-1].run)
    wait_until(
        lambda: (twin.isActive, engine.engine.epochs_failed),
        lambda seen: not seen[0] or seen[1] > failed,
        within_s=60,
        what="one of the two to be shut out",
    )
    twin.give_up()


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R7", "R8")
def test_a_batch_that_reaches_a_copy_made_anew_on_kafka_3_is_a_fault_of_its_partition_alone(
    source_cluster: LocalCluster, make_cluster: MakeCluster, tmp_path: Path
) -> None:
    # No look at the topics and no second attempt within the test: the batch itself must tell.
    slow = {"refresh_topics_interval_seconds": "600", "fault_retry_seconds": "600"}
    ends = Ends(source_cluster, make_cluster("older", kafka=OLDER_KAFKA), **slow)
    name, other = ends.create("orders"), ends.create("payments")
    load, beside = ends.load(name), ends.load(other)
    load.produce(300)
    beside.produce(300)
    with engine_running(ends.link, tmp_path) as engine:
        ends.await_copied(name, other)
        ends.check(name, other)
        # Kafka 3 takes batches by the name of the topic, so the next one lands in the new copy: at offset 0.
        ends.delete(ends.target, ends.remote(name))
        assert ends.target.create_topics([TopicOrder(ends.remote(name), 1, 1, {})]) == {ends.remote(name): None}
        load.produce(100)
        part = ends.await_fault("TARGET_LOG_SHRUNK", name)
        assert part.fault is not None
        assert (part.fault.facts["expected"], part.fault.facts["found"], part.source_next) == (300, 0, 300)
        landed = TopicPartition(ends.remote(name), 0)
        assert ends.target.fetch_end_offsets([landed]) == {landed: 100}
        beside.produce(100)
        status = ends.await_copied(other)
        assert [p.partition.topic for p in status.partitions if p.fault is not None] == [name]
        assert (engine.engine.epochs_failed, len(engine.queries), engine.failure) == (0, 1, None)
    # What the fault asks for.
    ends.delete(ends.target, ends.remote(name))
    asyncio.run(forget_topic(ends.link, name))
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name, other)
    assert ends.check(name, other).target_records == 800


LONG = pytest.mark.chaos


@LONG
@pytest.mark.proves("R1", "R2", "R10")
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({"kafka": OLDER_KAFKA}, {}),
        ({}, {"kafka": OLDER_KAFKA}),
        ({}, {"features": {"transaction.version": 1}}),
        ({"kafka": "3.1.2"}, {"kafka": "3.1.2"}),
        ({"kafka": "3.0.2"}, {}),
        ({}, {"kafka": "3.0.2"}),
    ],
    ids=lambda wishes: "-".join(f"{value}" for value in wishes.values()) or "newest",
)
def test_records_arrive_once_between_versions(
    make_cluster: MakeCluster, tmp_path: Path, source: dict[str, Any], target: dict[str, Any]
) -> None:
    ends = Ends(make_cluster("here", **source), make_cluster("there", **target))
    copy_with_take_overs(ends, tmp_path)


@LONG
@pytest.mark.proves("R1", "R2", "R3")
def test_a_source_of_kafka_2_8_is_copied(
    make_cluster: MakeCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    """In KRaft mode it has neither transactions nor idempotent producers: the load is a plain one."""
    ends = Ends(make_cluster("oldest", kafka="2.8.2"), target_cluster)
    topic = ends.create("orders")
    assert produce(ends.source_cluster.bootstrap_servers, topic, range(500)) == []
    with engine_running(ends.link, tmp_path):
        ends.await_copied(topic)
        assert produce(ends.source_cluster.bootstrap_servers, topic, range(500, 700)) == []
        ends.await_copied(topic)
    assert log_numbers(ends.target_cluster.bootstrap_servers, ends.remote(topic)) == list(range(700))


@LONG
def test_the_doctor_says_what_a_broker_of_kafka_2_8_lacks(make_cluster: MakeCluster) -> None:
    cluster = make_cluster("oldest", kafka="2.8.2")
    ends = Ends(cluster, cluster)

    async def ask() -> dict[int, int]:
        wire = Cluster(ends.link.clients.source_consumer, "test")
        try:
            return await fetch_versions(wire)
        finally:
            await wire.close()

    end = EndFacts("oldest", versions=asyncio.run(ask()))
    facts = Facts(ends.link, end, end, 0)
    (check,) = [check for check in reach.CHECKS if check.name == "source-version"]
    answer = check.look(facts)
    assert (answer.verdict, "2.8" in answer.seen, "groups" in answer.seen) == ("fail", True, True)
