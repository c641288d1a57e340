"""A switch between clusters with authorizers: producers stay out by name while the link copies into the old primary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer
from tests.kit.ends import Ends
from tests.kit.logs import Cluster, read_logs
from tests.kit.switches import IDENTITY, do_switch, service_running, switching
from tests.kit.waiting import wait_until

from twinlog.kafka.acls import create_acls
from twinlog.kafka.admin import ClusterAdmin
from twinlog.local.cluster import LocalCluster
from twinlog.model.access.acls import AclBinding
from twinlog.model.switch.events import Acted, SwitchEvent

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]
DENIED = KafkaError.TOPIC_AUTHORIZATION_FAILED


class Application:
    """Writes numbers as a user that may do what ACLs grant, and nothing else."""

    def __init__(self, admin: ClusterAdmin, cluster: LocalCluster, topic: str) -> None:
        grants = [
            AclBinding("topic", "literal", topic, "User:twinlog", "*", operation, "ALLOW")
            for operation in ("WRITE", "DESCRIBE")
        ]
        assert set(create_acls(admin, grants).values()) == {None}
        self.topic = topic
        java = cluster.client_properties("twinlog")
        self._client = {
            "bootstrap.servers": java["bootstrap.servers"],
            "security.protocol": java["security.protocol"],
            "sasl.mechanism": java["sasl.mechanism"],
            "sasl.username": "twinlog",
            "sasl.password": cluster.password("twinlog"),
            "ssl.ca.location": str(cluster.authority),
            "message.timeout.ms": "20000",
            "log_level": "0",
        }

    def write(self, number: int) -> int | None:
        """One record; the code of the error, if it is refused."""
        producer = Producer(dict(self._client))
        errors: list[KafkaError | None] = []
        producer.produce(self.topic, str(number).encode(), on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(30) == 0
        (error,) = errors
        return None if error is None else error.code()

    def await_allowed(self, number: int) -> None:
        """Write once it may: brokers learn of a rule a moment after it was made."""
        wait_until(lambda: self.write(number), lambda code: code is None, within_s=30, what=f"{number} to be taken")


def numbers(cluster: Cluster, topic: str) -> list[int]:
    return [int(record.value or b"-1") for record in read_logs(cluster, topic, "read_committed")[0]]


@pytest.mark.proves("R1", "R2", "R10")
def test_the_old_primary_takes_the_link_s_records_and_nobody_else_s_until_the_swap(
    make_cluster: Callable[..., LocalCluster], tmp_path: Path
) -> None:
    source, target = make_cluster("primary", secure=True), make_cluster("standby", secure=True)
    ends = Ends(source, target, replication_policy_class=IDENTITY, sync_topic_acls_enabled="false")
    topic = ends.create("orders")
    here, there = Application(ends.source, source, topic), Application(ends.target, target, topic)
    here.await_allowed(0)
    during: list[int | None] = []

    def on_event(event: SwitchEvent) -> None:
        if isinstance(event, Acted) and event.step in {"admit", "copy-back"}:
            during.append(here.write(-1))

    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(topic)
        facts, plan = asyncio.run(switching(ends, tmp_path).plan("failover-planned"))
        assert (facts.fence, facts.target_fence) == ("acl", "acl")
        assert plan.steps[-1].id == "reverse"
        assert do_switch(ends, tmp_path, "failover-planned").active == "T"
        assert here.write(-1) == DENIED
        there.await_allowed(1)

        assert do_switch(ends, tmp_path, "failback-delta", on_event).active == ends.alias
        assert during == [DENIED, DENIED]
        assert there.write(-1) == DENIED
        here.await_allowed(2)
        wait_until(
            lambda: numbers(ends.target_logs, topic), lambda log: log == [0, 1, 2], within_s=60, what="a copying link"
        )
        assert numbers(ends.source_logs, topic) == [0, 1, 2]

        assert do_switch(ends, tmp_path, "failover-planned").active == "T"
        assert here.write(-1) == DENIED
        there.await_allowed(3)
    assert numbers(ends.target_logs, topic) == [0, 1, 2, 3]
