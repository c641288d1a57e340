"""Every check of the doctor: in order on a healthy link, and seen to find what it is there to find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.kit.doctor_facts import (
    CLUSTER_RIGHTS,
    LEDGER,
    NOW,
    SETTINGS,
    Change,
    at,
    both,
    brokers,
    config,
    drill,
    healthy,
    may_write,
    note,
    notes,
    set_,
    settings,
    status,
    topic,
    with_schemas,
)
from tests.kit.settings_text import link as read_link

from twinlog.doctor.answers import Answer, CannotTell, Check, Diagnosis, diagnose
from twinlog.doctor.checks.own_topics import foreign_writers
from twinlog.doctor.facts import EndFacts, Facts
from twinlog.doctor.registry import CHECKS, examine
from twinlog.errors import AccessDenied, AuthorizerMissing, BrokerRefused, TopicUnknown
from twinlog.machine.sockets import SocketBuffers
from twinlog.model.groups.observed import ListedGroup
from twinlog.model.health.inspection import (
    BrokerFacts,
    CertificateFacts,
    ClockFacts,
    ClusterFacts,
    DiskFacts,
    NameFacts,
    QuotaFacts,
    Unknown,
)
from twinlog.model.ledger.control import Control
from twinlog.model.ledger.records import Engine, FaultEntry
from twinlog.model.verify.schemas import SchemaProof

GONE = Unknown("A: no broker answers: connection refused")
SAME = ClusterFacts("id-A", (BrokerFacts(9, "b9", 9092, None),), CLUSTER_RIGHTS)
CLASHING = ClusterFacts("id-B", (BrokerFacts(9, "A0", 9092, None),), CLUSTER_RIGHTS)
FAULT = FaultEntry(code="RECORD_TOO_LARGE", says="orders-0: too large", remedy="raise it")
SOON = (CertificateFacts("B0:9092", "CN=b", NOW + 5 * 86_400_000),)
OVER = (CertificateFacts("B0:9092", "CN=b", NOW - 86_400_000),)
BUSY = {"billing": ListedGroup("billing", "classic", "Stable")}
SHARED = {"sharing": ListedGroup("sharing", "share", "Stable")}
QUOTA = (QuotaFacts((("client-id", "twinlog"),), (("producer_byte_rate", 1000.0),)),)

PLANTED: list[tuple[str, Change, str, str]] = [
    ("source-answers", at("source", cluster=GONE), "fail", "connection refused"),
    ("target-answers", at("target", cluster=GONE), "fail", "connection refused"),
    ("two-clusters", at("target", cluster=SAME), "fail", "the same cluster"),
    ("two-clusters", at("target", cluster=CLASHING), "fail", "both clusters advertise A0:9092"),
    ("source-bootstrap", at("source", servers=("A0:9092",)), "warn", "one bootstrap server"),
    ("target-bootstrap", at("target", servers=("B0:9092",)), "warn", "one bootstrap server"),
    ("source-names", at("source", names=(NameFacts("a", ("1.1.1.1",), 86400),)), "warn", "86400 s"),
    ("target-names", at("target", names=(NameFacts("b", (), None),)), "fail", "no address for b"),
    ("source-version", at("source", versions={0: 9, 1: 12, 10: 3}), "fail", "groups cannot be asked"),
    ("target-version", at("target", versions={0: 9, 1: 12, 10: 4}), "warn", "created again"),
    ("source-certificates", at("source", certificates=SOON), "warn", "ends in 5 days"),
    ("target-certificates", at("target", certificates=OVER), "fail", "ended 1 days ago"),
    ("own-certificates", set_(own_certificates=OVER), "fail", "ended"),
    ("transaction-coordinator", set_(coordinator=Unknown("denied (53)", denied=True)), "fail", "denied"),
    ("source-topic-rights", topic("source", "orders", operations=frozenset({"DESCRIBE"})), "fail", "Read is missing"),
    (
        "source-topic-rights",
        at("source", topics={"orders": AccessDenied("A", "no")}),
        "fail",
        "Describe, Read is missing on orders",
    ),
    ("source-config-rights", topic("source", "orders", operations=frozenset({"READ"})), "fail", "DescribeConfigs"),
    ("target-topic-rights", topic("target", "A.orders", operations=frozenset({"DESCRIBE"})), "fail", "Write"),
    ("target-config-rights", topic("target", "A.orders", operations=frozenset({"WRITE"})), "fail", "AlterConfigs"),
    ("target-create-right", brokers("target", 3, operations=frozenset()), "warn", "Create on the cluster is missing"),
    (
        "target-create-right",
        both(brokers("target", 3, operations=frozenset()), set_(selected=("orders", "new"))),
        "fail",
        "new have no copy yet",
    ),
    ("source-group-rights", at("source", group_rights={"billing": frozenset()}), "fail", "Describe is missing"),
    ("source-group-rights", at("source", groups=Unknown("refused", denied=True)), "fail", "groups cannot be listed"),
    ("target-group-rights", at("target", group_rights={"g": frozenset({"DESCRIBE"})}), "fail", "Read is missing on g"),
    ("acl-rights", brokers("source", 3, operations=frozenset()), "warn", "Describe on the source"),
    ("acl-rights", brokers("target", 3, operations=frozenset({"DESCRIBE"})), "warn", "Alter on the target"),
    (
        "fence-rights",
        brokers("source", 3, operations=frozenset({"DESCRIBE"})),
        "warn",
        "Alter on the cluster is missing",
    ),
    (
        "fence-rights",
        both(
            brokers("source", 3, operations=frozenset({"DESCRIBE"})),
            topic("source", "orders", operations=frozenset({"READ"})),
        ),
        "fail",
        "AlterConfigs is missing",
    ),
    ("fence-rights", settings("switch.fence = none"), "warn", "shuts nobody out"),
    (
        "fence-rights",
        both(settings("switch.fence = acl"), brokers("target", 3, operations=frozenset())),
        "fail",
        "cannot shut producers out",
    ),
    (
        "source-own-topics",
        at("source", acls=frozenset({may_write("*", "User:mallory", "literal")})),
        "warn",
        "on A: User:mallory",
    ),
    ("target-own-topics", at("target", acls=AuthorizerMissing("B", "no")), "warn", "has no authorizer"),
    ("ledger-rights", topic("target", LEDGER, operations=frozenset({"DESCRIBE", "READ"})), "fail", "Write"),
    ("message-size", config("source", "orders", max_message_bytes="9000000"), "fail", "A.orders 1,048,588 < 9,000,000"),
    ("request-size", config("source", "orders", max_message_bytes="90000000"), "warn", "orders allows 90,000,000"),
    ("time-limits", config("target", "A.orders", message_timestamp_after_max_ms="1000"), "fail", "after.max.ms"),
    ("old-records", config("target", "A.orders", message_timestamp_before_max_ms="86400000"), "warn", "1 days"),
    ("time-type", config("target", "A.orders", message_timestamp_type="LogAppendTime"), "fail", "A.orders"),
    ("source-quotas", at("source", quotas=QUOTA), "warn", "producer_byte_rate 1,000"),
    (
        "target-quotas",
        at("target", quotas=(QuotaFacts((("user", None),), (("request_percentage", 5.0),)),)),
        "warn",
        "user by default",
    ),
    ("scram-users", at("target", scram_users={}), "warn", "anna (SCRAM-SHA-512)"),
    ("equal-quotas", at("source", quotas=QUOTA), "warn", 'client-id="twinlog" producer_byte_rate 1000'),
    ("retention", config("target", "A.orders", retention_ms="1000"), "fail", "retention.ms 1000 < 604800000"),
    ("retention", config("source", "orders", retention_ms="-1"), "fail", "< -1"),
    ("time-to-loss", set_(status=status(lag=5, newest_ms=NOW - 9_000_000, keeps=(1, -1))), "fail", "at any moment"),
    ("time-to-loss", set_(status=status(lag=5, newest_ms=NOW, keeps=(600_000, -1))), "warn", "in 10 min"),
    ("cleanup-policy", config("target", "A.orders", cleanup_policy="compact"), "fail", "compact, not delete"),
    (
        "tombstones",
        both(
            config("source", "orders", cleanup_policy="compact"),
            config("target", "A.orders", delete_retention_ms="5", cleanup_policy="compact"),
        ),
        "warn",
        "forgotten sooner on A.orders",
    ),
    ("config-differences", set_(notes=notes(configs=note("configs", findings=["a b"], found=1))), "warn", "a b"),
    ("config-differences", settings("sync.topic.configs.enabled = false"), "warn", "not synced"),
    ("offsets-retention", at("target", broker_configs={0: {"offsets.retention.minutes": "60"}}), "warn", "60 minutes"),
    ("replication-factor", topic("target", "A.orders", replication_factor=1), "fail", "one replica only: A.orders"),
    ("replication-factor", topic("target", "A.orders", replication_factor=2), "warn", "A.orders 2"),
    ("replication-factor", brokers("target", 1), "warn", "one broker"),
    ("min-insync", config("target", "A.orders", min_insync_replicas="3"), "fail", "every replica of A.orders"),
    ("min-insync", config("target", "A.orders", min_insync_replicas="1"), "warn", "one disk only"),
    ("source-replicas", topic("source", "orders", under_replicated=(2,)), "warn", "orders-2"),
    ("target-replicas", topic("target", LEDGER, offline=(1,)), "fail", f"{LEDGER}-1"),
    ("unclean-election", config("target", "A.orders", unclean_leader_election_enable="true"), "warn", "B: A.orders"),
    ("source-disk", at("source", disks=(DiskFacts(4, "/d", 1000, 150),)), "warn", "broker 4 has 15%"),
    ("target-disk", at("target", disks=(DiskFacts(4, "/d", 1000, 50),)), "fail", "5%"),
    ("ledger", config("target", LEDGER, cleanup_policy="delete"), "fail", "not compacted"),
    ("ledger", topic("target", LEDGER, replication_factor=1), "warn", "1 replicas"),
    ("ledger", config("target", LEDGER, min_insync_replicas="1"), "warn", "min.insync.replicas is 1"),
    ("ledger-size", at("target", disks=(DiskFacts(0, "/d", 10**12, 10**11, 6 * 10**9),)), "warn", "6.0 GB"),
    ("internal-topics", topic("target", "__consumer_offsets", replication_factor=1), "warn", "__consumer_offsets"),
    ("auto-create", at("target", broker_configs={0: {"auto.create.topics.enable": "true"}}), "warn", "any topic"),
    ("source-line", set_(sockets=SocketBuffers(212_992, 4_194_304)), "warn", "carries 3 MB/s"),
    ("target-line", at("target", round_trip_s=0.3), "warn", "300 ms round trip"),
    ("source-clock", at("source", clock=ClockFacts(-90_000.0, 5.0)), "fail", "90,000 ms behind"),
    ("target-clock", at("target", clock=ClockFacts(3_000.0, 5.0)), "warn", "3,000 ms ahead"),
    ("record-times", set_(status=status(newest_ms=NOW + 3_600_000)), "warn", "orders-0 by 3,600 s"),
    ("group-sync", settings("sync.group.offsets.enabled = false"), "fail", "not written"),
    ("group-sync-fresh", set_(notes=notes(groups=None)), "fail", "never translated"),
    ("group-sync-fresh", set_(notes=notes(groups=note("groups", trouble="denied"))), "fail", "denied"),
    ("group-sync-fresh", set_(notes=notes(groups=note("groups", at_ms=NOW - 900_000))), "fail", "900 s ago"),
    ("group-positions", set_(notes=notes(groups=note("groups", found=1, findings=["g: x"]))), "warn", "g: x"),
    ("target-groups-idle", at("target", groups=BUSY), "warn", "billing"),
    ("share-groups", at("source", groups=SHARED), "warn", "sharing"),
    ("checkpoints", at("target", topics={}), "warn", "A.checkpoints.internal does not exist"),
    ("checkpoints", settings("emit.checkpoints.enabled = false"), "warn", "switched off"),
    ("heartbeats", set_(notes=notes(heartbeats=note("heartbeats", counts={"canary_ms": 40_000}))), "warn", "40,000"),
    ("heartbeats", settings("emit.heartbeats.enabled = false"), "warn", "switched off"),
    ("names-collide", set_(selected=("orders", "or.ders", "or_ders")), "fail", "or_ders as A.or_ders"),
    ("names-fit", set_(selected=("x" * 249,)), "fail", "longer than 249"),
    ("partitions", topic("target", "A.orders", partitions=2), "fail", "fewer partitions than the source: A.orders"),
    ("partitions", topic("target", "A.orders", partitions=4), "warn", "more partitions"),
    ("schemas", set_(source_topics=("_schemas", "orders")), "warn", "_schemas is not mirrored"),
    (
        "schemas",
        both(set_(source_topics=("_schemas",), selected=("_schemas",)), settings("registry.mirror = off")),
        "warn",
        "becomes A._schemas",
    ),
    ("schemas-compacted", with_schemas("source", cleanup_policy="delete"), "fail", "A: cleanup.policy of _schemas"),
    ("schemas-replicas", with_schemas("target", replicas=1), "fail", "B: _schemas has 1 replicas on 3 brokers"),
    ("schemas-size", with_schemas("target", max_message_bytes="1000"), "fail", "takes 1000 bytes"),
    (
        "schemas-in-step",
        both(with_schemas("source"), set_(notes={"registry": note("registry", trouble="SCHEMA_DIVERGED: x")})),
        "fail",
        "SCHEMA_DIVERGED",
    ),
    (
        "schemas-in-step",
        both(with_schemas("source"), set_(notes={"registry": note("registry", counts={"behind": 500})})),
        "warn",
        "500 records behind",
    ),
    (
        "schemas-readable",
        both(with_schemas("source"), set_(schema_proof=SchemaProof(1, 9, 1, 0, 0, ("orders: id 7 is unknown on B",)))),
        "fail",
        "orders: id 7 is unknown on B",
    ),
    ("schemas-leader", with_schemas("source"), "warn", "no instance of the registry is in group schema-registry"),
    ("all-mirrored", set_(selected=("orders", "new")), "fail", "selected and not mirrored: new"),
    ("selection", set_(source_topics=("orders", "other")), "warn", "not selected: other"),
    ("selection", set_(selected=()), "fail", "no topic at all"),
    ("writers-topics", set_(target_topics=("A.orders",)), "warn", "will not find on B: orders"),
    ("way-back", set_(back_enabled=False), "warn", "B->A is not enabled"),
    ("engine", set_(status=replace(status(), engine=None)), "fail", "ever run"),
    ("engine", set_(status=replace(status(), now_ms=NOW + 60_000)), "fail", "silent for 62 s"),
    (
        "engine-trouble",
        set_(status=replace(status(), engine=Engine(engine_id="e", trouble="epochs fail: boom", at_ms=NOW))),
        "fail",
        "boom",
    ),
    ("faults", set_(status=replace(status(), problems=(FAULT,))), "fail", "orders-0: too large"),
    ("paused", set_(status=replace(status(), control=Control(topics=frozenset({"logs"})))), "fail", "not copied: logs"),
    ("chores", set_(notes=notes(acls=note("acls", trouble="denied"))), "fail", "acls: denied"),
    ("writers-rights", settings("sync.topic.acls.mode = mm2"), "warn", "not copied"),
    ("writers-rights", set_(notes=notes(acls=note("acls", findings=["x"], found=1))), "warn", "x"),
    ("rpo", set_(status=status(lag=9, covered_ago_s=100)), "fail", "orders 100 s > 60 s"),
    ("rpo", set_(link=read_link("sync.topic.acls.mode = full")), "warn", "no objective"),
    ("rto", set_(drill=drill(rto_seconds=1000.0)), "fail", "1,000 s of 900 s"),
    ("rto", set_(drill=None), "warn", "no drill"),
    ("drilled", set_(drill=None), "warn", "never rehearsed"),
    ("drilled", set_(drill=drill(verdict="failed")), "fail", "failed"),
    ("drilled", set_(drill=drill(at_ms=NOW - 200 * 86_400_000)), "warn", "200 days ago"),
]


def answers(facts: Facts) -> dict[str, Diagnosis]:
    return {one.name: one for one in examine(facts)}


def test_a_healthy_link_is_in_order_in_every_respect() -> None:
    assert {name: one.seen for name, one in answers(healthy()).items() if one.verdict != "ok"} == {}
    assert len(CHECKS) >= 25


@pytest.mark.parametrize(("name", "change", "verdict", "words"), PLANTED)
def test_a_planted_fault_is_found_and_comes_with_its_remedy(
    name: str, change: Change, verdict: str, words: str
) -> None:
    found = answers(change(healthy()))[name]
    assert found.verdict == verdict, found
    assert words in found.seen
    assert found.why
    assert found.remedy


def test_no_check_was_never_seen_to_find_something() -> None:
    assert {check.name for check in CHECKS} == {name for name, *_ in PLANTED}
    assert len({check.name for check in CHECKS}) == len(CHECKS)


@pytest.mark.proves("R14")
def test_what_could_not_be_asked_is_unknown_with_the_reason_and_never_in_order() -> None:
    nothing = Facts(read_link(SETTINGS), EndFacts("A"), EndFacts("B"), NOW)
    found = answers(nothing)
    # What the settings alone decide needs no cluster, and an empty selection collides with nothing.
    assert {name for name, one in found.items() if one.verdict == "ok"} <= {
        "group-sync",
        "names-collide",
        "names-fit",
        "source-certificates",
        "target-certificates",
    }
    assert {one.seen for one in found.values() if one.verdict == "unknown"} >= {"it was not asked"}


def test_a_cluster_that_is_gone_takes_nothing_else_with_it() -> None:
    found = answers(replace(healthy(), source=EndFacts("A", cluster=GONE, topics=GONE, configs=GONE, clock=GONE)))
    assert found["source-answers"].verdict == "fail"
    assert (found["source-clock"].verdict, found["source-clock"].seen) == ("unknown", GONE.why)
    assert (found["target-clock"].verdict, found["engine"].verdict) == ("ok", "ok")


@pytest.mark.proves("R14")
@pytest.mark.parametrize(
    ("met", "advice"),
    [
        ("SaslAuthenticateRequest failed: Authentication failed: invalid credentials", "Correct sasl.jaas.config of B"),
        ("b:9092: certificate verify failed: self-signed certificate", "Set ssl.truststore.location of B"),
        ("b:9092: the broker closed the connection", "Compare security.protocol of B with the listener"),
        ("b:9092: connection refused", "kafka-broker-api-versions.sh --bootstrap-server B0:9092"),
    ],
)
def test_a_cluster_that_lets_nobody_in_comes_with_the_advice_for_its_cause(met: str, advice: str) -> None:
    refused = Unknown(f"B: {met}", denied=True)
    seen = answers(both(at("target", cluster=refused), set_(coordinator=refused))(healthy()))
    assert seen["target-answers"].verdict == "fail"
    assert seen["target-answers"].remedy.startswith(advice)
    assert seen["transaction-coordinator"].verdict == "unknown"
    assert "kafka-acls" not in seen["transaction-coordinator"].remedy


@pytest.mark.proves("R14")
def test_a_link_that_was_switched_is_not_called_silent() -> None:
    engine = Engine(engine_id="e", phase="switched", at_ms=NOW - 90_000, trouble="B is the active side")
    seen = answers(set_(status=replace(status(), engine=engine, active="B", now_ms=NOW))(healthy()))
    assert seen["engine"].seen == "at rest on purpose: B is the active side"
    assert (seen["engine"].verdict, seen["engine-trouble"].verdict, seen["rpo"].verdict) == ("warn", "ok", "warn")
    assert seen["engine"].remedy.startswith("twinlog failback 'A->B'")


@pytest.mark.proves("R14")
def test_a_long_wait_for_the_source_does_not_make_the_engine_silent() -> None:
    found = answers(replace(healthy(), now_ms=NOW + 60_000))["engine"]
    assert (found.verdict, found.seen) == ("ok", "generation 1 on h, heard 2 s ago")


def test_a_check_that_breaks_says_so_and_the_others_go_on() -> None:
    def broken(_: Facts) -> Answer:
        raise ZeroDivisionError("oops")

    def silent(_: Facts) -> Answer:
        raise CannotTell("nobody asked")

    fine = Check("fine", "t", "why", lambda _: Answer("ok", "yes"))
    found = diagnose([Check("broken", "t", "why", broken), Check("silent", "t", "why", silent), fine], healthy())
    assert [one.verdict for one in found] == ["unknown", "unknown", "ok"]
    assert "ZeroDivisionError" in found[0].seen
    assert "oops" not in found[0].seen, "its words may quote a secret"


@pytest.mark.proves("R14")
@pytest.mark.parametrize(
    ("check", "change", "verdict"),
    [
        ("target-topic-rights", at("target", topics={"A.orders": TopicUnknown("B", "A.orders")}), "ok"),
        (
            "target-topic-rights",
            at("target", topics={"A.orders": BrokerRefused("B", "LEADER_NOT_AVAILABLE")}),
            "unknown",
        ),
        ("target-group-rights", at("target", group_rights={"g": BrokerRefused("B", "NOT_COORDINATOR")}), "unknown"),
        ("source-group-rights", at("source", groups=Unknown("no answer")), "unknown"),
    ],
)
def test_what_is_not_there_or_not_answered_is_no_missing_right(check: str, change: Change, verdict: str) -> None:
    found = answers(change(healthy()))[check]
    assert found.verdict == verdict
    assert "missing" not in found.seen


@pytest.mark.parametrize(
    ("rules", "strangers"),
    [
        ([("*", "literal", "ALLOW")], True),
        (("__twin", "prefixed", "ALLOW"), True),
        (("", "prefixed", "ALLOW"), True),
        (("__twinlog-switch", "literal", "ALLOW"), True),
        (("__twinlog-ledger", "prefixed", "ALLOW"), True),
        (("orders", "prefixed", "ALLOW"), False),
        ([("*", "literal", "ALLOW"), ("__twinlog-", "prefixed", "DENY")], False),
        ([("*", "literal", "ALLOW"), ("__twinlog-links", "literal", "DENY")], True),
    ],
)
def test_whoever_may_write_to_a_topic_of_ours_is_known_by_their_rules(rules: Any, strangers: bool) -> None:
    listed = rules if isinstance(rules, list) else [rules]
    found = [may_write(name, "User:x", pattern, permission) for name, pattern, permission in listed]
    assert bool(foreign_writers(found, frozenset({"User:mirror"}))) == strangers
    assert not foreign_writers(found, frozenset({"User:x"}))
    everybody = may_write("__twinlog-", "User:*", "prefixed", "DENY")
    assert not foreign_writers([*found, everybody], frozenset())
