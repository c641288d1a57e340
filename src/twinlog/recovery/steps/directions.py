"""Steps at the end of a switch: the direction in which records flow from now on."""

from __future__ import annotations

import asyncio

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.counted import counted
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import BackStopped, Resumed, Reversed
from twinlog.model.switch.log import Copying
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.seeding import seed_ledger
from twinlog.recovery.skipping import pass_over_own
from twinlog.recovery.steps.copy_back import begun, seed_back
from twinlog.recovery.steps.fence import admit_back, open_target_for_link
from twinlog.recovery.steps.schemas_ahead import schemas_ahead


async def reverse(ctx: SwitchContext) -> StepResult:
    """After a planned failover: copy from the cut on in the other direction, into a source that stays shut."""
    seeded, findings = await seed_back(ctx)
    admitted = await admit_back(ctx)
    await (await schemas_ahead(ctx))()
    await ctx.journal.decide(f"{ctx.back.name} copies back", links={ctx.back.name: "copying"})
    who = "its engine continues" if ctx.pair.back_enabled else f"enable {ctx.back.name} in the file to run it"
    return StepResult(
        f"{ctx.back.name} {begun(ctx, seeded)}: {who}; {admitted}",
        Reversed(findings=tuple(findings), old_side=admitted),
    )


async def _let_clients_move(ctx: SwitchContext) -> None:
    """Keep the side that was left shut for a while.

    A topic config lets everybody in with the link. A producer that has not noticed the redirect yet would write there,
    and what it writes there nobody copies back, unless the way back is enabled.
    """
    told = ctx.journal.switch.steps.get("redirect")
    noted = ctx.noted(ctx.link.target)
    by_config = noted is not None and noted.means == "topic-config"
    if not by_config or ctx.pair.back_enabled or told is None:
        return
    left = told.ended_ms / 1000 + ctx.link.switch.grace_seconds - SYSTEM_CLOCK.now_s()
    if left > 0:
        ctx.say(f"giving clients {left:.0f} s to move before {ctx.link.target} is opened for the link")
        await asyncio.sleep(min(left, ctx.link.switch.grace_seconds))


async def resume(ctx: SwitchContext) -> StepResult:
    """After a failback: the link continues as before the disaster."""
    seeded: list[str] = []
    findings: list[str] = []
    cut = (ctx.find(BackStopped) or BackStopped()).cut_back
    remote = ctx.back.naming.remote
    origins = {remote(ctx.back.source, name): [row.target for row in rows] for name, rows in cut.items()}
    if ctx.journal.switch.claim.command == "failback-full":
        # Both sides are equal at this cut: the link continues behind it, with the topics as they are now.
        seeded = await seed_ledger(ctx, ctx.link, origins, anew=True)
    elif ctx.link.naming.keeps_names:
        # What the way back wrote came from the target; retention of the source must not make a gap of it.
        upto = {TopicPartition(topic, n): at for topic, offsets in origins.items() for n, at in enumerate(offsets)}
        why = f"deleted by retention of {ctx.link.source} before {ctx.link.name} continued"
        findings = await pass_over_own(ctx, ctx.link, ctx.back, upto, why)
    await _let_clients_move(ctx)
    admitted = await open_target_for_link(ctx)
    modes: dict[str, Copying] = {
        ctx.link.name: "copying",
        ctx.back.name: "copying" if ctx.pair.back_enabled else "held",
    }
    await ctx.journal.decide(f"{ctx.link.source} is active again", links=modes)
    anew = f", beginning at the new cut ({counted(len(seeded), 'topic')})" if seeded else ""
    return StepResult(
        f"{ctx.link.name} copies again{anew}; {ctx.link.target}: {admitted}",
        Resumed(findings=tuple(findings), old_side=admitted),
    )
