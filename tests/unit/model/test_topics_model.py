"""Target topics kept in step: what is created, what grows, what is only reported."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.errors import PartitionCountDiffers, TargetKeepsNoTimes, TargetTopicRefused
from twinlog.model.naming import ReplicationNaming
from twinlog.model.selection import Patterns
from twinlog.model.topics.configs import ConfigOrigin, ConfigRules, TopicConfig, copied_configs
from twinlog.model.topics.findings import (
    CreateRefused,
    GrowthRefused,
    TargetConfigsUnreadable,
    TargetHasMorePartitions,
    TargetKeepsLess,
    TargetOverwritesTimes,
)
from twinlog.model.topics.target_topics import (
    AddPartitions,
    CreateTopic,
    MirroredTopic,
    Roster,
    SourceTopic,
    TargetTopic,
    TopicDiff,
    TopicRules,
    Unreadable,
    diff_topics,
)

NAMING = ReplicationNaming()
EXCLUDED = Patterns(("min.insync.replicas", "message.timestamp.type", r".*\.throttled\.replicas"))
RULES = TopicRules("A", 3, ConfigRules(EXCLUDED))

names = st.sampled_from(["orders", "payments", "a.b", "heartbeats", "x_y", "logs"])
config_names = st.sampled_from(
    ["retention.ms", "cleanup.policy", "min.insync.replicas", "message.timestamp.type", "leader.throttled.replicas"]
)
configs = st.builds(
    TopicConfig,
    name=config_names,
    value=st.one_of(st.none(), st.just("-1"), st.just("compact")),
    origin=st.sampled_from(ConfigOrigin),
    read_only=st.booleans(),
    sensitive=st.booleans(),
)
source_topics = st.lists(
    st.builds(
        SourceTopic,
        name=names,
        topic_id=st.uuids().map(str),
        partitions=st.integers(1, 5),
        configs=st.one_of(
            st.lists(configs, max_size=4, unique_by=lambda config: config.name)
            .map(tuple)
            .filter(lambda some: all(config.value != "compact" or config.name != "retention.ms" for config in some)),
            st.just(Unreadable("denied")),
        ),
    ),
    unique_by=lambda topic: topic.name,
)
target_topics = st.lists(
    st.builds(
        TargetTopic,
        name=names.map(lambda name: f"A.{name}"),
        topic_id=st.uuids().map(str),
        partitions=st.integers(1, 5),
        configs=st.one_of(
            st.fixed_dictionaries(
                {"message.timestamp.type": st.sampled_from(["CreateTime", "LogAppendTime"])},
                optional={"retention.ms": st.sampled_from(["-1", "1000"])},
            ),
            st.just(Unreadable("denied")),
        ),
    ),
    unique_by=lambda topic: topic.name,
).map(lambda topics: {topic.name: topic for topic in topics})


def obeyed(diff: TopicDiff, targets: dict[str, TargetTopic]) -> dict[str, TargetTopic]:
    """Show the target after it did what it was told."""
    after = dict(targets)
    for change in diff.changes:
        match change:
            case CreateTopic():
                after[change.remote] = TargetTopic(change.remote, "new", change.partitions, dict(change.configs))
            case AddPartitions():
                grown = targets[change.remote]
                after[change.remote] = TargetTopic(grown.name, grown.topic_id, change.want, grown.configs)
    return after


@given(source_topics, target_topics)
def test_one_cycle_is_enough(sources: list[SourceTopic], targets: dict[str, TargetTopic]) -> None:
    first = diff_topics(sources, targets, NAMING, RULES)

    second = diff_topics(sources, obeyed(first, targets), NAMING, RULES)

    assert second.changes == ()


@given(source_topics, target_topics)
def test_afterwards_every_source_partition_has_its_place_unless_it_is_named(
    sources: list[SourceTopic], targets: dict[str, TargetTopic]
) -> None:
    diff = diff_topics(sources, targets, NAMING, RULES)

    after = obeyed(diff, targets)
    refused = {finding.topic for finding in diff.findings if isinstance(finding, CreateRefused)}
    for source in sources:
        remote = after.get(f"A.{source.name}")
        assert (remote is None) == (source.name in refused)
        assert remote is None or remote.partitions >= source.partitions


@given(source_topics, target_topics)
def test_nothing_is_ever_removed_or_touched_without_need(
    sources: list[SourceTopic], targets: dict[str, TargetTopic]
) -> None:
    diff = diff_topics(sources, targets, NAMING, RULES)

    mirrored = {f"A.{source.name}" for source in sources}
    assert {change.remote for change in diff.changes} <= mirrored
    for change in diff.changes:
        if isinstance(change, AddPartitions):
            assert change.want > change.have == targets[change.remote].partitions
        else:
            assert change.remote not in targets


@given(st.lists(configs, max_size=5, unique_by=lambda config: config.name))
def test_a_config_is_copied_exactly_when_somebody_set_it_and_nothing_speaks_against(some: list[TopicConfig]) -> None:
    copied = dict(copied_configs(some, ConfigRules(EXCLUDED)))

    set_at_run_time = {
        ConfigOrigin.TOPIC,
        ConfigOrigin.DYNAMIC_BROKER,
        ConfigOrigin.DYNAMIC_DEFAULT_BROKER,
        ConfigOrigin.OTHER,
    }
    for config in some:
        allowed = config.name in {"retention.ms", "cleanup.policy"}
        readable = config.value is not None and not config.sensitive
        expected = config.origin in set_at_run_time and allowed and readable and not config.read_only
        assert (config.name in copied) == expected
    assert all(copied[config.name] == config.value for config in some if config.name in copied)


def test_a_missing_topic_is_created_with_its_retention_in_the_same_order() -> None:
    source = SourceTopic("orders", "1", 6, (TopicConfig("retention.ms", "-1"), TopicConfig("cleanup.policy", "delete")))

    diff = diff_topics([source], {}, NAMING, RULES)

    wanted = CreateTopic("orders", "A.orders", 6, 3, (("cleanup.policy", "delete"), ("retention.ms", "-1")))
    assert diff == TopicDiff((wanted,), ())


def test_a_log_append_time_source_gets_a_create_time_target() -> None:
    source = SourceTopic("orders", "1", 1, (TopicConfig("message.timestamp.type", "LogAppendTime"),))

    (change,) = diff_topics([source], {}, NAMING, RULES).changes

    assert isinstance(change, CreateTopic)
    assert change.configs == ()


def test_a_topic_whose_configs_are_unknown_is_not_created_without_them() -> None:
    diff = diff_topics([SourceTopic("orders", "1", 1, Unreadable("no right"))], {}, NAMING, RULES)

    assert diff.changes == ()
    assert [str(finding) for finding in diff.findings] == [
        "orders: the target topic A.orders could not be created: the source's topic configs cannot be read: no right"
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "less"),
    [("1000", "-1", False), ("1000", "1000", False), ("-1", "-1", False), ("-1", "1000", True), ("1000", "999", True)],
)
def test_a_target_that_keeps_less_is_reported(ours: str, theirs: str, less: bool) -> None:
    static = TopicConfig("retention.ms", ours, ConfigOrigin.STATIC_BROKER)
    target = TargetTopic("A.orders", "2", 1, {"retention.ms": theirs})

    diff = diff_topics([SourceTopic("orders", "1", 1, (static,))], {"A.orders": target}, NAMING, RULES)

    finding = TargetKeepsLess("orders", "A.orders", "retention.ms", int(ours), int(theirs))
    assert diff.findings == ((finding,) if less else ())


def test_more_partitions_and_unreadable_configs_on_the_target_are_reported_and_left_alone() -> None:
    target = TargetTopic("A.orders", "2", 9, Unreadable("no right"))

    diff = diff_topics([SourceTopic("orders", "1", 4)], {"A.orders": target}, NAMING, RULES)

    assert diff.changes == ()
    assert diff.findings == (
        TargetHasMorePartitions("orders", "A.orders", 4, 9),
        TargetConfigsUnreadable("orders", "A.orders", "no right"),
    )


def test_a_refused_topic_faults_all_its_partitions() -> None:
    topic = MirroredTopic("orders", "1", 2, "A.orders", findings=(CreateRefused("orders", "A.orders", "policy"),))

    assert [type(topic.fault(partition)) for partition in (0, 1)] == [TargetTopicRefused, TargetTopicRefused]
    assert not topic.can_carry(0)
    assert str(topic.fault(1)) == "orders-1: the target topic A.orders could not be created: policy"


def test_refused_growth_faults_only_the_partitions_without_a_place() -> None:
    refused = GrowthRefused("orders", "A.orders", 2, 4, "policy")
    topic = MirroredTopic("orders", "1", 4, "A.orders", "2", 2, "CreateTime", 1_000, (refused,))

    assert [topic.can_carry(partition) for partition in range(4)] == [True, True, False, False]
    assert topic.fault(1) is None
    assert isinstance(topic.fault(2), PartitionCountDiffers)


def test_a_target_that_overwrites_times_faults_every_partition() -> None:
    finding = TargetOverwritesTimes("orders", "A.orders")
    topic = MirroredTopic("orders", "1", 1, "A.orders", "2", 1, "LogAppendTime", 1_000, (finding,))

    assert isinstance(topic.fault(0), TargetKeepsNoTimes)
    assert not topic.can_carry(0)


def test_a_topic_about_to_appear_is_neither_faulted_nor_usable() -> None:
    topic = MirroredTopic("orders", "1", 1, "A.orders")

    assert topic.fault(0) is None
    assert not topic.can_carry(0)


def test_a_roster_travels_between_processes() -> None:
    finding = TargetHasMorePartitions("orders", "A.orders", 1, 2)
    roster = Roster({"orders": MirroredTopic("orders", "1", 1, "A.orders", "2", 2, "CreateTime", 9, (finding,))})

    assert pickle.loads(pickle.dumps(roster)) == roster  # noqa: S301 (our own bytes)
    assert roster.findings == (finding,)
