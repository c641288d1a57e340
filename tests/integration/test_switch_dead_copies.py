"""An unplanned failover while some copies are lost too: it ends, it is quick, and it names them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata
from tests.kit.ends import Ends
from tests.kit.switches import QUICK_SWITCH, as_if_killed, commit_at, do_switch, numbers_of, produce, service_running
from tests.kit.waiting import wait_until

from twinlog.local.cluster import LocalCluster
from twinlog.model.ledger.records import shard_of, transactional_id
from twinlog.model.names import TopicPartition
from twinlog.recovery import forced_stop
from twinlog.recovery.report import Report
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence

SETTINGS = QUICK_SWITCH
WITHIN_S = 60.0


def copied_and_killed(ends: Ends, folder: Path, topics: list[str], group: str) -> None:
    """A link that copied all of it and whose engine was killed; a group stands in the middle of each topic."""
    for topic in topics:
        produce(ends.source_cluster.bootstrap_servers, topic, range(100))
        commit_at(ends.source_cluster.bootstrap_servers, group, topic, 40)
    with service_running(ends, folder) as engine:
        engine.await_running()
        ends.await_copied(*topics)
        view = engine.engine.view
        assert view is not None
        wait_until(
            lambda: view.notes["groups"].counts.get("positions", 0) if "groups" in view.notes else -1,
            lambda positions: positions >= len(topics),
            within_s=30,
            what="the positions of the group",
        )
    as_if_killed(ends)


def partitions_of(admin: AdminClient, topic: str) -> list[PartitionMetadata]:
    """What a broker says of them; nothing while none answers, such as the one that was just killed."""
    try:
        return list(admin.list_topics(topic, 10).topics[topic].partitions.values())
    except KafkaException:
        return []


def named(report: Report, topic: str) -> list[str]:
    """What the report says of a topic."""
    return [finding for step in report.steps for finding in step["findings"] if topic in finding]


@pytest.mark.proves("R8", "R10")
def test_a_deleted_copy_does_not_hold_a_failover_up(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends(**SETTINGS)
    there, group = ends.target_cluster.bootstrap_servers, f"g{ends.alias}"
    fine, gone = ends.create("fine"), ends.create("gone")
    copied_and_killed(ends, tmp_path, [fine, gone], group)
    ends.delete(ends.target, gone)

    began = time.monotonic()
    report = do_switch(ends, tmp_path, "failover-unplanned")
    assert time.monotonic() - began < WITHIN_S
    assert (report.outcome, report.active) == ("done", "T")
    assert any("does not exist" in says for says in named(report, gone))
    assert not named(report, fine)
    assert numbers_of(there, group, fine) == list(range(40, 100))


def without_a_leader(ends: Ends, folder: Path, group: str) -> tuple[str, str]:
    """Two topics that were copied to a target of two brokers. The broker that alone holds the second one is dead."""
    target = ends.target_cluster
    fine, stuck = ends.create("fine"), ends.create("stuck")
    doomed = next(broker for broker in target.brokers if broker.node_id == 2)
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    admin.create_topics([NewTopic(stuck, 1, replica_assignment=[[doomed.node_id]])])[stuck].result(30)
    admin.create_topics([NewTopic(fine, 1, replica_assignment=[[1, 2]])])[fine].result(30)
    copied_and_killed(ends, folder, [fine, stuck], group)
    doomed.kill()
    wait_until(
        lambda: [p.leader for p in partitions_of(admin, stuck)],
        lambda leaders: leaders == [-1],
        within_s=30,
        what="a partition without a leader",
    )
    return fine, stuck


@pytest.mark.proves("R8", "R10")
def test_a_copy_without_a_leader_does_not_hold_a_failover_up(
    make_cluster: Callable[..., LocalCluster], source_cluster: LocalCluster, tmp_path: Path
) -> None:
    ends = Ends(source_cluster, make_cluster("standby", brokers=2), **SETTINGS)
    group = f"g{ends.alias}"
    fine, stuck = without_a_leader(ends, tmp_path, group)

    began = time.monotonic()
    report = do_switch(ends, tmp_path, "failover-unplanned")
    assert time.monotonic() - began < WITHIN_S
    assert (report.outcome, report.active) == ("done", "T")
    assert any("no leader" in says for says in named(report, stuck))
    assert not named(report, fine)
    assert numbers_of(ends.target_cluster.bootstrap_servers, group, fine) == list(range(40, 100))


@pytest.mark.proves("R8", "R14")
def test_a_transaction_that_cannot_end_does_not_hold_a_failover_up_and_is_named(
    make_cluster: Callable[..., LocalCluster],
    source_cluster: LocalCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An owner died while its marker was on the way to a copy that takes no writes: the id of its shard is blocked."""
    ends = Ends(source_cluster, make_cluster("standby", brokers=2), **SETTINGS)
    link, group, target = ends.link, f"g{ends.alias}", ends.target_cluster
    fine, stuck = ends.create("fine"), ends.create("stuck")
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    strict = NewTopic(stuck, 1, replica_assignment=[[1, 2]], config={"min.insync.replicas": "2"})
    admin.create_topics([strict])[stuck].result(30)
    copied_and_killed(ends, tmp_path, [fine, stuck], group)
    target.brokers[1].kill()
    wait_until(
        lambda: [p.isrs for p in partitions_of(admin, stuck)],
        lambda in_sync: in_sync == [[1]],
        within_s=30,
        what="a copy that takes no writes",
    )
    lost = TopicPartition(stuck, 0)
    shard = shard_of(lost, link.writing.ledger_shards)
    stop_shard = forced_stop._ForcedStop._stop_shard

    async def impatient(self: forced_stop._ForcedStop, number: int, partitions: list[TopicPartition]) -> None:
        """The blocked shard answers never, so it is not waited for long; the others get the time that they need."""
        async with asyncio.timeout(4.0 if number == shard else None):
            await stop_shard(self, number, partitions)

    monkeypatch.setattr(forced_stop._ForcedStop, "_stop_shard", impatient)

    async def leave_a_transaction() -> None:
        cluster = Cluster(link.clients.target_producer, "test")
        try:
            fence = Fence(cluster, link.name)
            owner = await fence.take_over(transactional_id(link.source, link.target, shard), shard)
            assert await fence.plant(owner, shard, [lost]) == {}
        finally:
            await cluster.close()

    asyncio.run(leave_a_transaction())
    began = time.monotonic()
    report = do_switch(ends, tmp_path, "failover-unplanned")
    assert time.monotonic() - began < WITHIN_S
    assert (report.outcome, report.active) == ("done", "T")
    unproven = named(report, "are not proven to be shut out")
    assert len(unproven) == 1, unproven
    (blocked,) = unproven
    assert f"shard {shard} of {link.name}" in blocked
    assert f"{lost}: 1 of its replicas in sync, min.insync.replicas is 2" in blocked
    assert numbers_of(target.bootstrap_servers, group, fine) == list(range(40, 100))
