"""Steps that order engines what they may do, and wait until they do it."""

from __future__ import annotations

from twinlog.config.settings import LinkSettings
from twinlog.errors import SwitchStopped
from twinlog.ledger.view import LedgerView
from twinlog.model.counted import counted
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import (
    Cut,
    CutAt,
    Drained,
    FenceFacts,
    Frozen,
    LinkStopped,
    Promoted,
    SourceFence,
    StepFacts,
    findings_of,
)
from twinlog.model.switch.log import Copying, switch_name
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.copies import dead_copies, sentences_about
from twinlog.recovery.standstill import await_followed, gone, stop_and_prove


async def freeze(ctx: SwitchContext) -> StepResult:
    """Let everything rest but the records, on both links: the switch is about to change what sync jobs keep in sync."""
    state = await ctx.journal.decide(
        "a planned failover drains the link", links={ctx.link.name: "draining", ctx.back.name: "held"}
    )
    engine = await await_followed(ctx, "freeze", ctx.link, state.generation)
    if engine is None or gone(engine):
        raise SwitchStopped(ctx.link.name, "freeze", "no engine runs the link", "Start it with `twinlog run`.")
    if ctx.pair.back_enabled:
        await await_followed(ctx, "freeze", ctx.back, state.generation)
    return StepResult(f"the engine on {engine.host} only copies records from now on", Frozen())


async def drain(ctx: SwitchContext) -> StepResult:
    """Wait until everything that the source holds is copied."""
    return await drain_link(ctx, Drained(), ctx.link, SourceFence)


async def drain_link(ctx: SwitchContext, facts: StepFacts, link: LinkSettings, fence: type[FenceFacts]) -> StepResult:
    """Wait until a link has reached the ends that the fence noted."""
    step, ends = facts.step, ctx.ends(fence)

    async def behind() -> dict[str, int]:
        view = await ctx.ledger(link)
        # A topic that this link does not carry has nothing to wait for.
        wanted = {p: end for p, end in ends.items() if p.topic in view.roster}
        left: dict[str, int] = {}
        for partition, end in wanted.items():
            state = view.states.get(partition)
            if state is not None and state.incarnation == view.roster[partition.topic].incarnation:
                if state.phase == "faulted" and state.source_next < end:
                    says = state.fault.says if state.fault else "it is faulted"
                    raise SwitchStopped(link.name, step, f"{partition} cannot be copied: {says}")
                reached = state.source_next
            else:
                reached = _origin(view.roster[partition.topic], partition.partition)
            if reached < end:
                left[str(partition)] = end - reached
        if left:
            waits = f"waiting for the engine of {link.name} to copy"
            ctx.say_progress(
                f"{waits}: {counted(sum(left.values()), 'offset')} left in {counted(len(left), 'partition')}"
            )
        return left

    await ctx.wait(step, "records that are not copied", behind, lambda left: not left)
    return StepResult(f"everything up to the fence is copied ({counted(len(ends), 'partition')})", facts)


def _origin(entry: RosterTopic, number: int) -> int:
    return entry.origins[number] if number < entry.partitions else 0


async def stop_link(ctx: SwitchContext) -> StepResult:
    """Hold both links, see that nothing is written any more, and record the last copied offsets."""
    held: dict[str, Copying] = {ctx.link.name: "held", ctx.back.name: "held"}
    state = await ctx.journal.decide(f"{ctx.link.source} is left", links=held)
    says, stopped = await stop_and_prove(ctx, "stop-link", ctx.link, state.generation)
    view = await ctx.ledger(ctx.link)
    dead = stopped.dead | await dead_copies(ctx.at_target, view.roster.values())
    findings = [*stopped.unproven.values(), *sentences_about(dead, view, ctx.link.target)]
    facts = LinkStopped(cut=cut_of(view), unnoted=stopped.unnoted, dead=dead, **findings_of(findings))
    return StepResult(f"{says}; {len(dead)} copies cannot be used" if dead else says, facts)


def cut_of(view: LedgerView) -> Cut:
    """Where a link ends, on both sides."""
    cut: Cut = {}
    for topic in view.roster.values():
        rows: list[CutAt] = []
        for number, origin in enumerate(topic.origins):
            state = view.states.get(TopicPartition(topic.topic, number))
            current = state is not None and state.incarnation == topic.incarnation
            rows.append(CutAt(state.source_next, state.target_next) if state and current else CutAt(origin, 0))
        cut[topic.topic] = tuple(rows)
    return cut


async def promote(ctx: SwitchContext) -> StepResult:
    """Make the other side the active one, everywhere."""
    command = ctx.journal.switch.claim.command
    active = ctx.link.target if command.startswith("failover") else ctx.link.source
    state = ctx.journal.state
    if state is None or state.active != active:
        await ctx.journal.decide(switch_name(command), active=active)
    told = await ctx.journal.copy_state()
    other = "on both clusters" if told else f"on {ctx.link.target}; {ctx.link.source} hears of it when it answers"
    return StepResult(f"{active} is the active side, {other}", Promoted(active=active))
