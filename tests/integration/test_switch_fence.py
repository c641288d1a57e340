"""The fence of a switch: complete, kept to its own cluster, and put back as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.ends import Ends
from tests.load.waiting import wait_until
from tests.switches import IDENTITY, do_switch, log_numbers, produce, service_running

from twinlog.errors import ClusterError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.local.cluster import LocalCluster

SETTINGS = {"replication_policy_class": IDENTITY, "switch_grace_seconds": "0", "switch_fence": "topic-config"}


def configs_of(admin: ClusterAdmin, topic: str, *names: str) -> tuple[str | None, ...]:
    """What is in force for a topic."""
    found = admin.fetch_topic_configs([topic])[topic]
    assert not isinstance(found, ClusterError)
    values = {config.name: config.value for config in found}
    return tuple(values[name] for name in names)


@pytest.mark.proves("R1", "R7")
def test_a_topic_that_no_engine_has_seen_yet_is_part_of_a_planned_failover(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(**SETTINGS, refresh_topics_interval_seconds="600")
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    known = ends.create("known")
    produce(here, known, range(10))
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(known)
        new = ends.create("new", 1, **{"max.message.bytes": "500000"})
        produce(here, new, range(50))
        report = do_switch(ends, tmp_path, "failover-planned")
        assert report.outcome == "done"
        assert log_numbers(there, new) == list(range(50))
        assert set(produce(here, new, range(1))) == {"MSG_SIZE_TOO_LARGE"}
        do_switch(ends, tmp_path, "failback-delta")
        assert configs_of(ends.source, new, "max.message.bytes") == ("500000",)


class Spoke(Ends):
    """A link from the same source to a third cluster."""

    @property
    def properties(self) -> str:
        text = super().properties
        return text.replace("->T.", "->U.").replace(", T\n", ", U\n").replace("\nT.", "\nU.")


@pytest.mark.proves("R8")
def test_a_fence_and_its_retention_guard_stay_on_the_cluster_that_they_shut(
    source_cluster: LocalCluster, target_cluster: LocalCluster, third_cluster: LocalCluster, tmp_path: Path
) -> None:
    hub = Ends(source_cluster, target_cluster, **SETTINGS)
    spoke = Spoke(source_cluster, third_cluster, **SETTINGS, sync_topic_configs_interval_seconds="1")
    spoke.alias, spoke.prefix = hub.alias, hub.prefix
    topic = hub.create("orders", 1, **{"retention.ms": "3600000"})
    watched = ("max.message.bytes", "retention.ms", "retention.bytes")
    before: tuple[Any, ...] = configs_of(hub.source, topic, *watched)
    produce(source_cluster.bootstrap_servers, topic, range(20))
    with service_running(hub, tmp_path / "hub") as engine, service_running(spoke, tmp_path / "spoke") as other:
        engine.await_running()
        other.await_running()
        hub.await_copied(topic)
        wait_until(lambda: "configs" in other.chores.notes, bool, within_s=30, what="a first sync of configs")
        at_third = configs_of(spoke.target, topic, *watched)
        do_switch(hub, tmp_path, "failover-unplanned")
        assert configs_of(hub.source, topic, *watched) == ("0", "-1", "-1")
        seen = other.chores.notes["configs"].at_ms
        wait_until(
            lambda: other.chores.notes["configs"].at_ms,
            lambda at_ms: at_ms > seen + 1500,
            within_s=30,
            what="more syncs",
        )
        assert configs_of(spoke.target, topic, *watched) == at_third
        do_switch(hub, tmp_path, "failback-delta")
        assert configs_of(hub.source, topic, *watched) == before
