"""Running a switch: claim, steps in order, report. Runs in the command; survives kill -9 at any moment.

    claim (the log decides) ─▶ for each step of the plan that is not done:  begun ─▶ run ─▶ done ─▶ … ─▶ end ─▶ report

A step that is begun a second time finds what the first run noted and comes to the same end. Before and after each step
the log is read: a process that was taken for dead and replaced stops there (R10).
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from twinlog.errors import ClusterError, RedirectFailed, SwitchRefused, SwitchStopped, SwitchTakenOver, TwinlogError
from twinlog.model.switch.events import Acted, Began, Ended, Planned, Stopped
from twinlog.model.switch.log import Command, Copying, End, Switch
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.report import Report, report_of, reports_of, write_report
from twinlog.recovery.side_fences import source_fence, target_fence
from twinlog.recovery.steps import copy_back, directions, engines, fence, loss, positions, positions_back, registry
from twinlog.recovery.steps.redirect import redirect
from twinlog.recovery.steps.release import release
from twinlog.recovery.steps.tail import tail
from twinlog.recovery.steps.wipe import wipe

Step = Callable[[SwitchContext], Awaitable[StepResult]]

STEPS: Final[Mapping[str, Step]] = {
    "freeze": engines.freeze,
    "fence-source": fence.fence_any_source,
    "fence-old": fence.fence_old,
    "fence-target": fence.fence_target,
    "drain": engines.drain,
    "stop-link": engines.stop_link,
    "loss": loss.loss,
    "positions": positions.positions,
    "positions-known": positions.positions_known,
    "positions-back": positions_back.positions_back,
    "promote": engines.promote,
    "registry": registry.promote_registry,
    "registry-home": registry.bring_home,
    "release": release,
    "redirect": redirect,
    "reverse": directions.reverse,
    "tail": tail,
    "admit": fence.admit,
    "wipe": wipe,
    "copy-back": copy_back.copy_back,
    "copy-all": copy_back.copy_all,
    "drain-back": copy_back.drain_back,
    "stop-back": copy_back.stop_back,
    "open-source": fence.open_source,
    "resume": directions.resume,
}


async def begin(ctx: SwitchContext, command: Command, steps: Sequence[str], options: Mapping[str, Any]) -> str:
    """Claim a new switch; returns its id."""
    switch_id = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}"
    await ctx.journal.claim(switch_id, command, {"steps": list(steps), **options})
    return switch_id


async def take_up(ctx: SwitchContext) -> Switch:
    """Claim the switch that is open, for whoever ran it is gone."""
    await ctx.journal.read()
    switch = ctx.journal.log.open
    if switch is None:
        link = ctx.link.name
        raise SwitchRefused(link, "no switch is open", f"`twinlog switch status {link}` shows the last one.")
    await ctx.journal.claim(switch.id, switch.claim.command, switch.claim.options)
    return switch


def planned(switch: Switch) -> Planned:
    """What is known of a switch before its first step runs, or runs again."""
    return Planned(switch.titles, frozenset(step for step in switch.titles if switch.is_done(step)))


async def run(ctx: SwitchContext) -> Report:
    """Run what is left of the claimed switch. Raises SwitchStopped where it could not continue."""
    beat = asyncio.create_task(ctx.journal.beat())
    work = asyncio.create_task(_run(ctx))
    try:
        await asyncio.wait({beat, work}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await beat  # it says why it ended
        return await work
    except SwitchTakenOver:
        await fence.undo_if_lifted(ctx)
        raise
    finally:
        beat.cancel()
        await asyncio.gather(beat, return_exceptions=True)


async def _run(ctx: SwitchContext) -> Report:
    ctx.on_event(planned(ctx.journal.switch))
    steps: Sequence[str] = ctx.journal.switch.claim.options["steps"]
    for number, step in enumerate(steps, 1):
        if ctx.journal.switch.is_done(step):
            continue
        ctx.on_event(Began(number, len(steps), step))
        await ctx.journal.note(step, "begun")
        began = time.monotonic()
        result = await _attempt(ctx, number, step, began)
        ctx.on_event(Acted(number, step))
        await ctx.journal.note(step, "done", result.says, facts=result.facts, took_ms=_ms(began))
        ctx.on_event(Ended(number, step, result.says))
    end = End(
        pair=ctx.journal.pair,
        switch=ctx.journal.switch_id,
        runner=ctx.journal.runner,
        outcome="done",
        says=f"{ctx.journal.state.active if ctx.journal.state else ctx.link.source} is active",
    )
    await ctx.journal.end(end)
    # A failback counted what the failover before it really lost: its report is written again with that.
    for report in reports_of(ctx.journal.log.ended):
        if report.switch == ctx.journal.switch_id or report.found.get("switch") == ctx.journal.switch_id:
            write_report(report, ctx.folder)
    return report_of(ctx.journal.switch)


async def _attempt(ctx: SwitchContext, number: int, step: str, began: float) -> StepResult:
    """Run one step; what kept it from its end is written down before it is raised."""
    try:
        return await STEPS[step](ctx)
    except SwitchTakenOver:
        raise
    except (TwinlogError, OSError) as error:
        reason = error.reason if isinstance(error, SwitchStopped) else str(error) or type(error).__name__
        await ctx.journal.note(step, "failed", reason, took_ms=_ms(began))
        ctx.on_event(Stopped(number, step, reason))
        if isinstance(error, SwitchStopped):
            raise SwitchStopped(ctx.link.name, step, reason, error.way) from error
        way = error.remedy_text() if isinstance(error, ClusterError | RedirectFailed) else ""
        raise SwitchStopped(ctx.link.name, step, reason, way) from error


async def abort(ctx: SwitchContext) -> Report:
    """Give an open switch up and undo what can be undone, as long as no side was made active."""
    switch = await take_up(ctx)
    if switch.is_done("promote"):
        raise SwitchRefused(
            ctx.link.name,
            "the active side was changed already",
            f"`twinlog switch resume {ctx.link.name}` continues; then switch back.",
        )
    if switch.is_done("wipe") or "wipe" in switch.steps:
        raise SwitchRefused(ctx.link.name, "topics were deleted already", "Only continuing leads to two equal sides.")
    ctx.journal.switch_id = switch.id
    await _undo(ctx, switch)
    end = End(
        pair=ctx.journal.pair,
        switch=switch.id,
        runner=ctx.journal.runner,
        outcome="aborted",
        says="given up by the operator",
    )
    await ctx.journal.end(end)
    report = report_of(ctx.journal.switch)
    write_report(report, ctx.folder)
    return report


async def _undo(ctx: SwitchContext, switch: Switch) -> None:
    """Let producers in and the links continue as before."""
    failover = switch.claim.command.startswith("failover")
    left = ctx.link.source if failover else ctx.link.target
    if left in ctx.journal.log.fenced:
        undone = await (source_fence(ctx) if failover else target_fence(ctx))
        noted = ctx.journal.log.fenced[left]
        await undone.lift(noted.topics, noted)
        await ctx.journal.note_lifted(left)
    state = ctx.journal.state
    if state is None:
        return
    modes: dict[str, Copying] = {
        ctx.link.name: "copying" if failover else "held",
        ctx.back.name: "copying" if ctx.pair.back_enabled and failover else "held",
    }
    pending = {cluster: how for cluster, how in state.fence_on_return.items() if not failover or cluster != left}
    await ctx.journal.decide("the switch was given up", links=modes, fence_on_return=pending)


def _ms(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
