"""Sync jobs "quotas" and "group-configs": named values of the target kept equal to the source's, or listed.

    fetch both ends ─▶ judge_values (model/access/value_tables) ─▶ mode `sync`: change the target, remember what we gave
                                                         └▶ mode `list`: every difference is a finding

Runs in the service's loop. `twinlog diff` uses `compared` only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from twinlog.config.link_values import ValuesMode
from twinlog.errors import AccessDenied, BrokerAway, BrokerRefused, ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.access.client_quotas import entity_of, quota_values
from twinlog.model.access.value_tables import ValueChange, Values, ValueVerdict, judge_values, next_given
from twinlog.model.ledger.records import Memo
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.wire.connection import Cluster
from twinlog.wire.group_configs import alter_group_configs, fetch_group_configs
from twinlog.wire.quotas import alter_quotas, fetch_quotas

_SOURCE_MEMO: Final = "source"
_GIVEN: Final = "given/"


@dataclass(frozen=True)
class ValueKind:
    """One kind of named values: how it is called, read and changed."""

    name: str  # of the sync job
    setting: str
    thing: str  # what a person calls one of them
    fetch: Callable[[Cluster, LinkEnds], Awaitable[Values]]
    alter: Callable[[Cluster, Mapping[str, Mapping[str, str | None]]], Awaitable[Mapping[str, str]]]


@dataclass(frozen=True)
class Compared:
    """Both ends of one kind, judged."""

    source: Values
    target: Values
    given: Values
    verdict: ValueVerdict
    cluster_id: str
    refused: str | None  # why nothing is removed


async def compared(kind: ValueKind, ends: LinkEnds, memos: Mapping[str, Memo]) -> Compared:
    """Read both ends and compare. Raises AccessDenied with the right that is needed, BrokerRefused for old brokers."""
    given = {name.removeprefix(_GIVEN): memo.body["values"] for name, memo in memos.items() if name.startswith(_GIVEN)}
    pinned = memos[_SOURCE_MEMO].body.get("cluster_id") if _SOURCE_MEMO in memos else None
    cluster_id = await asyncio.to_thread(ends.source.fetch_cluster_id)
    source = await _fetched(kind, ends, "source")
    target = await _fetched(kind, ends, "target")
    doubt = None
    if pinned not in {None, cluster_id}:
        doubt = f"the source is another cluster than before (id {pinned} -> {cluster_id}): no {kind.thing} is removed"
    elif given and not any(source.values()):
        doubt = f"the source has no {kind.thing} at all, as if it had been emptied: none is removed"
    verdict = judge_values(source, target, given, removing=doubt is None)
    return Compared(source, target, given, verdict, cluster_id, doubt if verdict.kept else None)


async def _fetched(kind: ValueKind, ends: LinkEnds, end: Literal["source", "target"]) -> Values:
    settings = ends.link.clients.source_admin if end == "source" else ends.link.clients.target_admin
    cluster = Cluster(settings, f"twinlog|{ends.link.name}|{kind.name}")
    try:
        return await kind.fetch(cluster, ends)
    except BrokerAway as error:
        raise ClusterUnreachable(settings.cluster, f"reading: {error.problem}") from error
    finally:
        await cluster.close()


@dataclass
class ValueSync:
    """The sync job of one link and one kind."""

    ends: LinkEnds
    kind: ValueKind
    mode: ValuesMode
    seconds: float

    @property
    def name(self) -> str:
        """Part of the ledger's keys."""
        return self.kind.name

    async def step(self, view: LedgerView) -> Outcome:
        """Compare once; in the mode `sync` change the target."""
        memos = dict(view.memos.get(self.name, {}))
        try:
            both = await compared(self.kind, self.ends, memos)
        except (AccessDenied, BrokerRefused) as refused:
            # A right that is missing, or a broker that is too old, is a finding: everything else is in order.
            return Outcome(findings=[f"{refused}; or set {self.kind.setting} = off"])
        refusals = await self._apply(both.verdict.changes) if self.mode == "sync" else {}
        applied = [change for change in both.verdict.changes if self.mode == "sync" and change.owner not in refusals]
        bodies = self._bodies(both, applied)
        return Outcome(
            counts={
                self.kind.name.replace("-", "_"): sum(len(of_owner) for of_owner in both.source.values()),
                "changed": len(applied),
                "different": len(both.verdict.differences) - len(applied),
            },
            findings=[
                *([both.refused] if both.refused else []),
                *(_sentence(self.ends, self.kind, change, refusals) for change in both.verdict.differences
                  if change not in applied),
            ],
            memos=[
                Memo(chore=self.name, name=name, body=body)
                for name, body in bodies.items()
                if name not in memos or memos[name].body != body
            ],
            forget=[name for name in memos if name not in bodies],
        )  # fmt: skip

    def _bodies(self, both: Compared, applied: list[ValueChange]) -> dict[str, dict[str, Any]]:
        if self.mode != "sync":
            return {}
        given = next_given(both.source, both.target, both.given, applied)
        # Another cluster under the old address is accepted only once nothing of ours is missing there.
        pin = {} if both.refused else {_SOURCE_MEMO: {"cluster_id": both.cluster_id}}
        return pin | {f"{_GIVEN}{owner}": {"values": values} for owner, values in given.items()}

    async def _apply(self, changes: tuple[ValueChange, ...]) -> Mapping[str, str]:
        if not changes:
            return {}
        orders: dict[str, dict[str, str | None]] = {}
        for change in changes:
            orders.setdefault(change.owner, {})[change.key] = change.wish
        cluster = Cluster(self.ends.link.clients.target_admin, f"twinlog|{self.ends.link.name}|{self.name}")
        try:
            return await self.kind.alter(cluster, orders)
        except BrokerAway as error:
            raise ClusterUnreachable(cluster.alias, f"changing: {error.problem}") from error
        finally:
            await cluster.close()


def _sentence(ends: LinkEnds, kind: ValueKind, change: ValueChange, refusals: Mapping[str, str]) -> str:
    where = f"{kind.thing} {change.owner} {change.key}"
    values = f"{change.wish or 'not set'} on {ends.link.source}, {change.have or 'not set'} on {ends.link.target}"
    if change.owner in refusals:
        return f"{where}: {values}: {ends.link.target} refuses it: {refusals[change.owner]}"
    return f"{where}: {values}"


# --- the two kinds ----------------------------------------------------------------------------------------------------


async def _fetch_quotas(cluster: Cluster, _: LinkEnds) -> Values:
    return quota_values(await fetch_quotas(cluster))


async def _alter_quotas(cluster: Cluster, orders: Mapping[str, Mapping[str, str | None]]) -> Mapping[str, str]:
    entities = {entity_of(owner): owner for owner in orders}
    refused = await alter_quotas(
        cluster,
        {
            entity: {key: None if value is None else float(value) for key, value in orders[owner].items()}
            for entity, owner in entities.items()
        },
    )
    return {entities[entity]: words for entity, words in refused.items()}


async def _fetch_group_configs(cluster: Cluster, ends: LinkEnds) -> Values:
    group_configs = await fetch_group_configs(cluster)
    return {group: configs for group, configs in group_configs.items() if ends.link.groups.matches(group)}


QUOTAS: Final = ValueKind("quotas", "sync.client.quotas.mode", "client quota", _fetch_quotas, _alter_quotas)
GROUP_CONFIGS: Final = ValueKind(
    "group-configs", "sync.group.configs.mode", "config of group", _fetch_group_configs, alter_group_configs
)
