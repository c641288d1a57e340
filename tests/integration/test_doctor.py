"""The doctor on real clusters: what is planted there is found there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.links import link_between
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until
from typer.testing import CliRunner

from twinlog.config.settings import LinkSettings
from twinlog.doctor.answers import Diagnosis
from twinlog.errors import ClusterError
from twinlog.kafka.acls import create_acls, delete_acls
from twinlog.kafka.admin import TopicOrder
from twinlog.local.cluster import LocalCluster
from twinlog.model.access.acls import AclBinding
from twinlog.service import examine_link
from twinlog.surface.cli.main import app


def examined(link: LinkSettings) -> dict[str, Diagnosis]:
    return {one.name: one for one in asyncio.run(examine_link(link))}


def test_faults_of_topics_are_found_where_they_are(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends()
    orders, events = ends.create("orders", 3, cleanup_policy="compact"), ends.create("events", retention_ms="-1")
    wrong = {
        "message.timestamp.type": "LogAppendTime",
        "max.message.bytes": "1000",
        "cleanup.policy": "delete",
        "unclean.leader.election.enable": "true",
        "message.timestamp.before.max.ms": "60000",
    }
    copies = [TopicOrder(ends.remote(orders), 2, -1, wrong), TopicOrder(ends.remote(events), 1, -1, {})]
    assert set(ends.target.create_topics(copies).values()) == {None}
    for name, partitions in ((orders, 2), (events, 1)):
        ends.await_topic(ends.target, ends.remote(name), partitions)

    answer = CliRunner().invoke(app, ["doctor", ends.link.name, "-c", str(ends.write_file(tmp_path)), "-o", "json"])

    assert answer.exit_code == 1
    found = {one["name"]: one for one in json.loads(answer.stdout)["checks"]}
    for name, verdict, topic in (
        ("time-type", "fail", orders),
        ("message-size", "fail", orders),
        ("cleanup-policy", "fail", orders),
        ("partitions", "fail", orders),
        ("time-limits", "fail", orders),
        ("unclean-election", "warn", orders),
        ("retention", "fail", events),
    ):
        assert (found[name]["verdict"], ends.remote(topic) in found[name]["seen"]) == (verdict, True), found[name]
        assert found[name]["remedy"].startswith("kafka-")
    assert "no engine has ever run" in found["engine"]["seen"]
    for name in ("two-clusters", "source-clock", "target-clock", "source-quotas", "target-disk", "source-version"):
        assert found[name]["verdict"] in {"ok", "warn"}, found[name]
    assert not [one for one in found.values() if "the check itself failed" in one["seen"]]


@pytest.mark.proves("R12", "R14")
def test_missing_rights_and_certificates_of_a_secure_target_are_told(
    source_cluster: LocalCluster, secure_cluster: LocalCluster
) -> None:
    target = secure_cluster
    own = Ends(source_cluster, target)
    orders = own.create("orders")
    assert own.target.create_topics([TopicOrder(f"A.{orders}", 1, -1, {})]) == {f"A.{orders}": None}
    own.await_topic(own.target, f"A.{orders}")

    found = examined(link_between(source_cluster, target, {"topics": orders}, user="twinlog"))

    assert found["target-answers"].verdict == "ok"
    assert found["target-certificates"].verdict in {"ok", "warn"}
    assert "CN=" in found["target-certificates"].seen or "O=" in found["target-certificates"].seen
    assert (found["target-topic-rights"].verdict, found["source-topic-rights"].verdict) == ("fail", "ok")
    assert (
        "--allow-principal User:twinlog --operation Describe --operation Write" in found["target-topic-rights"].remedy
    )
    assert found["target-create-right"].verdict == "fail"
    assert found["acl-rights"].seen == "Alter on the target cluster is missing"
    assert found["transaction-coordinator"].verdict == "fail"
    assert (found["target-disk"].verdict, found["target-clock"].verdict) == ("unknown", "unknown")
    assert "Describe on the cluster is needed" in found["target-clock"].seen
    password = target.password("twinlog")
    assert not [one for one in found.values() if password in f"{one.seen}{one.remedy}"]


def test_whoever_else_may_write_to_the_topics_of_our_own_is_named(
    source_cluster: LocalCluster, secure_cluster: LocalCluster
) -> None:
    admin = Ends(source_cluster, secure_cluster).target
    planted = AclBinding("topic", "literal", "*", "User:mallory", "*", "WRITE", "ALLOW")
    assert create_acls(admin, [planted]) == {planted: None}
    link = link_between(source_cluster, secure_cluster, {"topics": "orders"}, user="admin")
    try:

        def asked() -> Diagnosis:
            return examined(link)["target-own-topics"]

        found = wait_until(asked, lambda one: "mallory" in one.seen, within_s=60, what="the rule")
        assert found.verdict == "warn"
        assert "--deny-principal 'User:mallory'" in found.remedy
    finally:
        assert delete_acls(admin, [planted]) == {planted: None}


@pytest.mark.proves("R14")
def test_a_cluster_that_does_not_answer_leaves_the_checks_of_the_other(
    target_cluster: LocalCluster, tmp_path: Path
) -> None:
    dead = LocalCluster("dead", tmp_path / "dead")
    found = examined(link_between(dead, target_cluster, {"source.admin.request.timeout.ms": "1000"}))
    assert found["source-answers"].verdict == "fail"
    assert found["target-answers"].verdict == "ok"
    assert (found["source-clock"].verdict, found["target-clock"].verdict) == ("unknown", "ok")


@pytest.mark.proves("R14")
def test_topics_that_producers_would_miss_are_named_and_made_with_the_configs_of_their_copies(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends()
    topic = ends.create("orders", 3, retention_ms="123456789")
    ends.load(topic, 3).produce(10)
    file = str(ends.write_file(tmp_path))

    def checks() -> dict[str, str]:
        answer = CliRunner().invoke(app, ["doctor", ends.link.name, "-c", file, "-o", "json"])
        return {one["name"]: one["verdict"] for one in json.loads(answer.stdout)["checks"]}

    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    before = checks()
    assert (before["writers-topics"], before["way-back"]) == ("warn", "warn")
    assert CliRunner().invoke(app, ["link", "prepare", ends.link.name, "-c", file, "--dry-run"]).exit_code == 0
    assert topic not in ends.target.list_topics()
    assert CliRunner().invoke(app, ["link", "prepare", ends.link.name, "-c", file]).exit_code == 0
    assert ends.await_topic(ends.target, topic, 3).partitions == 3
    configs = ends.target.fetch_topic_configs([topic])[topic]
    assert not isinstance(configs, ClusterError)
    assert {one.name: one.value for one in configs}["retention.ms"] == "123456789"
    assert checks()["writers-topics"] == "ok"
