"""The fence of a switch: complete, kept to its own cluster, and put back as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.ends import Ends
from tests.kit.links import link_between
from tests.kit.switches import IDENTITY, do_switch, log_numbers, produce, service_running
from tests.kit.waiting import wait_until

from twinlog.errors import ClusterError
from twinlog.kafka.acls import create_acls
from twinlog.kafka.admin import ClusterAdmin
from twinlog.ledger.view import LedgerView
from twinlog.local.cluster import LocalCluster
from twinlog.model.access.acls import AclBinding
from twinlog.model.ledger.records import RosterTopic
from twinlog.recovery.fencing import deny
from twinlog.sync.acls import AclSync
from twinlog.sync.ends import LinkEnds
from twinlog.wire.acls import fetch_acls

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
    """A link from the same source to a third cluster. Its file calls the source by an alias of its own."""

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
    spoke.prefix = hub.prefix
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


@pytest.mark.proves("R8", "R13")
def test_the_rules_of_a_fence_stay_on_the_cluster_that_they_shut_and_others_are_copied(
    secure_cluster: LocalCluster,
    target_cluster: LocalCluster,
    make_cluster: Callable[..., LocalCluster],
    tmp_path: Path,
) -> None:
    hub = Ends(secure_cluster, target_cluster, **{**SETTINGS, "switch_fence": "acl"})
    topic = hub.create("orders")
    wishes = {"topics": topic, "replication.policy.class": IDENTITY, "sync.topic.acls.mode": "full"}
    spoke = link_between(secure_cluster, make_cluster("spoke", secure=True), wishes)
    view = LedgerView({})
    view.roster[topic] = RosterTopic(topic=topic, source_id="s", remote=topic, target_id="t", origins=[0])
    jobs = AclSync(LinkEnds.of(spoke), spoke.acls)

    def sync() -> None:
        outcome = asyncio.run(jobs.step(view))
        mine = view.memos.setdefault("acls", {})
        mine.update({memo.name: memo for memo in outcome.memos})
        for name in outcome.forget:
            del mine[name]

    def at_spoke() -> set[AclBinding]:
        found = asyncio.run(fetch_acls(spoke.clients.target_admin, "test"))
        return {rule for rule in found if rule.resource == "topic" and rule.name == topic}

    def grant(*rules: AclBinding) -> None:
        assert set(create_acls(hub.source, rules).values()) == {None}

    reads = AclBinding("topic", "literal", topic, "User:app", "*", "READ", "ALLOW")
    writes = AclBinding("topic", "literal", topic, "User:app", "*", "WRITE", "ALLOW")
    mallory = deny(topic, "User:mallory")
    grant(reads, writes, mallory)
    copied = {reads, mallory}

    def synced() -> set[AclBinding]:
        sync()
        return at_spoke()

    wait_until(synced, lambda there: there == copied, within_s=30, what="the rules of the source")
    with service_running(hub, tmp_path) as engine:
        engine.await_running()
        do_switch(hub, tmp_path, "failover-planned")
    # The way back copies by now, so the fence denies Write to each other writer by name.
    assert deny(topic, "User:app") in asyncio.run(fetch_acls(spoke.clients.source_admin, "test"))
    later = AclBinding("topic", "literal", topic, "User:later", "*", "READ", "ALLOW")
    grant(later)
    assert wait_until(synced, lambda there: later in there, within_s=30, what="a rule of later") == {*copied, later}
