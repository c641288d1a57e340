"""Steps that set the positions of consumer groups on the side that becomes active."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.counted import counted
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.groups.positions import Copied, GroupsNow, standings
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import Positions, PositionsKnown, SourceFence, findings_of
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.copies import copy_of, dead_copies
from twinlog.recovery.cut_positions import at_cuts, checkpointed, cut_sentence, read_again
from twinlog.sync.checkpoints import Checkpoints
from twinlog.sync.ends import LinkEnds
from twinlog.sync.groups import GroupSync
from twinlog.sync.internal_topics import InternalLog
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import EARLIEST, LATEST

_FINISH_WITHIN_S: Final = 15.0
"""How long groups may read on behind the fence: who reaches the end there reads nothing twice here."""
_READ_AGAIN_FOR_S: Final = 30.0
_LOOK_S: Final = 0.5
_ANSWER_WITHIN_S: Final = 5.0


async def positions(ctx: SwitchContext) -> StepResult:
    """Planned: the final positions, exact, while nothing moves any more."""
    ends = ctx.ends(SourceFence)
    left = await await_readers(ctx, GroupCoordinators(ctx.at_source), ends)
    link = ctx.link.updated(group_offsets={"enabled": True}, checkpoints={"enabled": True})
    sync = GroupSync(LinkEnds(link, ctx.source, ctx.target), link.group_offsets, link.checkpoints)
    try:
        outcome = await sync.step(await ctx.ledger(link))
    finally:
        await sync.close()
    counts = outcome.counts
    moved = f"{counted(counts['groups'], 'group')}, {counted(counts['positions'], 'position')}"
    says = f"{moved}: {counts['written']:,} set now, the others were in sync already"
    still = [
        f"{group}: it still reads on {ctx.link.source} and may read {counted(n, 'record')} again"
        for group, n in left.items()
    ]
    findings = [*still, *outcome.findings]
    return StepResult(says, Positions(counts=dict(counts), **findings_of(findings)))


async def await_readers(
    ctx: SwitchContext, groups: GroupCoordinators, ends: Mapping[TopicPartition, int]
) -> dict[str, int]:
    """Give groups with members the time to finish what is there; returns who did not, and how far it is behind."""
    deadline = time.monotonic() + _FINISH_WITHIN_S
    while True:
        listed = await groups.list_groups()
        active = [name for name, group in listed.items() if group.active and ctx.link.groups.matches(name)]
        behind: dict[str, int] = {}
        for name, positions in (await groups.fetch_positions(active)).items():
            if isinstance(positions, ClusterError):
                continue
            left = sum(max(0, ends[p] - position.offset) for p, position in positions.items() if p in ends)
            if left:
                behind[name] = left
        if not behind or time.monotonic() > deadline:
            return behind
        ctx.say(f"waiting for {', '.join(sorted(behind)[:3])} to read to the end")
        await asyncio.sleep(_LOOK_S)


async def positions_known(ctx: SwitchContext) -> StepResult:
    """Unplanned: from the last checkpoints, translated anew with the final ledger."""
    link = ctx.link
    teller = Cluster(link.clients.target_producer, f"twinlog|{link.name}|positions")
    try:
        checkpoints = Checkpoints(InternalLog(teller, link.naming.checkpoints_topic(link.source)))
        trouble = await _load(checkpoints)
        view = await ctx.ledger(link)
        last_known = checkpointed(view, checkpoints.told)
        committed, moved_back = at_cuts(link, view, last_known)
        groups = GroupCoordinators(teller)
        listed = await groups.list_groups()
        there = await groups.fetch_positions(committed)
        now = GroupsNow(
            committed=committed,
            copied=await _copied(ctx, view, {p for positions in committed.values() for p in positions}),
            on_target={
                group: positions for group, positions in there.items() if not isinstance(positions, ClusterError)
            },
            active=frozenset(name for name, group in listed.items() if group.active),
            told=checkpoints.told,
        )
        decided = list(standings(now, "follow", writing=True))
        uncut = standings(replace(now, committed=last_known), "follow", writing=True)
        cuts = read_again(moved_back, decided, uncut) if moved_back else []
        wanted: dict[str, dict[TopicPartition, GroupPosition]] = {}
        for standing in decided:
            if standing.write is not None and standing.remote is not None:
                wanted.setdefault(standing.group, {})[standing.remote] = standing.write
        findings = [trouble] if trouble else []
        findings += [finding for standing in decided if (finding := standing.finding()) is not None]
        findings += await commit(groups, wanted)
    finally:
        await teller.close()
    written = sum(len(positions) for positions in wanted.values())
    known = f"{counted(len(committed), 'group')} with last synced positions"
    says = f"{known} ({counted(len(decided), 'partition')}, {written:,} written now)"
    if not checkpoints.loaded:
        # Nobody knows how many groups there are. The switch continues: they continue where the target has them.
        says = f"the last checkpoints are NOT known, groups keep the positions that {link.target} has: {trouble}"
    findings = [*map(cut_sentence, cuts), *findings]
    return StepResult(says, PositionsKnown(groups=tuple(sorted(committed)), cuts=tuple(cuts), **findings_of(findings)))


async def _load(checkpoints: Checkpoints) -> str | None:
    """Read the checkpoints; again, when that does not work: what it says then is why it did not work to the last."""
    deadline = time.monotonic() + _READ_AGAIN_FOR_S
    while True:
        trouble = await checkpoints.load()
        if checkpoints.loaded or time.monotonic() > deadline:
            return trouble
        await asyncio.sleep(_LOOK_S)


async def commit(groups: GroupCoordinators, wanted: Mapping[str, dict[TopicPartition, GroupPosition]]) -> list[str]:
    """Write positions; returns what was refused."""
    refused: list[str] = []
    for group, answer in (await groups.commit_positions(wanted)).items():
        if isinstance(answer, ClusterError):
            refused.append(f"{group}: {answer}")
            continue
        refused += [f"{group}: {partition}: refused: {codes.name_of(error)}" for partition, error in answer]
    return refused


async def _copied(ctx: SwitchContext, view: LedgerView, wanted: set[TopicPartition]) -> dict[TopicPartition, Copied]:
    """How each copy stands. One that cannot be used has positions for nobody, and says why."""
    dead = await dead_copies(ctx.at_target, [view.roster[name] for name in {p.topic for p in wanted}])
    remotes = {p: copy_of(view, p) for p in wanted}
    alive = [remote for partition, remote in remotes.items() if partition not in dead]
    starts = await fetch_offsets(ctx.at_target, alive, EARLIEST, within_s=_ANSWER_WITHIN_S)
    ends = await fetch_offsets(ctx.at_target, alive, LATEST, within_s=_ANSWER_WITHIN_S)
    copied: dict[TopicPartition, Copied] = {}
    for partition, remote in remotes.items():
        topic, known = view.roster[partition.topic], view.map_of(partition)
        start, end = starts.get(remote, dead.get(partition, "")), ends.get(remote, dead.get(partition, ""))
        if isinstance(start, str) or isinstance(end, str):
            why = f"{remote} on {ctx.link.target}: {start if isinstance(start, str) else end}"
            copied[partition] = Copied(remote, topic.incarnation, 0, 0, trouble=why)
            continue
        origin = topic.origins[partition.partition] if partition.partition < topic.partitions else 0
        copied[partition] = Copied(
            remote=remote,
            incarnation=topic.incarnation,
            first=known.span.source_first if known else origin,
            floor=start,
            translate=known.to_target if known else None,
            source_start=origin,
            target_start=start,
            target_end=max(start, end),
        )
    return copied
