"""The step that lets producers write to the target: rights that were held back, and a fence of an earlier switch."""

from __future__ import annotations

import asyncio

from twinlog.errors import AuthorizerMissing
from twinlog.kafka.acls import create_acls
from twinlog.model.access.acls import bindings_in_memos
from twinlog.model.switch.facts import OldFence, Released
from twinlog.model.topics.writers_topics import missing_for_writers, says_missing
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.refusals import require
from twinlog.recovery.side_fences import target_fence
from twinlog.recovery.steps.fence import fence_old
from twinlog.sync.acls import CHORE


async def release(ctx: SwitchContext) -> StepResult:
    """Grant what the ledger remembers as held back; the source may be gone."""
    said: list[str] = []
    state = ctx.journal.state
    if state is not None and ctx.link.source in state.fence_on_return:
        # It may have come back since: it is shut before the other side is opened.
        again = await fence_old(ctx)
        if isinstance(again.facts, OldFence) and not again.facts.pending:
            said.append(f"{ctx.link.source} came back during the switch; {again.says}")
    noted = ctx.noted(ctx.link.target)
    if noted is not None:
        await (await target_fence(ctx)).lift(noted.topics, noted)
        await ctx.journal.note_lifted(ctx.link.target)
        said.append("the fence of an earlier switch is lifted")
    view = await ctx.ledger(ctx.link)
    memos = view.memos.get(CHORE, {})
    held_back = bindings_in_memos("promote", {name: memo.body for name, memo in memos.items()})
    if held_back:
        try:
            require(await asyncio.to_thread(create_acls, ctx.target, held_back))
            said.append(f"{len(held_back)} ACLs that were held back are granted")
        except AuthorizerMissing:
            said.append(f"{ctx.link.target} has no authorizer: nothing to grant")
    there = set(await asyncio.to_thread(ctx.target.list_topics))
    missing = missing_for_writers(view.roster.values(), ctx.link.naming, there)
    findings = [says_missing(missing, ctx.link.name, ctx.link.target)] if missing else []
    acls = tuple(str(binding) for binding in sorted(held_back))
    facts = Released(acls=acls, missing_for_writers=tuple(missing), findings=tuple(findings))
    return StepResult("; ".join([*(said or ["nothing was held back"]), *findings]), facts)
