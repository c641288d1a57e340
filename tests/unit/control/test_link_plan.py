"""Links that connectors describe, alone and beside those of a file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.config.resolve import Resolved, resolve
from twinlog.config.security.masking import is_secret, left_masked, masked, unmasked
from twinlog.control.grounds import Grounds, grounds_of
from twinlog.control.link_plan import check_connector, connectors_of, link_name, plan_links
from twinlog.model.connectors import Connector, GroupState, Leader
from twinlog.model.link_connectors import CLASSES, sort_of

MIRROR = "org.apache.kafka.connect.mirror."


def connector(kind: str = "Source", name: str | None = None, state: Any = "STARTED", /, **more: str) -> Connector:
    config = {
        "name": name or kind,
        "connector.class": f"{MIRROR}Mirror{kind}Connector",
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:9092",
        "target.cluster.bootstrap.servers": "b:9092",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    return Connector(config["name"], config, state)


def replicator(name: str = "replicator", **more: str) -> Connector:
    config = {
        "name": name,
        "connector.class": "io.confluent.connect.replicator.ReplicatorSourceConnector",
        "src.kafka.bootstrap.servers": "a:9092",
        "dest.kafka.bootstrap.servers": "b:9092",
        "topic.whitelist": "orders",
        **more,
    }
    return Connector(name, config)


def file(text: str) -> Resolved:
    return resolve(text.encode(), "links.properties", (), {})


def plan(*stored: Connector, given_file: Resolved | None = None, **states: Any):
    return plan_links(given_file, stored, lambda name: states.get(name, "STARTED"), grounds_of(given_file, {}))


def errors(one: Connector, environment: dict[str, str] | None = None) -> list[str]:
    return [str(f) for f in check_connector(one, Grounds(environment=environment or {})) if f.level == "error"]


def test_a_source_connector_is_a_link():
    (link,) = plan(connector(topics="orders,pay.*", **{"source_consumer_fetch.min.bytes": "7"})).links
    assert link.name == "A->B"
    assert link.topics.include == ("orders", "pay.*")
    assert link.reading.fetch.min_bytes == 7
    assert link.clients.source_consumer.bootstrap_servers == ("a:9092",)
    assert {link.clients.target_producer.bootstrap_servers, link.clients.target_admin.bootstrap_servers} == {
        ("b:9092",)
    }
    assert not link.checkpoints.enabled
    assert not link.group_offsets.enabled
    assert not link.heartbeats.enabled


def test_security_of_the_target_reaches_its_producer_too_and_an_override_wins():
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'
    (link,) = plan(
        connector(
            target_cluster_security_protocol="SASL_PLAINTEXT",
            target_cluster_sasl_mechanism="PLAIN",
            target_cluster_sasl_jaas_config=login,
            producer_override_bootstrap_servers="other:9092",
        )
    ).links
    assert link.clients.target_admin.security == link.clients.target_producer.security
    assert link.clients.target_producer.security.username == "u"
    assert link.clients.target_producer.bootstrap_servers == ("other:9092",)
    assert link.clients.source_consumer.security.protocol == "PLAINTEXT"


def test_chores_are_switched_on_by_connectors_of_their_own():
    source = connector()
    checkpoint = connector("Checkpoint", groups="g.*", emit_checkpoints_interval_seconds="3")
    (link,) = plan(source, checkpoint, connector("Heartbeat")).links
    assert link.checkpoints.enabled
    assert link.heartbeats.enabled
    assert link.groups.include == ("g.*",)
    assert link.checkpoints.seconds == 3
    (paused,) = plan(source, connector("Checkpoint", None, "PAUSED"), connector("Heartbeat", None, "STOPPED")).links
    assert not paused.checkpoints.enabled
    assert not paused.heartbeats.enabled


def test_a_link_that_is_not_started_is_known_but_does_not_run():
    found = plan(connector("Source", "c", "PAUSED"))
    assert found.links == ()
    assert set(found.specs) == {"A->B"}
    assert not found.troubles


def test_heartbeats_without_a_link_are_a_pair():
    found = plan(
        Connector("h", {k: v for k, v in connector("Heartbeat").config.items() if "source.cluster.b" not in k})
    )
    assert found.links == ()
    (pair,) = found.heartbeats
    assert pair.name == "A->B"
    assert "MirrorSourceConnector" in plan(connector("Checkpoint")).troubles["Checkpoint"]


def test_one_link_has_one_connector_and_the_others_go_on():
    found = plan(connector("Source", "one"), connector("Source", "two"), replicator())
    assert found.troubles == {"two": "A->B is copied by connector one already"}
    assert {link.name for link in found.links} == {"A->B", "replicator->dest"}


def test_a_connector_that_cannot_be_read_stops_only_itself():
    broken = connector("Source", "broken", topics="${file:/nowhere:x}", source_cluster_alias="X")
    found = plan(broken, connector())
    assert [link.name for link in found.links] == ["A->B"]
    assert "declared are none" in found.troubles["broken"]


def test_names_of_both_directions_are_settled_together():
    identity = {"replication_policy_class": "IdentityReplicationPolicy"}
    back = connector("Source", "back", source_cluster_alias="B", target_cluster_alias="A", **identity)
    there, alone = plan(connector(**identity), back), plan(connector(**identity))
    assert {link.provenance.mode for link in there.links} == {"batch"}
    assert not there.troubles
    assert alone.links[0].naming.opposite_format


def test_a_file_and_connectors_stand_beside_each_other():
    given = file("clusters = A, B\nbootstrap.servers = k:9092\nA->B.enabled = true\ntopics = filed\n")
    found = plan(connector(), connector("Source", "c", source_cluster_alias="C"), given_file=given)
    assert {link.name: link.topics.include for link in found.links} == {"A->B": ("filed",), "C->B": (".*",)}
    assert "links.properties" in found.troubles["Source"]


def test_links_of_a_file_are_connectors_and_can_be_held():
    given = file("clusters = A, B\nbootstrap.servers = k:9092\nA->B.enabled = true\ntopics = t\n")
    names = [one.name for one in connectors_of(given)]
    assert names == [f"A->B.Mirror{kind}Connector" for kind in ("Source", "Checkpoint", "Heartbeat")]
    assert connectors_of(given)[0].config["topics"] == "t"
    (link,) = plan(given_file=given, **{"A->B.MirrorCheckpointConnector": "PAUSED"}).links
    assert not link.checkpoints.enabled
    assert link.heartbeats.enabled
    assert plan(given_file=given, **{"A->B.MirrorSourceConnector": "PAUSED"}).links == ()


def test_a_file_may_have_a_store_and_no_links():
    given = file("store.bootstrap.servers = s:9092\nstore.security.protocol = SSL\ngroup.id = night\n")
    assert given.links == ()
    assert given.service.store is not None
    assert given.service.store.bootstrap_servers == ("s:9092",)
    assert given.service.store.security.protocol == "SSL"
    assert given.service.group_id == "night"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"tasks_max": "many"}, "tasks.max: many is not valid"),
        ({"source_cluster_alias": ""}, "source.cluster.alias: missing"),
        ({"target_cluster_alias": "A"}, "the same alias"),
        ({"header_converter": "org.apache.kafka.connect.json.JsonConverter"}, "only ByteArrayConverter"),
        ({"transforms": "route"}, "transforms.route.type: "),
        ({"source_cluster_bootstrap_servers": "nonsense"}, "source.cluster.bootstrap.servers"),
    ],
)
def test_errors_name_the_keys_of_the_connector(more: dict[str, str], told: str):
    found = errors(connector(**more))
    assert any(told in one for one in found), found
    assert not any("->" in one for one in found), found


def test_the_names_of_classes_are_taken_as_connect_takes_them():
    assert sort_of(f"{MIRROR}MirrorSourceConnector") == "source"
    assert sort_of("MirrorCheckpointConnector") == "checkpoint"
    assert sort_of("MirrorHeartbeat") == "heartbeat"
    assert sort_of("io.confluent.connect.replicator.ReplicatorSourceConnector") == "replicator"
    assert sort_of("com.example.MirrorSourceConnector") is None
    assert sort_of("FileStreamSource") is None
    assert link_name(replicator("replicate-dc1-to-dc2")) == "dc1->dc2"


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.proves("R12")
def test_secrets_are_masked_and_kept_when_the_mask_comes_back():
    config = {
        "source.cluster.sasl.jaas.config": "x required password=hush;",
        "target.cluster.ssl.keystore.password": "${file:/run/secrets:ks}",
        "producer.override.ssl.key.password": "hush",
        "some.vendor.api-key": "hush",
        "key.converter": "ByteArrayConverter",
        "topics": "orders",
    }
    shown = masked(config)
    assert "hush" not in str(shown)
    assert shown["target.cluster.ssl.keystore.password"] == "${file:/run/secrets:ks}"
    assert shown["key.converter"] == "ByteArrayConverter"
    assert shown["topics"] == "orders"
    assert unmasked(shown, config) == config
    assert left_masked(unmasked({"a.password": "***"}, {})) == ["a.password"]
    assert "hush" not in repr(Connector("c", config))


@given(st.sampled_from(["sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", "ssl.truststore.password"]))
def test_a_secret_is_secret_behind_every_prefix(name: str):
    for prefix in ("", "source.cluster.", "target.cluster.", "src.kafka.", "dest.kafka.", "producer.override."):
        assert is_secret(prefix + name)


# --- the records of the links topic -----------------------------------------------------------------------------------

names = st.text(min_size=1, max_size=20)
configs = st.dictionaries(st.text(max_size=10), st.text(max_size=10), max_size=4)


@given(names, configs, st.sampled_from(["STARTED", "PAUSED", "STOPPED"]))
def test_what_is_written_to_the_topic_is_read_again(name: str, config: dict[str, str], state: Any):
    empty = GroupState("g")
    group_state = empty.take(*empty.config_record(name, config)).take(*empty.state_record(name, state))
    assert group_state.configs == {name: config}
    assert group_state.state_of(name) == state
    leader = Leader("i", "http://h:1", ("A->B",))
    assert group_state.take(*empty.leader_record(leader)).leader == leader
    assert GroupState("other").take(*empty.config_record(name, config)) == GroupState("other")
    gone = group_state.take(*empty.config_record(name, None)).take(*empty.state_record(name, None))
    assert (gone.configs, gone.states) == ({}, {})


@given(st.none() | st.binary(max_size=30), st.none() | st.binary(max_size=30))
def test_no_record_breaks_the_reader(key: bytes | None, value: bytes | None):
    group_state = GroupState("g").take(*GroupState("g").config_record("known", {"a": "b"}))
    for named in (key, b"g/" + (key or b""), b"g/leader", b"g/connector-x"):
        group_state = group_state.take(named, value)
    # Whatever it was, what is known besides stays.
    assert group_state.configs["known"] == {"a": "b"}


def test_every_sort_has_a_class():
    assert {sort_of(name): name for name in CLASSES.values()} == CLASSES
