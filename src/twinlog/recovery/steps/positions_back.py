"""The step that sets positions of groups on the old primary, when clients are about to return to it."""

from __future__ import annotations

from twinlog.errors import ClusterError
from twinlog.model.counted import counted
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import BackStopped, CopiedBack, LinkStopped, PositionsBack, TargetFence, findings_of
from twinlog.model.switch.failback import Cut, before_stray, place_back
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.steps.positions import await_readers, commit
from twinlog.recovery.steps.tail import tail_ends
from twinlog.sync.ends import LinkEnds
from twinlog.sync.groups import GroupSync
from twinlog.wire.groups import GroupCoordinators


async def positions_back(ctx: SwitchContext) -> StepResult:
    """After a delta with the same names by both maps; otherwise the way back translates as any link does."""
    groups = GroupCoordinators(ctx.at_target)
    left = await await_readers(ctx, groups, ctx.ends(TargetFence))
    findings = [
        f"{group}: it still reads on {ctx.link.target}, {counted(n, 'record')} may be read again"
        for group, n in left.items()
    ]
    delta = ctx.journal.switch.claim.command == "failback-delta"
    if delta and ctx.link.naming.keeps_names:
        return await _by_both_maps(ctx, groups, findings)
    back = ctx.back.updated(group_offsets={"enabled": True}, checkpoints={"enabled": True})
    sync = GroupSync(LinkEnds(back, ctx.target, ctx.source), back.group_offsets, back.checkpoints)
    try:
        outcome = await sync.step(await ctx.ledger(ctx.back))
    finally:
        await sync.close()
    findings += outcome.findings
    says = f"{counted(outcome.counts['groups'], 'group')}, {counted(outcome.counts['written'], 'position')} written"
    return StepResult(says, PositionsBack(**findings_of(findings)))


async def _by_both_maps(ctx: SwitchContext, groups: GroupCoordinators, findings: list[str]) -> StepResult:
    link = ctx.link
    forward, back = await ctx.ledger(link), await ctx.ledger(ctx.back)
    here = {entry.remote: entry.topic for entry in forward.roster.values()}
    copied, stopped = ctx.find(CopiedBack), ctx.find(BackStopped)
    appended = copied is not None and copied.appended
    cuts = _cuts(ctx)
    strays = {} if stopped is None else stopped.strays
    names = [name for name in await groups.list_groups() if link.groups.matches(name)]
    at_source = GroupCoordinators(ctx.at_source)
    before = await at_source.fetch_positions(names)
    wanted: dict[str, dict[TopicPartition, GroupPosition]] = {}
    for group, positions in (await groups.fetch_positions(names)).items():
        if isinstance(positions, ClusterError):
            findings.append(f"{group}: {positions}")
            continue
        earlier = before.get(group)
        known = earlier if earlier is not None and not isinstance(earlier, ClusterError) else {}
        for remote, position in positions.items():
            partition = TopicPartition(here.get(remote.topic, ""), remote.partition)
            cut, there = cuts.get(partition), forward.map_of(partition)
            if cut is None or there is None:
                continue
            read = known.get(partition)
            returned = place_back(
                position.offset,
                cut,
                there,
                back.map_of(remote),
                appended=appended,
                read_before=None if read is None else read.offset,
            )
            returned = before_stray(returned, strays.get(partition), None if read is None else read.offset)
            if returned.why:
                again = counted(returned.again, "offset")
                findings.append(f"{group}: {partition}: {returned.why}; at most {again} will be read again")
            if returned.offset is not None:
                wanted.setdefault(group, {})[partition] = GroupPosition(returned.offset, position.metadata)
    findings += await commit(at_source, wanted)
    says = f"{counted(len(wanted), 'group')}, {counted(sum(map(len, wanted.values())), 'position')} written"
    return StepResult(says, PositionsBack(**findings_of(findings)))


def _cuts(ctx: SwitchContext) -> dict[TopicPartition, Cut]:
    """Per partition of the old primary: where the failover cut, and where its tail ends."""
    stopped = ctx.earlier(LinkStopped) or LinkStopped()
    tails = tail_ends(ctx)
    cuts: dict[TopicPartition, Cut] = {}
    for topic, rows in stopped.cut.items():
        for number, (source, target) in enumerate(rows):
            partition = TopicPartition(topic, number)
            more = stopped.unnoted.get(partition, 0)
            cuts[partition] = Cut(source + more, target + more, max(source + more, tails.get(partition, 0)))
    return cuts
