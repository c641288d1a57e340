"""ACLs on a real authorizer: MirrorMaker 2's rules, what `full` adds and removes, and clusters that have or give none.

One secure broker is both ends: the copies differ from their sources by name.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator

import pytest
from tests.kit.links import link_between
from tests.kit.waiting import wait_until

from twinlog.kafka.acls import create_acls, delete_acls
from twinlog.kafka.admin import ClusterAdmin
from twinlog.ledger.view import LedgerView
from twinlog.local.cluster import LocalCluster
from twinlog.model.access.acls import AclBinding, bindings_in_memos
from twinlog.model.ledger.records import RosterTopic
from twinlog.sync.acls import AclSync
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.wire.acls import fetch_acls


class Acls:
    """A link from the secure cluster to itself, with names and principals of its own."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.prefix = f"acl{uuid.uuid4().hex[:6]}"
        self._cluster = cluster
        self.view = LedgerView({})
        topic = f"{self.prefix}.orders"
        self.view.roster[topic] = RosterTopic(
            topic=topic, source_id="s", remote=f"A.{topic}", target_id="t", origins=[0]
        )
        self.admin = ClusterAdmin(link_between(cluster, cluster, {}).clients.target_admin)

    def binding(self, name: str, operation: str, *, pattern: str = "literal", resource: str = "topic") -> AclBinding:
        return AclBinding(resource, pattern, name, f"User:{self.prefix}", "*", operation, "ALLOW")  # type: ignore[arg-type]

    def grant(self, *bindings: AclBinding) -> None:
        assert set(create_acls(self.admin, bindings).values()) == {None}
        self.await_acls(lambda there: set(bindings) <= there)

    def revoke(self, *bindings: AclBinding) -> None:
        assert set(delete_acls(self.admin, bindings).values()) == {None}
        self.await_acls(lambda there: not set(bindings) & there)

    def there(self) -> set[AclBinding]:
        settings = link_between(self._cluster, self._cluster, {}).clients.target_admin
        found = asyncio.run(fetch_acls(settings, "test"))
        return {binding for binding in found if binding.principal == f"User:{self.prefix}"}

    def await_acls(self, accept) -> set[AclBinding]:
        """The broker answers from its own copy of the metadata, which follows the controller's."""
        return wait_until(self.there, accept, within_s=60, what=f"the ACLs of {self.prefix}")

    def step(self, *, user: str = "admin", **settings: str) -> Outcome:
        """Run the sync job once and remember what it wants remembered, as the service does."""
        wishes = {name.replace("_", "."): value for name, value in settings.items()}
        link = link_between(self._cluster, self._cluster, {"topics": f"{self.prefix}.*", **wishes}, user=user)
        outcome = asyncio.run(AclSync(LinkEnds.of(link), link.acls).step(self.view))
        mine = self.view.memos.setdefault("acls", {})
        mine.update({memo.name: memo for memo in outcome.memos})
        for name in outcome.forget:
            del mine[name]
        return outcome


@pytest.fixture
def acls(secure_cluster: LocalCluster) -> Iterator[Acls]:
    own = Acls(secure_cluster)
    yield own
    delete_acls(own.admin, own.there())


@pytest.mark.proves("R13")
def test_mirrormaker_s_rules_on_a_real_authorizer(acls: Acls) -> None:
    orders, prefix = f"{acls.prefix}.orders", acls.prefix
    given = {
        acls.binding(orders, "READ"),
        acls.binding(orders, "WRITE"),
        acls.binding(f"{prefix}.all", "ALL"),
        acls.binding(prefix, "READ", pattern="prefixed"),
    }
    acls.grant(*given)

    outcome = acls.step()

    expected = {acls.binding(f"A.{orders}", "READ"), acls.binding(f"A.{prefix}.all", "READ")}
    assert acls.await_acls(lambda there: len(there) == len(given) + 2) == given | expected
    assert (outcome.counts["created"], list(outcome.findings)) == (2, [])
    assert acls.step().counts["created"] == 0
    acls.revoke(acls.binding(orders, "READ"))
    assert acls.step().counts["removed"] == 0  # MirrorMaker 2 never takes anything back


@pytest.mark.proves("R13")
def test_full_follows_the_source_and_leaves_alone_what_was_there_before(acls: Acls) -> None:
    orders, prefix = f"{acls.prefix}.orders", acls.prefix
    read = acls.binding(prefix, "READ", pattern="prefixed")
    group = acls.binding(prefix, "READ", pattern="prefixed", resource="group")
    older = acls.binding(f"A.{orders}", "DESCRIBE")
    acls.grant(read, group, older, acls.binding(orders, "DESCRIBE"), acls.binding(orders, "WRITE"))

    outcome = acls.step(sync_topic_acls_mode="full")

    copied = acls.binding(f"A.{prefix}", "READ", pattern="prefixed")
    acls.await_acls(lambda there: copied in there)
    assert outcome.counts["created"] == 1  # the group is the same on both ends here
    held = bindings_in_memos("promote", {name: memo.body for name, memo in acls.view.memos["acls"].items()})
    assert held >= {acls.binding(f"A.{orders}", "WRITE")}

    acls.revoke(read, acls.binding(orders, "DESCRIBE"))
    assert acls.step(sync_topic_acls_mode="full").counts["removed"] == 1
    after = acls.await_acls(lambda there: copied not in there)
    assert older in after


@pytest.mark.proves("R14")
def test_no_authorizer_and_no_right_are_said_and_are_no_trouble(acls: Acls, source_cluster: LocalCluster) -> None:
    denied = acls.step(user="twinlog")
    assert "Describe on Cluster is needed" in denied.findings[0]
    assert not denied.memos

    open_link = link_between(source_cluster, source_cluster, {})
    none = asyncio.run(AclSync(LinkEnds.of(open_link), open_link.acls).step(LedgerView({})))
    assert not none.findings
    assert list(none.remarks) == ["A: has no authorizer, so there are no ACLs to sync"]
