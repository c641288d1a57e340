"""A link that lacks rights on the target: the cause is named, and one denied topic costs no other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.kit.ends import Ends
from tests.kit.links import link_between
from tests.kit.threads import engine_running

from twinlog.kafka.client_options import client_options
from twinlog.local.cluster import LocalCluster
from twinlog.wire.fence import Fence, Producer

pytestmark = pytest.mark.proves("R8", "R14")
ME = "User:twinlog"


class Restricted(Ends):
    """A link whose user on the target has only the rights that a test gives."""

    @property
    def properties(self) -> str:
        mine = self.target_cluster.client_properties("twinlog")
        return super().properties + "".join(f"T.{name} = {value}\n" for name, value in mine.items())


class Rights:
    """Rights of the link's user on one cluster; taken away at the end."""

    def __init__(self, cluster: LocalCluster) -> None:
        client = client_options(link_between(cluster, cluster, {}).clients.target_admin)
        self._admin = AdminClient({key: str(value) for key, value in client.items()})
        self._given: list[AclBinding] = []

    def change(
        self,
        kind: ResourceType,
        name: str,
        operation: AclOperation = AclOperation.ALL,
        permission: AclPermissionType = AclPermissionType.ALLOW,
    ) -> AclBinding:
        binding = AclBinding(kind, name, ResourcePatternType.LITERAL, ME, "*", operation, permission)
        for future in self._admin.create_acls([binding]).values():
            future.result(30)
        self._given.append(binding)
        return binding

    def take(self, *bindings: AclBinding) -> None:
        filters = [
            AclBindingFilter(
                b.restype, b.name, b.resource_pattern_type, b.principal, b.host, b.operation, b.permission_type
            )
            for b in bindings
        ]
        for future in self._admin.delete_acls(filters).values() if filters else ():
            future.result(30)
        self._given = [binding for binding in self._given if binding not in bindings]

    def take_all(self) -> None:
        self.take(*self._given)


@pytest.fixture
def rights(secure_cluster: LocalCluster) -> Iterator[Rights]:
    rights = Rights(secure_cluster)
    rights.change(ResourceType.TOPIC, "*")
    rights.change(ResourceType.GROUP, "*")
    rights.change(ResourceType.BROKER, "kafka-cluster")
    yield rights
    rights.take_all()


def test_a_link_without_the_right_to_its_transactional_ids_says_so_and_is_not_running(
    source_cluster: LocalCluster, secure_cluster: LocalCluster, rights: Rights, tmp_path: Path
) -> None:
    ends = Restricted(source_cluster, secure_cluster)
    name = ends.create("orders")
    ends.load(name).produce(100)
    with engine_running(ends.link, tmp_path):
        status = ends.await_status(
            lambda s: s.engine is not None and "transactional id" in (s.engine.trouble or ""), "the cause", within_s=30
        )
        assert status.state not in {"RUNNING", "CATCHING_UP"}
        rights.change(ResourceType.TRANSACTIONAL_ID, "*")
        ends.await_copied(name)
        ends.await_status(lambda s: s.engine is not None and s.engine.trouble is None, "the end of the trouble")
    ends.check(name)


def test_a_denied_topic_is_named_and_costs_no_take_over(
    source_cluster: LocalCluster,
    secure_cluster: LocalCluster,
    rights: Rights,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []
    take_over = Fence.take_over

    async def counted(fence: Fence, name: str, shard: int) -> Producer:
        taken.append(shard)
        return await take_over(fence, name, shard)

    monkeypatch.setattr(Fence, "take_over", counted)
    rights.change(ResourceType.TRANSACTIONAL_ID, "*")
    ends = Restricted(source_cluster, secure_cluster, ledger_shards="1")
    fine, denied = ends.create("fine"), ends.create("denied")
    beside, load = ends.load(fine), ends.load(denied)
    beside.produce(10)
    load.produce(10)
    with engine_running(ends.link, tmp_path) as engine:
        ends.await_copied(fine, denied)
        deny = rights.change(ResourceType.TOPIC, ends.remote(denied), AclOperation.WRITE, AclPermissionType.DENY)
        before = len(taken)
        load.produce(10)
        part = ends.await_fault("PARTITION_ACCESS_DENIED", denied)
        assert part.fault is not None
        assert "Write" in part.fault.says
        since = part.fault.since_ms
        deadline = time.monotonic() + 5  # two attempts
        while time.monotonic() < deadline:
            beside.produce(10)
            ends.await_copied(fine, within_s=20)
        assert len(taken) == before
        assert [query.exception() for query in engine.queries] == [None]
        again = ends.await_fault("PARTITION_ACCESS_DENIED", denied)
        assert again.fault is not None
        assert again.fault.since_ms == since
        rights.take(deny)
        ends.await_copied(denied)
    ends.check(fine, denied)
