"""Target topics on a real target: created, grown, refused, reported."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping

import pytest
from tests.kit.links import link_between
from tests.kit.waiting import wait_until

from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, TargetKeepsNoTimes, TargetTopicRefused
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.local.cluster import LocalCluster
from twinlog.model.naming import HEARTBEATS
from twinlog.model.topics.configs import ConfigOrigin
from twinlog.model.topics.findings import (
    ConfigNotSynced,
    CreateRefused,
    TargetHasMorePartitions,
    TargetKeepsLess,
    TargetOverwritesTimes,
)
from twinlog.model.topics.target_topics import CreateTopic, Roster, TopicFacts
from twinlog.sync.topic_orders import TopicOrders
from twinlog.sync.topics import TopicSync


class Ends:
    """Both ends of a link whose topics all begin with a prefix of this test's own."""

    def __init__(self, source: LocalCluster, target: LocalCluster) -> None:
        self.prefix = f"t{uuid.uuid4().hex[:8]}"
        self._clusters = source, target
        link = self.link()
        self.source, self.target = ClusterAdmin(link.clients.source_admin), ClusterAdmin(link.clients.target_admin)

    def link(self, **settings: str) -> LinkSettings:
        wishes = {name.replace("_", "."): value for name, value in settings.items()}
        return link_between(*self._clusters, {"topics": f"{self.prefix}.*", **wishes})

    def sync(self, **settings: str) -> TopicSync:
        return TopicSync(self.link(**settings), self.source, self.target)

    def create(
        self, admin: ClusterAdmin, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> str:
        assert admin.create_topics([TopicOrder(name, partitions, -1, configs or {})]) == {name: None}
        return facts(admin, name).topic_id

    def configs(self, remote: str) -> dict[str, tuple[str | None, ConfigOrigin]]:
        answer = self.target.fetch_topic_configs([remote])[remote]
        assert not isinstance(answer, ClusterError), answer
        return {config.name: (config.value, config.origin) for config in answer}


def facts(admin: ClusterAdmin, name: str, partitions: int = 1) -> TopicFacts:
    """Wait for a topic to be visible with so many partitions."""
    found = wait_until(
        lambda: admin.describe_topics([name])[name],
        lambda answer: isinstance(answer, TopicFacts) and answer.partitions >= partitions,
        within_s=60,
        what=f"{name} on {admin.cluster}",
    )
    assert isinstance(found, TopicFacts)
    return found


@pytest.fixture
def ends(source_cluster: LocalCluster, target_cluster: LocalCluster) -> Ends:
    return Ends(source_cluster, target_cluster)


@pytest.mark.proves("R13")
def test_a_new_topic_appears_on_the_target_with_its_partitions_and_configs(ends: Ends) -> None:
    name = f"{ends.prefix}.orders"
    chosen = {"retention.ms": "-1", "cleanup.policy": "compact", "min.insync.replicas": "1", "max.message.bytes": "777"}
    topic_id = ends.create(ends.source, name, 3, chosen)

    topic = ends.sync().step().topics[name]

    remote = facts(ends.target, f"A.{name}", 3)
    assert (topic.topic_id, topic.partitions) == (topic_id, 3)
    assert (topic.remote, topic.remote_topic_id, topic.remote_partitions) == (remote.name, remote.topic_id, 3)
    assert (topic.remote_timestamp_type, topic.remote_max_message_bytes) == ("CreateTime", 777)
    assert topic.findings == ()
    assert all(topic.can_carry(partition) for partition in range(3))
    configs = ends.configs(remote.name)
    assert configs["retention.ms"] == ("-1", ConfigOrigin.TOPIC)
    assert configs["cleanup.policy"] == ("compact", ConfigOrigin.TOPIC)
    assert configs["min.insync.replicas"][1] is not ConfigOrigin.TOPIC


def _but_for_heartbeats(topics: Iterable[str]) -> set[str]:
    """Every link copies heartbeats, also those that a test of another pair left on the shared cluster."""
    found = set(topics)
    assert HEARTBEATS in found
    return {name for name in found if name != HEARTBEATS and not name.endswith(f".{HEARTBEATS}")}


def test_topics_that_are_not_selected_stay_where_they_are(ends: Ends) -> None:
    wanted, other, loop = f"{ends.prefix}.in", f"{ends.prefix}.out", f"B.{ends.prefix}.loop"
    for name in (wanted, other, loop):
        ends.create(ends.source, name)

    roster = ends.sync(topics=f".*{ends.prefix}.*", topics_exclude=".*out").step()

    assert _but_for_heartbeats(roster.topics) == {wanted}
    assert not {f"A.{other}", f"A.{loop}"} & set(ends.target.list_topics())


def test_a_log_append_time_source_gets_a_target_that_keeps_the_times_it_is_given(ends: Ends) -> None:
    name = f"{ends.prefix}.stamped"
    ends.create(ends.source, name, configs={"message.timestamp.type": "LogAppendTime"})

    topic = ends.sync().step().topics[name]

    assert topic.remote_timestamp_type == "CreateTime"
    assert topic.can_carry(0)


def test_new_partitions_of_the_source_appear_on_the_target(ends: Ends) -> None:
    name = f"{ends.prefix}.growing"
    ends.create(ends.source, name, 2)
    sync = ends.sync()
    before = sync.step().topics[name]

    assert ends.source.create_partitions({name: 5}) == {name: None}
    facts(ends.source, name, 5)
    after = sync.step().topics[name]

    assert (before.remote_partitions, after.remote_partitions) == (2, 5)
    assert after.remote_topic_id == before.remote_topic_id
    assert after.findings == ()


def test_a_deleted_target_topic_is_created_again_and_known_as_another_one(ends: Ends) -> None:
    name = f"{ends.prefix}.reborn"
    ends.create(ends.source, name)
    sync = ends.sync()
    before = sync.step().topics[name]

    assert ends.target.delete_topics([before.remote]) == {before.remote: None}
    wait_until(
        lambda: before.remote in ends.target.list_topics(), lambda there: not there, within_s=60, what="deletion"
    )
    after = sync.step().topics[name]

    assert after.remote_topic_id not in {None, before.remote_topic_id}
    assert after.topic_id == before.topic_id


@pytest.mark.proves("R8")
def test_a_topic_that_cannot_be_created_is_named_and_the_others_go_on(ends: Ends) -> None:
    # A name may have 249 characters; with the alias before it, it has two more.
    too_long = ends.prefix.ljust(249, "x")
    good = f"{ends.prefix}.good"
    for name in (too_long, good):
        ends.create(ends.source, name)

    topics = ends.sync().step().topics

    assert topics[good].can_carry(0)
    assert isinstance(topics[too_long].fault(0), TargetTopicRefused)
    (finding,) = topics[too_long].findings
    assert isinstance(finding, CreateRefused)
    assert "249" in finding.problem


def test_a_replication_factor_the_target_cannot_give_is_named_until_it_can(ends: Ends) -> None:
    name = f"{ends.prefix}.copies"
    ends.create(ends.source, name)

    refused = ends.sync(replication_factor="3").step().topics[name]
    accepted = ends.sync().step().topics[name]

    assert isinstance(refused.fault(0), TargetTopicRefused)
    assert "replication factor of 3" in str(refused.fault(0))
    assert accepted.can_carry(0)


@pytest.mark.proves("R13")
def test_configs_the_target_refuses_are_left_out_and_listed(ends: Ends) -> None:
    remote = f"{ends.prefix}.picky"
    orders = TopicOrders(ends.target)
    # The broker names the first of the two in its answer, and not the second.
    bad = {"future.config": "1", "remote.storage.enable": "true"}
    orders.create(CreateTopic("picky", remote, 2, -1, tuple(sorted({**bad, "retention.ms": "-1"}.items()))))

    assert orders.apply() == {remote: 2}

    left_out = {finding.config: finding for finding in orders.findings if isinstance(finding, ConfigNotSynced)}
    assert left_out.keys() == bad.keys()
    assert len(orders.findings) == 2
    assert "Tiered Storage" in left_out["remote.storage.enable"].problem
    facts(ends.target, remote, 2)
    assert ends.configs(remote)["retention.ms"] == ("-1", ConfigOrigin.TOPIC)


def test_a_target_topic_of_another_form_is_reported_and_left_alone(ends: Ends) -> None:
    wide, narrow = f"{ends.prefix}.wide", f"{ends.prefix}.stamping"
    for name in (wide, narrow):
        ends.create(ends.source, name, 2)
    ends.create(ends.target, f"A.{wide}", 4)
    ends.create(ends.target, f"A.{narrow}", 2, {"message.timestamp.type": "LogAppendTime"})

    topics = ends.sync().step().topics

    assert topics[wide].findings == (TargetHasMorePartitions(wide, f"A.{wide}", 2, 4),)
    assert topics[wide].can_carry(1)
    assert topics[narrow].findings == (TargetOverwritesTimes(narrow, f"A.{narrow}"),)
    assert isinstance(topics[narrow].fault(0), TargetKeepsNoTimes)


def test_a_target_topic_that_is_mended_works_again_by_itself(ends: Ends) -> None:
    name = f"{ends.prefix}.mended"
    ends.create(ends.source, name)
    ends.create(ends.target, f"A.{name}", 1, {"message.timestamp.type": "LogAppendTime"})
    sync = ends.sync()
    assert not sync.step().topics[name].can_carry(0)

    assert ends.target.apply_topic_configs({f"A.{name}": {"message.timestamp.type": None}}) == {f"A.{name}": None}

    mended = wait_until(
        sync.step, lambda roster: roster.topics[name].can_carry(0), within_s=60, what="the timestamp type"
    )
    assert mended.topics[name].findings == ()


@pytest.mark.proves("R7", "R13")
def test_a_retention_that_stands_in_the_source_brokers_file_is_reported_as_long_as_the_link_runs(
    target_cluster: LocalCluster, make_cluster: Callable[..., LocalCluster]
) -> None:
    source = make_cluster("keeper", settings={"log.retention.ms": "-1"})
    own = Ends(source, target_cluster)
    name = f"{own.prefix}.kept"
    own.create(own.source, name)
    sync = own.sync()

    rosters: list[Roster] = [sync.step(), sync.step()]

    default = 7 * 24 * 3_600_000
    for roster in rosters:
        assert roster.findings == (TargetKeepsLess(name, f"A.{name}", "retention.ms", -1, default),)
        assert roster.topics[name].can_carry(0)


def test_hundreds_of_topics_are_one_cycle(ends: Ends) -> None:
    names = [f"{ends.prefix}.{number}" for number in range(300)]
    created = ends.source.create_topics(TopicOrder(name, 1, -1, {"retention.ms": "-1"}) for name in names)
    assert set(created.values()) == {None}
    wait_until(
        lambda: len(set(names) - set(ends.source.list_topics())), lambda left: left == 0, within_s=60, what="topics"
    )
    sync = ends.sync()

    roster = wait_until(
        sync.step,
        lambda roster: all(topic.remote_topic_id for topic in roster.topics.values()),
        within_s=60,
        what="target topics",
    )

    assert _but_for_heartbeats(roster.topics) == set(names)
    assert roster.findings == ()
    for admin, some in ((ends.source, names), (ends.target, [f"A.{name}" for name in names])):
        assert set(admin.delete_topics(some).values()) == {None}
