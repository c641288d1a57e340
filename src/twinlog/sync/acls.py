"""SyncJob "acls": the target's ACLs kept in sync with the source's (model/access/acls has the rules).

    describe both ends ─▶ wanted_acls, diff_acls ─▶ create, remove ─▶ what we added, and what waits for a failover, is
                                                                      remembered in the ledger

Runs in the service's loop. `twinlog diff` uses its eyes only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.config.link_values import AclSyncSettings
from twinlog.errors import AuthorizerMissing, ClusterRightMissing
from twinlog.kafka.acls import create_acls, delete_acls
from twinlog.ledger.view import LedgerView
from twinlog.model.access.acls import (
    AclBinding,
    AclDiff,
    AclRules,
    bindings_in_memos,
    diff_acls,
    memos_of,
    not_copied,
    promote_set,
    removal_doubt,
    wanted_acls,
)
from twinlog.model.ledger.records import Memo
from twinlog.model.switch.fences import Fences
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.sync.source_fences import SourceFences
from twinlog.wire.acls import fetch_acls

CHORE: Final = "acls"
_SOURCE_MEMO: Final = "source"


@dataclass(frozen=True)
class AclPlan:
    """What both ends said, and what follows."""

    diff: AclDiff
    wanted: frozenset[AclBinding]
    held_back: frozenset[AclBinding]
    unknown: list[str]
    cluster_id: str  # of the source, to remember


async def planned_acls(
    ends: LinkEnds, mirrored: Collection[str], memos: Mapping[str, Memo], fences: Fences | None = None
) -> AclPlan:
    """Look at both ends and compare. Raises AuthorizerMissing, or ClusterRightMissing with the right that is needed.

    The rules of a fence shut the source only: they are never copied.
    """
    link = ends.link
    rules = AclRules(link.acls.mode, link.source, link.target, link.topics, link.groups, link.naming, mirrored)
    bodies = {name: memo.body for name, memo in memos.items()}
    pinned = bodies.get(_SOURCE_MEMO, {}).get("cluster_id")
    cluster_id = await asyncio.to_thread(ends.source.fetch_cluster_id)
    client = f"twinlog|{link.name}|acls"
    source_acls, target_acls = (
        await fetch_acls(link.clients.source_admin, client),
        await fetch_acls(link.clients.target_admin, client),
    )
    source_acls = fences.acls_before(source_acls) if fences is not None else source_acls
    wanted = wanted_acls(source_acls, rules)
    doubt = removal_doubt(source_acls, cluster_id, pinned)
    diff = diff_acls(
        wanted,
        target_acls,
        bindings_in_memos("added", bodies),
        removing=link.acls.mode == "full",
        doubt=doubt,
    )
    held_back = promote_set(source_acls, rules)
    if doubt is not None:
        # What a failover needs must outlive the source.
        held_back |= bindings_in_memos("promote", bodies)
    # Another cluster under the old address is accepted only once nothing is missing there.
    whole = diff.refused is None and held_back == promote_set(source_acls, rules)
    accepted = cluster_id if pinned is None or whole else pinned
    return AclPlan(diff, wanted, held_back, not_copied(source_acls, rules), accepted)


@dataclass
class AclSync:
    """The sync job of one link."""

    ends: LinkEnds
    settings: AclSyncSettings
    name: str = CHORE
    _fences: SourceFences = field(init=False)

    def __post_init__(self) -> None:
        self._fences = SourceFences(self.ends.link)

    @property
    def seconds(self) -> float:
        """How long to wait after one step before the next."""
        return self.settings.seconds

    async def step(self, view: LedgerView) -> Outcome:
        """Compare and apply once."""
        memos = dict(view.memos.get(CHORE, {}))
        try:
            plan = await planned_acls(self.ends, set(view.roster), memos, await self._fences.look())
            refused = await asyncio.to_thread(create_acls, self.ends.target, plan.diff.create)
            left = await asyncio.to_thread(delete_acls, self.ends.target, plan.diff.remove)
        except AuthorizerMissing as missing:
            # A normal way to run a cluster: said once, and looked at again in case it gets one.
            why = f"{missing.cluster}: has no authorizer, so there are no ACLs to sync"
            return Outcome(counts={"acls": 0}, remarks=[why])
        except ClusterRightMissing as denied:
            return Outcome({"acls": 0}, findings=[f"{denied}; grant it, or set sync.topic.acls.enabled = false"])
        failed = {binding for binding, refusal in refused.items() if refusal is not None}
        stuck = {binding for binding, refusal in left.items() if refusal is not None}
        bodies: dict[str, dict[str, Any]] = {
            _SOURCE_MEMO: {"cluster_id": plan.cluster_id},
            **memos_of("added", plan.diff.kept | (plan.diff.create - failed) | stuck),
            **memos_of("promote", plan.held_back),
        }
        return Outcome(
            counts={
                "acls": len(plan.wanted),
                "created": len(plan.diff.create) - len(failed),
                "removed": len(plan.diff.remove) - len(stuck),
                "held_back": len(plan.held_back),
            },
            findings=[
                *([plan.diff.refused] if plan.diff.refused else []),
                *(f"{b}: not created on {self.ends.link.target}: {refused[b]}" for b in sorted(failed)),
                *(f"{b}: not removed on {self.ends.link.target}: {left[b]}" for b in sorted(stuck)),
                *plan.unknown,
            ],
            memos=[
                Memo(chore=CHORE, name=name, body=body)
                for name, body in bodies.items()
                if name not in memos or memos[name].body != body
            ],
            forget=[name for name in memos if name not in bodies],
        )
