"""Questions to real clusters: offsets, times, and what is answered by clusters that are away or closed to us."""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.kit.checker import check_load, check_mirror
from tests.kit.links import link_between
from tests.kit.load import Ending, Load
from tests.kit.logs import Cluster, read_logs
from tests.kit.verdict import Kind
from tests.kit.waiting import wait_until

from twinlog.config.security.secrets import Secret
from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.errors import (
    AccessDenied,
    ClusterError,
    ClusterUnreachable,
    PartitionCountDiffers,
    TopicUnknown,
)
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.client_options import client_options
from twinlog.local.cluster import LocalCluster
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.sync.topics import TopicSync


@pytest.fixture
def topic(source_cluster: LocalCluster) -> str:
    name = f"admin-{uuid.uuid4().hex[:8]}"
    make_topic(admin_of(source_cluster), name, 2)
    return name


@pytest.fixture
def closed_cluster(secure_cluster: LocalCluster) -> LocalCluster:
    return secure_cluster


def admin_of(cluster: LocalCluster) -> ClusterAdmin:
    return ClusterAdmin(link_between(cluster, cluster, {}).clients.source_admin)


def make_topic(admin: ClusterAdmin, name: str, partitions: int) -> None:
    assert admin.create_topics([TopicOrder(name, partitions, -1, {})]) == {name: None}
    wait_until(
        lambda: admin.describe_topics([name])[name],
        lambda answer: isinstance(answer, TopicFacts),
        within_s=60,
        what=name,
    )


def test_a_cluster_tells_its_id(source_cluster: LocalCluster) -> None:
    assert admin_of(source_cluster).fetch_cluster_id() == source_cluster.cluster_id


def test_a_topic_that_is_not_there_is_unknown_and_does_not_come_into_being(source_cluster: LocalCluster) -> None:
    admin = admin_of(source_cluster)
    nowhere = TopicPartition("nowhere", 0)

    assert isinstance(admin.describe_topics(["nowhere"])["nowhere"], TopicUnknown)
    assert isinstance(admin.fetch_topic_configs(["nowhere"])["nowhere"], TopicUnknown)
    assert isinstance(admin.fetch_end_offsets([nowhere])[nowhere], TopicUnknown)
    assert "nowhere" not in admin.list_topics()


def test_a_client_that_asked_for_offsets_before_a_topic_was_made_hears_of_it(source_cluster: LocalCluster) -> None:
    admin, other = admin_of(source_cluster), admin_of(source_cluster)
    for name in ("early-bird", "later-bird"):  # the client forgets the second one: by then it knows the cluster
        asked = [TopicPartition(name, number) for number in range(4)]
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            admin.fetch_end_offsets(asked)
            time.sleep(0.1)
        assert other.create_topics([TopicOrder(name, 4, 1, {})]) == {name: None}
        seen = wait_until(
            lambda: admin.fetch_end_offsets(asked),  # noqa: B023  called within the turn
            lambda seen: all(isinstance(end, int) for end in seen.values()),
            within_s=3,
            what=f"the ends of {name}",
        )
        assert set(seen.values()) == {0}


def test_offsets_of_sound_partitions_are_told_beside_an_unknown_one(source_cluster: LocalCluster, topic: str) -> None:
    Load(source_cluster.bootstrap_servers, topic, 2, seed=1).produce(30, partition=1)
    asked = [TopicPartition(topic, number) for number in (0, 1, 9)]

    admin = admin_of(source_cluster)
    starts, ends = admin.fetch_start_offsets(asked), admin.fetch_end_offsets(asked)

    assert [starts[partition] for partition in asked[:2]] == [0, 0]
    assert [ends[partition] for partition in asked[:2]] == [0, 30]
    assert isinstance(ends[asked[2]], TopicUnknown)


def test_an_open_transaction_holds_back_the_committed_end(source_cluster: LocalCluster, topic: str) -> None:
    load = Load(source_cluster.bootstrap_servers, topic, 1, seed=2)
    load.produce(10)
    load.transaction(5, Ending.HANGING)
    asked = TopicPartition(topic, 0)
    admin = admin_of(source_cluster)

    assert admin.fetch_end_offsets([asked]) == {asked: 15}
    assert admin.fetch_end_offsets([asked], committed=True) == {asked: 10}
    load.end_hanging(Ending.ABORTED)
    # The marker takes an offset of its own.
    wait_until(
        lambda: admin.fetch_end_offsets([asked], committed=True), lambda seen: seen == {asked: 16}, within_s=60, what=""
    )


