"""What an application needs on the other side beside ACLs: its SCRAM user, its quotas, its group's configs."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from tests.kit.links import link_between
from tests.kit.waiting import wait_until

from twinlog.ledger.view import LedgerView
from twinlog.model.access.client_quotas import entity_of, quota_values
from twinlog.model.wanted import Wanted
from twinlog.sync.answers.link_diff import differences
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome, SyncJob
from twinlog.sync.scram_users import ScramUserList
from twinlog.sync.value_tables import GROUP_CONFIGS, QUOTAS, ValueSync
from twinlog.wire.connection import Cluster
from twinlog.wire.group_configs import alter_group_configs, fetch_group_configs
from twinlog.wire.quotas import alter_quotas, fetch_quotas


class Logins:
    """A link between two real clusters, with users and groups of its own."""

    def __init__(self, source, target) -> None:
        self.user = f"u{uuid.uuid4().hex[:8]}"
        self.entity = f'user="{self.user}"'
        self.ends = LinkEnds.of(link_between(source, target, {"sync.client.quotas.mode": "sync"}))
        self.view = LedgerView({})

    def on(self, end, ask):
        """One question to an end, by the protocol."""

        async def asked():
            settings = self.ends.link.clients.source_admin if end == "source" else self.ends.link.clients.target_admin
            cluster = Cluster(settings, "test")
            try:
                return await ask(cluster)
            finally:
                await cluster.close()

        return asyncio.run(asked())

    def quota(self, end) -> dict[str, str]:
        return quota_values(self.on(end, fetch_quotas)).get(self.entity, {})

    def set_quota(self, end, **limits: float | None) -> None:
        wanted = {key: limit for key, limit in limits.items() if limit is not None}
        assert self.on(end, lambda cluster: alter_quotas(cluster, {entity_of(self.entity): limits})) == {}
        wait_until(
            lambda: self.quota(end),
            lambda there: {key: float(value) for key, value in there.items() if key in limits} == wanted,
            within_s=30,
            what="the quota to be known",
        )

    def step(self, chore: SyncJob) -> Outcome:
        outcome = asyncio.run(chore.step(self.view))
        for memo in outcome.memos:
            self.view.memos.setdefault(memo.chore, {})[memo.name] = memo
        for name in outcome.forget:
            self.view.memos[chore.name].pop(name)
        return outcome

    def mine(self, outcome: Outcome) -> list[str]:
        return [finding for finding in outcome.findings if self.user in finding]


@pytest.fixture
def logins(source_cluster, target_cluster):
    moving = Logins(source_cluster, target_cluster)
    yield moving
    for end in ("source", "target"):
        left = moving.quota(end)
        if left:
            moving.set_quota(end, **dict.fromkeys(left))


@pytest.mark.proves("R13")
def test_a_quota_follows_the_source_and_one_set_by_hand_stays(logins):
    quotas = ValueSync(logins.ends, QUOTAS, "sync", 1)
    logins.set_quota("source", producer_byte_rate=1_000_000.0, request_percentage=50.0)
    logins.set_quota("target", request_percentage=25.0)
    outcome = logins.step(quotas)
    wait_until(
        lambda: logins.quota("target"),
        lambda there: there == {"producer_byte_rate": "1000000", "request_percentage": "25"},
        within_s=30,
        what="the quota on the target",
    )
    assert logins.mine(outcome) == [f"client quota {logins.entity} request_percentage: 50 on A, 25 on B"]

    logins.set_quota("source", producer_byte_rate=None)
    logins.step(quotas)
    wait_until(
        lambda: logins.quota("target"),
        lambda there: there == {"request_percentage": "25"},
        within_s=30,
        what="the dropped quota to go, and the one set by hand to stay",
    )


@pytest.mark.proves("R13")
def test_quotas_are_only_listed_by_default(logins):
    logins.set_quota("source", consumer_byte_rate=2048.0)
    outcome = logins.step(ValueSync(logins.ends, QUOTAS, "list", 1))
    assert logins.mine(outcome) == [f"client quota {logins.entity} consumer_byte_rate: 2048 on A, not set on B"]
    assert logins.quota("target") == {}
    assert outcome.memos == []
    listed = [
        one for one in asyncio.run(differences(logins.ends, Wanted("--topic"))).differences if logins.user in one.thing
    ]
    assert [(one.kind, one.source, one.target) for one in listed] == [("quota", "2048", "unset")]


@pytest.mark.proves("R13")
def test_configs_of_a_group_follow_the_source(logins):
    group, config = f"group-{logins.user}", {"consumer.session.timeout.ms": "50000"}
    assert logins.on("source", lambda cluster: alter_group_configs(cluster, {group: config})) == {}
    wait_until(
        lambda: logins.on("source", fetch_group_configs).get(group),
        lambda there: there == config,
        within_s=30,
        what="the group's config on the source",
    )
    logins.step(ValueSync(logins.ends, GROUP_CONFIGS, "sync", 1))
    wait_until(
        lambda: logins.on("target", fetch_group_configs).get(group),
        lambda there: there == config,
        within_s=30,
        what="the group's config on the target",
    )
    for end in ("source", "target"):
        gone = {group: dict.fromkeys(config)}
        assert logins.on(end, lambda cluster, gone=gone: alter_group_configs(cluster, gone)) == {}


@pytest.mark.proves("R13")
def test_a_user_who_cannot_log_in_on_the_target_is_named(logins, source_cluster):
    admin = AdminClient({**source_cluster.client_properties("admin")})
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    wish = UserScramCredentialUpsertion(logins.user, credential, b"correct horse")
    admin.alter_user_scram_credentials([wish])[logins.user].result(30)
    users = ScramUserList(logins.ends, logins.ends.link.logins)
    named = wait_until(lambda: logins.mine(logins.step(users)), bool, within_s=30, what="the missing user")
    assert named == [f"user {logins.user} (SCRAM-SHA-512) cannot log in on B: create the user there"]


def test_without_the_right_the_finding_names_it(secure_cluster):
    link = link_between(secure_cluster, secure_cluster, {}, user="twinlog")
    ends = LinkEnds.of(link)
    outcome = asyncio.run(ScramUserList(ends, ends.link.logins).step(LedgerView({})))
    assert len(outcome.findings) == 1
    assert "Describe on the cluster is needed" in outcome.findings[0]
    assert "sync.scram.users.mode = off" in outcome.findings[0]
