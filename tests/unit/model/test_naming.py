import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.naming import ReplicationNaming

DEFAULT = ReplicationNaming("default", source_alias="A")
IDENTITY = ReplicationNaming("identity", source_alias="A")
ALIASES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
TOPICS = st.from_regex(r"[A-Za-z0-9_-]{1,12}(\.[A-Za-z0-9_-]{1,12}){0,2}", fullmatch=True)


@pytest.mark.parametrize(
    ("topic", "source", "upstream", "original"),
    [
        ("orders", None, None, "orders"),
        ("A.orders", "A", "orders", "orders"),
        ("A.B.orders", "A", "B.orders", "orders"),
        ("orders.v1", "orders", "v1", "v1"),
        ("orders.", None, None, "orders."),
        ("orders..", None, None, "orders.."),
        (".orders", "", "orders", "orders"),
        ("a..b", "a", ".b", "b"),
        (".", None, None, "."),
    ],
)
def test_default_naming_reads_hops_from_the_name(topic, source, upstream, original):
    assert DEFAULT.topic_source(topic) == source
    assert DEFAULT.upstream_topic(topic) == upstream
    assert DEFAULT.original_topic(topic) == original


@pytest.mark.parametrize(
    ("topic", "remote", "source", "upstream", "original"),
    [
        ("orders", "orders", "A", "orders", "orders"),
        ("B.orders", "B.orders", "A", "B.orders", "B.orders"),
        ("heartbeats", "A.heartbeats", None, None, "heartbeats"),
        ("B.heartbeats", "A.B.heartbeats", "B", "heartbeats", "heartbeats"),
        ("myheartbeats", "A.myheartbeats", None, None, "myheartbeats"),
    ],
)
def test_identity_naming_keeps_all_but_heartbeats(topic, remote, source, upstream, original):
    assert IDENTITY.remote("A", topic) == remote
    assert IDENTITY.topic_source(topic) == source
    assert IDENTITY.upstream_topic(topic) == upstream
    assert IDENTITY.original_topic(topic) == original


@pytest.mark.parametrize("topic", ["source.t", "target.t", "target.source.t", "source.target.t"])
def test_default_naming_refuses_a_hop_through_either_end(topic):
    assert DEFAULT.is_cycle(topic, "source", "target")
    assert not ReplicationNaming("identity", source_alias="source").is_cycle(topic, "source", "target")


@pytest.mark.parametrize("topic", ["t", "othersource.t", "other.another.t"])
def test_topics_from_third_clusters_are_no_cycle(topic):
    assert not DEFAULT.is_cycle(topic, "source", "target")


@pytest.mark.parametrize("topic", ["target.heartbeats", "source.target.heartbeats"])
def test_identity_naming_still_refuses_heartbeats_that_come_home(topic):
    assert ReplicationNaming("identity", source_alias="source").is_cycle(topic, "source", "target")


@pytest.mark.parametrize(
    ("topic", "internal"),
    [
        ("__consumer_offsets", True),
        (".hidden", True),
        ("mm2-offsets.A.internal", True),
        ("mm2-offset-syncs.B.internal", True),
        ("A.checkpoints.internal", True),
        ("__twinlog-ledger.A", True),
        ("orders.internal", False),
        ("orders-internal", False),
        ("mm2-offsets.A.internal.copy", False),
        ("twinlog-ledger", False),
        ("heartbeats", False),
    ],
)
def test_internal_topics_are_those_of_kafka_mirrormaker_and_twinlog(topic, internal):
    assert DEFAULT.is_internal(topic) is internal
    assert IDENTITY.is_internal(topic) is internal


def test_a_separator_of_its_own_reaches_internal_topics_unless_switched_off():
    everywhere = ReplicationNaming(separator="_")
    names_only = ReplicationNaming(separator="_", separator_in_internal_topics=False)
    assert everywhere.remote("A", "t") == names_only.remote("A", "t") == "A_t"
    assert everywhere.is_mm2_internal("mm2-offset-syncs_B_internal")
    assert not everywhere.is_mm2_internal("mm2-offset-syncs.B.internal")
    assert names_only.is_mm2_internal("mm2-offset-syncs.B.internal")
    assert names_only.is_checkpoints("A.checkpoints.internal")


def test_heartbeats_are_recognised_over_any_number_of_hops():
    for naming in (DEFAULT, IDENTITY):
        assert naming.is_heartbeats("heartbeats")
        assert naming.is_heartbeats("C.B.heartbeats")
        assert not naming.is_heartbeats("B.myheartbeats")


@given(ALIASES, TOPICS, st.sampled_from([".", "_", "--"]))
def test_the_remote_name_leads_back_to_its_source(alias, topic, separator):
    naming = ReplicationNaming(separator=separator)
    if separator in alias or alias.endswith(separator[0]):
        return  # MirrorMaker 2 cannot tell either
    remote = naming.remote(alias, topic)
    if topic.strip(separator):
        assert naming.topic_source(remote) == alias
        assert naming.upstream_topic(remote) == topic
        assert naming.is_cycle(remote, "elsewhere", alias)


@given(ALIASES, ALIASES, TOPICS)
def test_what_a_link_writes_never_comes_back_by_the_reverse_link(source, target, topic):
    naming = ReplicationNaming("default", source_alias=target)
    assert naming.is_cycle(naming.remote(source, topic), target, source)


def test_naming_survives_pickling():
    assert pickle.loads(pickle.dumps(IDENTITY)) == IDENTITY  # noqa: S301 (our own bytes)


def test_a_rename_format_makes_the_name_and_what_fits_the_way_back_is_a_cycle() -> None:
    naming = ReplicationNaming(
        "identity", source_alias="A", rename_format="${topic}.copy", opposite_format="back-${topic}"
    )
    assert naming.remote("A", "orders") == "orders.copy"
    assert naming.remote("A", "heartbeats") == "A.heartbeats"
    assert naming.is_cycle("back-orders", "A", "B")
    assert not naming.is_cycle("orders", "A", "B")
    assert not naming.is_cycle("back-", "A", "B")
    assert naming.is_internal("__twinlog-writers")
