"""A fence by ACL on a cluster with an authorizer: everybody out, the link in by name, everybody as before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Producer

from twinlog.config.resolve import resolve
from twinlog.config.switch_settings import SwitchSettings
from twinlog.kafka.acls import create_acls, delete_acls
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.client_options import client_options
from twinlog.local.cluster import LocalCluster
from twinlog.model.access.acls import AclBinding
from twinlog.recovery.fencing import Fence, deny
from twinlog.recovery.proof import Deadline

pytestmark = pytest.mark.chaos


def test_producers_are_shut_out_and_let_in_again_by_acl(make_cluster: Callable[..., LocalCluster]) -> None:
    cluster = make_cluster("secure", secure=True)
    lines = ["clusters = A, B", "A->B.enabled = true"]
    for alias in ("A", "B"):
        lines += [f"{alias}.{key} = {value}" for key, value in cluster.client_properties("admin").items()]
    (link,) = resolve("\n".join(lines).encode("latin-1"), "f", (), {}).links
    admin = ClusterAdmin(link.clients.target_admin)
    assert admin.create_topics([TopicOrder("orders", 1, 1, {})]) == {"orders": None}
    grants = {
        AclBinding("topic", "prefixed", "ord", "User:twinlog", "*", operation, "ALLOW")
        for operation in ("WRITE", "DESCRIBE")
    }
    assert set(create_acls(admin, grants).values()) == {None}
    foreign = deny("orders", "User:mallory")
    assert create_acls(admin, [foreign]) == {foreign: None}
    fence = Fence.around(admin, link, SwitchSettings(), "acl")
    assert produce(cluster) is None

    noted = asyncio.run(fence.note(["orders"]))
    ends = asyncio.run(fence.shut(["orders"], Deadline("A->B", "fence", 20), noted))
    assert list(ends.values()) == [1]
    assert produce(cluster) == KafkaError.TOPIC_AUTHORIZATION_FAILED

    said = asyncio.run(fence.admit_link(["orders"], noted))
    assert "1 principals by name" in said
    assert produce(cluster) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert asyncio.run(
        Fence(admin, link.clients.target_admin, "acl", frozenset({"User:twinlog"})).writers(["orders"])
    ) == {"orders": set()}

    asyncio.run(fence.lift(["orders"], noted))
    asyncio.run(fence.lift(["orders"], noted))
    assert produce(cluster) is None
    assert delete_acls(admin, [foreign]) == {foreign: None}  # a rule from before us was left alone


def produce(cluster: LocalCluster) -> int | None:
    """One record as an application; the error's code."""
    lines = ["clusters = A, B", "A->B.enabled = true"]
    for alias in ("A", "B"):
        lines += [f"{alias}.{key} = {value}" for key, value in cluster.client_properties("twinlog").items()]
    (link,) = resolve("\n".join(lines).encode("latin-1"), "f", (), {}).links
    options = {key: str(value) for key, value in client_options(link.clients.target_producer).items()}
    producer = Producer({**options, "message.timeout.ms": "8000", "log_level": "0"})
    errors: list[KafkaError | None] = []
    producer.produce("orders", b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(20) == 0
    (error,) = errors
    return None if error is None else error.code()
