"""Shutting producers out of topics, and letting them in again. Runs in the command that switches, and in the guard.

Two means, both tried on real brokers:

acl            DENY Write on each topic. Producers get an authorization error; transactions that are under way end, for
               markers need no right. While the link itself must write there, the rule names every other principal that
               may write instead of everybody.
topic-config   max.message.bytes, in two stages. At 78 every record of more than a few bytes is refused, but the marker
               that ends a transaction (78 bytes) still fits. Once no transaction is open it becomes 0, which refuses
               everything. At 0 a transaction would never end: the broker confirms its commit and then cannot write
               the marker, so a committed record would be lost to the copy.

A broker applies a rule when it hears of it, and a slow one hears late. Every leader is asked whether it refuses
(recovery/proof), before logs that stand still count as shut. Before each change the journal is asked whether the switch
is still ours (`ask`): a process that was frozen and replaced changes nothing when it wakes up (R10).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.config.switch_settings import SwitchSettings
from twinlog.errors import AuthorizerMissing, ClusterError, ClusterRightMissing, SwitchStopped, TopicUnknown
from twinlog.kafka.acls import create_acls, delete_acls
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.inspection import look_at_cluster
from twinlog.model.access.acls import AclBinding
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import FenceNote, Means
from twinlog.model.switch.fence_choice import EVERYBODY, why_not_by_name, writers_of
from twinlog.model.topics.configs import FENCE_CONFIG, ConfigOrigin
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.recovery.keeping import keep, kept_configs, let_go
from twinlog.recovery.proof import Deadline, await_refusals, await_replicas, await_rules
from twinlog.recovery.refusals import offsets_of, require
from twinlog.wire.acls import fetch_acls

MARKER_BYTES: Final = "78"
SHUT_BYTES: Final = "0"
_STILL_S: Final = 1.5
_LOOK_S: Final = 0.25

Ask: TypeAlias = Callable[[], Awaitable[None]]
"""Raises SwitchTakenOver when the switch is not ours any more."""


async def nobody_else() -> None:
    """For who needs no claim."""


@dataclass(frozen=True)
class Fence:
    """How one cluster is shut. `own_principals` are those that may continue to write while the link copies there."""

    admin: ClusterAdmin
    client: ClientSettings
    means: Means
    own_principals: frozenset[str]

    @classmethod
    def around(cls, admin: ClusterAdmin, into: LinkSettings, switch: SwitchSettings, means: Means) -> Fence:
        """For the cluster that a link leads into."""
        principals = frozenset(switch.principals) or frozenset({principal_of(into.clients.target_producer)})
        return cls(admin, into.clients.target_admin, means, principals)

    # --- shutting -------------------------------------------------------------------------------------------------

    async def note(self, topics: Collection[str], *, keeps: bool = False) -> FenceNote:
        """What the fence will change, as it is now: to be written down before anything is changed."""
        keeps = keeps and self.means != "none"
        return FenceNote(
            topics=tuple(topics),
            means=self.means,
            former=await asyncio.to_thread(self._former, topics) if self.means == "topic-config" else None,
            denied=await self._denied(topics) if self.means == "acl" else None,
            kept=await asyncio.to_thread(kept_configs, self.admin, topics) if keeps else None,
        )

    async def _denied(self, topics: Collection[str]) -> tuple[tuple[str, str], ...]:
        there = [rule for rule in await fetch_acls(self.client, "twinlog|fence") if rule.name in topics]
        return tuple(sorted((r.name, r.principal) for r in there if r == deny(r.name, r.principal)))

    def _former(self, topics: Collection[str]) -> dict[str, str | None]:
        former: dict[str, str | None] = {}
        for topic, configs in self.admin.fetch_topic_configs(topics).items():
            if isinstance(configs, TopicUnknown):
                continue
            if isinstance(configs, ClusterError):
                raise configs
            setting = next((config for config in configs if config.name == FENCE_CONFIG), None)
            own = setting is not None and setting.origin is ConfigOrigin.TOPIC
            former[topic] = setting.value if setting is not None and own else None
        return former

    async def shut(
        self, topics: Collection[str], wait: Deadline, noted: FenceNote, ask: Ask = nobody_else
    ) -> dict[TopicPartition, int]:
        """Shut the topics to everybody and prove that they stand still; returns where they end.

        `noted` is what `note` said and the journal keeps.
        """
        partitions = await asyncio.to_thread(self._partitions, topics)
        names = {partition.topic for partition in partitions}
        if noted.kept is not None:
            former = {topic: configs for topic, configs in noted.kept.items() if topic in names}
            await _change(ask, keep, self.admin, former)
        if self.means == "topic-config":
            await _change(ask, self._set, names, MARKER_BYTES)
            await self._await_no_transaction(partitions, wait)
            await _change(ask, self._set, names, SHUT_BYTES)
            await await_refusals(self.client, partitions, wait)
        elif self.means == "acl":
            rules = {deny(topic, EVERYBODY) for topic in names}
            await _change(ask, self._create, rules)
            await self._await_no_transaction(partitions, wait)
            await await_rules(self.client, rules, wait)
        await await_replicas(self.client, partitions, wait)
        return await self._await_still(partitions, wait)

    def _set(self, topics: Collection[str], value: str) -> None:
        require(self.admin.apply_topic_configs({topic: {FENCE_CONFIG: value} for topic in topics}))

    def _create(self, bindings: Collection[AclBinding]) -> None:
        require(create_acls(self.admin, bindings))

    def _partitions(self, topics: Collection[str]) -> list[TopicPartition]:
        described = self.admin.describe_topics(topics)
        facts = [fact for fact in described.values() if isinstance(fact, TopicFacts)]
        return [TopicPartition(fact.name, number) for fact in facts for number in range(fact.partitions)]

    async def _await_no_transaction(self, partitions: list[TopicPartition], wait: Deadline) -> None:
        while True:
            ends, committed = await self._ends(partitions)
            opened = [str(p) for p in partitions if committed[p] < ends[p]]
            if not opened:
                return
            way = "`kafka-transactions find-hanging` finds one that nobody ends."
            await wait.more(f"transactions are open on {', '.join(opened[:3])}", way)

    async def _await_still(self, partitions: list[TopicPartition], wait: Deadline) -> dict[TopicPartition, int]:
        """Ends that do not move for a while, and hide no open transaction."""
        before, since = await self._ends(partitions), time.monotonic()
        while time.monotonic() - since < _STILL_S:
            await asyncio.sleep(_LOOK_S)
            now = await self._ends(partitions)
            if now == before:
                continue
            moving = [str(p) for p in partitions if now[0][p] != before[0][p]]
            before, since = now, time.monotonic()
            await wait.more(f"somebody still writes to {', '.join(moving[:3])}", "Stop these producers.")
        ends, committed = before
        hanging = [str(p) for p in partitions if committed[p] < ends[p]]
        if hanging:
            reason = f"a transaction was begun on {hanging[0]} while the fence was raised"
            raise SwitchStopped(wait.link, wait.step, reason, "End it, or abort it with `kafka-transactions abort`.")
        return ends

    async def _ends(
        self, partitions: list[TopicPartition]
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        ends = await asyncio.to_thread(self.admin.fetch_end_offsets, partitions)
        committed = await asyncio.to_thread(self.admin.fetch_end_offsets, partitions, committed=True)
        return offsets_of(ends), offsets_of(committed)

    # --- opening --------------------------------------------------------------------------------------------------

    async def admit_link(self, topics: Collection[str], noted: FenceNote) -> str:
        """Let the link itself write while others stay out, as far as the means can tell them apart."""
        if self.means == "none":
            return "there is no fence"
        if self.means == "topic-config":
            await self._open(topics, noted)
            return "the topics are open to everybody: a topic config cannot tell producers apart"
        others = await self.writers(topics)
        await asyncio.to_thread(
            self._create, {deny(topic, who) for topic, principals in others.items() for who in principals}
        )
        require(await asyncio.to_thread(self._delete, {deny(topic, EVERYBODY) for topic in topics}))
        denied = {who for principals in others.values() for who in principals}
        return f"Write is denied to {len(denied)} principals by name"

    async def lift(self, topics: Collection[str], noted: FenceNote) -> None:
        """Let everybody write as before; `noted` is what `note` said. Doing it twice does no harm."""
        await self._open(topics, noted)
        await asyncio.to_thread(let_go, self.admin, noted.kept or {})

    async def _open(self, topics: Collection[str], noted: FenceNote) -> None:
        there = {p.topic for p in await asyncio.to_thread(self._partitions, topics)}
        if self.means == "topic-config":
            former = noted.former or {}
            changes = {topic: {FENCE_CONFIG: former.get(topic)} for topic in there}
            require(await asyncio.to_thread(self.admin.apply_topic_configs, changes), TopicUnknown)
        elif self.means == "acl":
            others = await self.writers(topics)
            fences = {deny(topic, who) for topic in topics for who in {EVERYBODY, *others.get(topic, ())}}
            fences -= {deny(topic, who) for topic, who in noted.denied or ()}  # somebody else's, from before
            require(await asyncio.to_thread(self._delete, fences))

    def _delete(self, bindings: Collection[AclBinding]) -> dict[AclBinding, ClusterError | None]:
        return delete_acls(self.admin, bindings)

    async def writers(self, topics: Collection[str]) -> dict[str, set[str]]:
        """Who else may write to each topic, by the ACLs there are."""
        bindings = await fetch_acls(self.client, "twinlog|fence")
        return {topic: set(writers_of(topic, bindings)) - self.own_principals - {EVERYBODY} for topic in topics}


async def choose_means(
    admin: ClusterAdmin, into: LinkSettings, switch: SwitchSettings, topics: Collection[str]
) -> tuple[Means, str]:
    """What the settings want; for `auto` what suits the cluster that a link leads into, and why it is not an ACL."""
    if switch.fence != "auto":
        return switch.fence, ""
    if not switch.principals and into.clients.target_producer.security.username is None:
        return "topic-config", "our principal there is unknown; set switch.principals"
    try:
        bindings = await fetch_acls(into.clients.target_admin, "twinlog|fence")
        look = await asyncio.to_thread(look_at_cluster, admin)
    except AuthorizerMissing:
        return "topic-config", "it has no authorizer"
    except ClusterRightMissing:
        return "topic-config", "we have no right to see its ACLs: Describe on Cluster"
    if "ALTER" not in look.operations:
        return "topic-config", "we have no right to change its ACLs: Alter on Cluster"
    why = why_not_by_name(topics, bindings)
    return ("acl", "") if why is None else ("topic-config", why)


async def _change(ask: Ask, change: Callable[..., None], *args: object) -> None:
    """Change something, if the switch is still ours. Once begun it is waited for, even by who is told to stop."""
    await ask()
    work = asyncio.create_task(asyncio.to_thread(change, *args))
    try:
        await asyncio.shield(work)
    finally:
        await asyncio.gather(work, return_exceptions=True)


def principal_of(client: ClientSettings) -> str:
    """Who we are for the broker, unless it maps names; `switch.principals` says so then."""
    return f"User:{client.security.username or 'ANONYMOUS'}"


def deny(topic: str, principal: str) -> AclBinding:
    """The rule that shuts one topic to one principal."""
    return AclBinding("topic", "literal", topic, principal, "*", "WRITE", "DENY")