def test_a_time_is_found_and_a_time_after_the_last_record_is_the_end(source_cluster: LocalCluster, topic: str) -> None:
    load = Load(source_cluster.bootstrap_servers, topic, 1, seed=3)
    load.produce(20)
    log = read_logs(Cluster(source_cluster.bootstrap_servers), topic, "read_committed")[0]
    wanted = log[12].timestamp[1]
    asked = TopicPartition(topic, 0)
    admin = admin_of(source_cluster)

    assert admin.fetch_offsets_at([asked], 0) == {asked: 0}
    first = next(record.offset for record in log if record.timestamp[1] >= wanted)
    assert admin.fetch_offsets_at([asked], wanted) == {asked: first}
    assert admin.fetch_offsets_at([asked], time.time_ns() // 1_000_000 + 60_000) == {asked: 20}


def test_the_judge_accepts_a_log_as_its_own_mirror_and_sees_what_was_aborted(
    source_cluster: LocalCluster, topic: str
) -> None:
    load = Load(source_cluster.bootstrap_servers, topic, 2, seed=4, compression="lz4")
    load.produce(500)
    load.transaction(60, Ending.COMMITTED)
    here = Cluster(source_cluster.bootstrap_servers)

    sound, numbered = check_mirror(here, here, {topic: topic}), check_load(load, here, topic)
    assert sound.ok, sound
    assert numbered.ok, numbered
    assert (sound.source_records, numbered.target_records) == (560, 560)

    load.transaction(40, Ending.ABORTED)
    # Here the source stands for a target to which somebody copied an aborted transaction.
    assert check_load(load, here, topic).counts == {Kind.ABORTED: 40}
    assert check_mirror(here, here, {topic: topic}).counts == {Kind.FOREIGN: 40}


def test_the_judge_sees_that_the_last_record_is_missing(
    source_cluster: LocalCluster, target_cluster: LocalCluster, topic: str
) -> None:
    make_topic(admin_of(target_cluster), topic, 2)
    loads = [Load(cluster.bootstrap_servers, topic, 2, seed=5) for cluster in (source_cluster, target_cluster)]
    loads[0].produce(100)
    loads[1].produce(99)

    # Both loads count alike; the target is asked for every number that the source acknowledged.
    verdict = check_load(loads[0], Cluster(target_cluster.bootstrap_servers), topic)

    assert verdict.counts == {Kind.LOST: 1}


@pytest.mark.proves("R14")
def test_a_cluster_that_is_away_is_called_so_within_the_timeout() -> None:
    with socket.socket() as held:
        # Bound but not listening: nobody else can start to answer here.
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
        admin = ClusterAdmin(ClientSettings(cluster="A", bootstrap_servers=(address,), request_timeout_ms=700))
        asked = TopicPartition("orders", 0)

        for ask in (
            admin.fetch_cluster_id,
            admin.list_topics,
            lambda: admin.describe_topics(["orders"]),
            lambda: admin.fetch_topic_configs(["orders"]),
            lambda: admin.fetch_end_offsets([asked]),
            lambda: admin.create_topics([TopicOrder("orders", 1, 1, {})]),
        ):
            began = time.monotonic()
            with pytest.raises(ClusterUnreachable, match=f"A: no broker answers: .*{address}.*refused"):
                ask()
            assert time.monotonic() - began < 10


@pytest.mark.proves("R12", "R14")
def test_a_wrong_password_is_called_so_at_once_and_not_repeated_in_words(closed_cluster: LocalCluster) -> None:
    right = link_between(closed_cluster, closed_cluster, {}).clients.source_admin
    wrong = right.model_copy(
        update={"security": right.security.model_copy(update={"password": Secret("not-the-password")})}
    )
    assert ClusterAdmin(right).list_topics() is not None

    began = time.monotonic()
    with pytest.raises(AccessDenied) as refused:
        ClusterAdmin(wrong).list_topics()

    assert time.monotonic() - began < wrong.request_timeout_ms / 1_000 / 2
    assert "not-the-password" not in str(refused.value)


@pytest.mark.proves("R8", "R14")
def test_what_a_target_forbids_is_told_per_topic(source_cluster: LocalCluster, closed_cluster: LocalCluster) -> None:
    prefix = f"acl-{uuid.uuid4().hex[:8]}"
    hidden, growing, new = f"{prefix}.hidden", f"{prefix}.growing", f"{prefix}.new"
    source, boss = admin_of(source_cluster), admin_of(closed_cluster)
    for name in (hidden, growing, new):
        make_topic(source, name, 2)
    for name in (hidden, growing):
        make_topic(boss, f"A.{name}", 1)
    link = target_as_application(source_cluster, closed_cluster, {"topics": f"{prefix}.*"})
    allow(closed_cluster, f"A.{growing}", AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    allow(closed_cluster, f"A.{new}", AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)

    # Rights reach the broker a moment after they were granted.
    roster = wait_until(
        TopicSync(link, source, ClusterAdmin(link.clients.target_admin)).step,
        lambda seen: seen.topics[new].can_carry(1) and seen.topics[growing].can_carry(0),
        within_s=60,
        what="the granted topics",
    )

    assert "denied" in str(roster.topics[hidden].fault(0))
    assert roster.topics[growing].fault(0) is None
    assert isinstance(roster.topics[growing].fault(1), PartitionCountDiffers)
    assert roster.topics[new].findings == ()
    assert isinstance(
        ClusterAdmin(link.clients.target_admin).create_topics([TopicOrder("x", 1, 1, {})])["x"], ClusterError
    )


def target_as_application(source: LocalCluster, target: LocalCluster, settings: dict[str, str]) -> LinkSettings:
    return link_between(source, target, settings, user="twinlog")


def allow(cluster: LocalCluster, topic: str, *operations: AclOperation) -> None:
    boss = AdminClient(dict(client_options(link_between(cluster, cluster, {}).clients.source_admin)))
    rules = [
        AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            "User:twinlog",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for operation in operations
    ]
    for future in boss.create_acls(rules).values():
        future.result(30)


@pytest.mark.proves("R9", "R14")
def test_ends_are_told_again_by_the_same_client_after_all_brokers_were_restarted(
    make_cluster: Callable[..., LocalCluster],
) -> None:
    """The client remembers leader epochs. With those of before the restart no leader answers it any more."""
    cluster = make_cluster("restarted")
    admin = admin_of(cluster)
    make_topic(admin, "orders", 2)
    places = [TopicPartition("orders", number) for number in range(2)]
    assert admin.fetch_end_offsets(places) == dict.fromkeys(places, 0)
    cluster.kill()
    cluster.start(120)
    wait_until(
        lambda: admin.fetch_end_offsets(places),
        lambda ends: ends == dict.fromkeys(places, 0),
        within_s=20,
        what="the ends of the logs",
    )
