"""An unplanned failover while some copies are lost too: it ends, it is quick, and it names them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.ends import Ends
from tests.load.waiting import wait_until
from tests.switches import IDENTITY, as_if_killed, commit_at, do_switch, numbers_of, produce, service_running

from twinlog.local.cluster import LocalCluster
from twinlog.recovery.report import Report

SETTINGS = {
    "replication_policy_class": IDENTITY,
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
    "refresh_groups_interval_seconds": "1",
    "switch_grace_seconds": "0",
}
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


@pytest.mark.proves("R8", "R10")
def test_a_copy_without_a_leader_does_not_hold_a_failover_up(
    make_cluster: Callable[..., LocalCluster], source_cluster: LocalCluster, tmp_path: Path
) -> None:
    target = make_cluster("standby", brokers=2)
    ends = Ends(source_cluster, target, **SETTINGS)
    fine, stuck = ends.create("fine"), ends.create("stuck")
    doomed = next(broker for broker in target.brokers if broker.node_id == 2)
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    admin.create_topics([NewTopic(stuck, 1, replica_assignment=[[doomed.node_id]])])[stuck].result(30)
    admin.create_topics([NewTopic(fine, 1, replica_assignment=[[1, 2]])])[fine].result(30)
    group = f"g{ends.alias}"
    copied_and_killed(ends, tmp_path, [fine, stuck], group)
    doomed.kill()
    wait_until(
        lambda: [p.leader for p in admin.list_topics(stuck, 10).topics[stuck].partitions.values()],
        lambda leaders: leaders == [-1],
        within_s=30,
        what="a partition without a leader",
    )

    began = time.monotonic()
    report = do_switch(ends, tmp_path, "failover-unplanned")
    assert time.monotonic() - began < WITHIN_S
    assert (report.outcome, report.active) == ("done", "T")
    assert any("no leader" in says for says in named(report, stuck))
    assert not named(report, fine)
    assert numbers_of(target.bootstrap_servers, group, fine) == list(range(40, 100))
