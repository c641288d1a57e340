"""Looking at both clusters before a plan is made. Runs in the command that switches; changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.access.acls import bindings_in_memos
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.source_ends import CHORE as SOURCE_ENDS
from twinlog.model.ledger.source_ends import known_ends
from twinlog.model.names import TopicPartition
from twinlog.model.switch.log import Command
from twinlog.model.switch.plan import Facts
from twinlog.model.topics.writers_topics import missing_for_writers
from twinlog.recovery.context import SwitchContext
from twinlog.recovery.copies import dead_copies, sentences_about
from twinlog.recovery.cut_positions import cut_outlook
from twinlog.recovery.fencing import choose_means
from twinlog.recovery.known_loss import loss_of, remembered_ends
from twinlog.recovery.standstill import silent_engine
from twinlog.recovery.topics import target_topics
from twinlog.sync.acls import CHORE as ACLS
from twinlog.sync.checkpoints import Checkpoints
from twinlog.sync.internal_topics import InternalLog
from twinlog.wire.groups import GroupCoordinators

log = logging.getLogger("twinlog.recovery")

_ASK_WITHIN_S: Final = 8.0


async def observe(ctx: SwitchContext, command: Command) -> Facts:
    """Everything that a plan, its risks and its refusals depend on."""
    link, switch = ctx.link, ctx.link.switch
    source_trouble, target_trouble = await asyncio.gather(
        ctx.reachable(ctx.source, _ASK_WITHIN_S), ctx.reachable(ctx.target, _ASK_WITHIN_S)
    )
    facts = Facts(
        link=ctx.pair.name,
        command=command,
        fence=switch.fence,
        target_fence=switch.fence,
        reverse=switch.reverse,
        tail=switch.tail,
        same_names=link.naming.keeps_names,
        source_trouble=source_trouble,
        target_trouble=target_trouble,
        redirects=tuple(f"{hook.name} ({hook.kind})" for hook in switch.redirects),
        back_enabled=ctx.pair.back_enabled,
        objective_rto_seconds=link.objectives.otherwise.rto_seconds,
        transforms=link.transforms.names,
    )
    if target_trouble is not None:
        return facts
    await ctx.journal.read()
    view = await ctx.ledger(link)
    groups, active, again = await _groups(ctx, facts) if view.roster else (0, (), {})
    faulted = [s.fault.says for s in view.states.values() if s.phase == "faulted" and s.fault is not None]
    problems = [topic.problem.says for topic in view.roster.values() if topic.problem is not None]
    promised = bindings_in_memos("promote", {name: memo.body for name, memo in view.memos.get(ACLS, {}).items()})
    dead = await dead_copies(ctx.at_target, view.roster.values())
    facts = replace(
        facts,
        dead_copies=tuple(sentences_about(dead, view, link.target)),
        ledger_there=view.engine is not None,
        state=ctx.journal.state,
        open=ctx.journal.log.open,
        engine_trouble=await _engine_trouble(ctx, view, command),
        faults=(*faulted, *problems),
        topics=tuple(sorted(name for name in view.roster if not link.naming.is_heartbeats(name))),
        missing_for_writers=missing_for_writers(
            view.roster.values(), link.naming, set(await asyncio.to_thread(ctx.target.list_topics))
        ),
        registry=link.registry.mirrored and link.registry.topic in view.roster,
        registry_topics=link.registry.topics if link.registry.mirrored else (),
        partitions=sum(topic.partitions for topic in view.roster.values()),
        groups=groups,
        active_groups=active,
        read_again=again if command == "failover-unplanned" else {},
        held_back_acls=len(promised),
        cuts=await _cuts(ctx, command, view),
    )
    return await _with_lag(ctx, await _with_fences(ctx, facts), view)


async def _with_fences(ctx: SwitchContext, facts: Facts) -> Facts:
    """Which means of shutting producers out suits each side; a source that is away is asked when it returns."""
    link, switch = ctx.link, ctx.link.switch
    target_means, why = await choose_means(ctx.target, link, switch, await target_topics(ctx))
    facts = replace(facts, target_fence=target_means, target_fence_why=why)
    if facts.source_trouble is not None:
        return facts
    source_means, why = await choose_means(ctx.source, ctx.back, switch, facts.topics)
    return replace(facts, fence=source_means, fence_why=why)


async def _engine_trouble(ctx: SwitchContext, view: LedgerView, command: Command) -> str | None:
    """Why no engine drains the link; only a planned failover needs one."""
    if view.engine is None:
        return "none ever ran"
    return await silent_engine(ctx, ctx.link, view.engine) if command == "failover-planned" else None


async def _cuts(ctx: SwitchContext, command: Command, view: LedgerView) -> tuple[str, ...]:
    if command != "failover-unplanned" or not ctx.link.cut_sets:
        return ()
    checkpoints = Checkpoints(InternalLog(ctx.at_target, ctx.link.naming.checkpoints_topic(ctx.link.source)))
    await checkpoints.load()
    return cut_outlook(ctx.link, view, checkpoints.told)


async def _groups(ctx: SwitchContext, facts: Facts) -> tuple[int, tuple[str, ...], dict[str, int]]:
    """How many groups have positions in the copies, which of them have members on the side that becomes active, and
    how many records each reads again at most.
    """
    again: dict[str, int] = {}
    if facts.command.startswith("failover"):
        log = InternalLog(ctx.at_target, ctx.link.naming.checkpoints_topic(ctx.link.source))
        checkpoints = Checkpoints(log)
        await checkpoints.load()
        concerned = {group for group, _ in checkpoints.told}
        listed = await GroupCoordinators(ctx.at_target).list_groups()
        again = await _read_again(ctx, checkpoints)
    elif facts.source_trouble is None:
        there = set(await target_topics(ctx))
        at_target = GroupCoordinators(ctx.at_target)
        names = [name for name in await at_target.list_groups() if ctx.link.groups.matches(name)]
        positions = await at_target.fetch_positions(names)
        concerned = {
            name
            for name, committed in positions.items()
            if not isinstance(committed, ClusterError) and any(partition.topic in there for partition in committed)
        }
        listed = await GroupCoordinators(ctx.at_source).list_groups()
    else:
        return 0, (), again
    busy = sorted(name for name, group in listed.items() if group.active and name in concerned)
    return len(concerned), tuple(busy), again


async def _read_again(ctx: SwitchContext, checkpoints: Checkpoints) -> dict[str, int]:
    """By group: the copied records behind where it continues; it may have read them before the source was lost."""
    ends = await asyncio.to_thread(ctx.target.fetch_end_offsets, sorted({place for _, place in checkpoints.told}))
    there = await GroupCoordinators(ctx.at_target).fetch_positions({group for group, _ in checkpoints.told})
    again: dict[str, int] = {}
    for (group, place), told in checkpoints.told.items():
        end, committed = ends.get(place), there.get(group, {})
        if end is None or isinstance(end, ClusterError):
            continue
        here = None if isinstance(committed, ClusterError) else committed.get(place)
        again[group] = again.get(group, 0) + max(0, int(end) - (here.offset if here else told.downstream))
    return again


async def _with_lag(ctx: SwitchContext, facts: Facts, view: LedgerView) -> Facts:
    if not facts.command.startswith("failover"):
        return facts
    now = SYSTEM_CLOCK.now_ms()
    ends, at_ms = remembered_ends(view)
    if facts.source_trouble is None:
        wanted = [TopicPartition(t.topic, n) for t in view.roster.values() for n in range(t.partitions)]
        committed = ctx.link.reading.fetch.isolation == "read_committed"
        try:
            answers = await asyncio.to_thread(ctx.source.fetch_end_offsets, wanted, committed=committed)
        except ClusterError as trouble:
            log.warning("%s: its ends are the last known ones: %s", ctx.link.source, trouble)
        else:
            ends = {p: int(end) for p, end in answers.items() if not isinstance(end, ClusterError)}
            at_ms = now if len(ends) == len(wanted) else None
    if at_ms is None:
        return facts
    nexts = {p: state.source_next for p, state in view.states.items()}
    behind = {p: end - nexts.get(p, view.roster[p.topic].origins[p.partition]) for p, end in ends.items()}
    naming = ctx.link.naming
    behind = {p: left for p, left in behind.items() if left > 0 and not naming.is_heartbeats(p.topic)}
    sizes = {p: s.bytes / s.records for p, s in view.states.items() if s.records}
    ids = {topic.topic: topic.source_id for topic in view.roster.values()}
    known = known_ends(view.memos.get(SOURCE_ENDS, {}), nexts, ids)
    covered = [known[p].covered_ms if p in known else None for p in behind]
    oldest = [at for at in covered if at is not None]
    loss = loss_of(view, ctx.link.naming) if facts.source_trouble is not None else None
    # Of a source that is away: the age at its last sign of life, as status has it; it does not move any more.
    until = now if loss is None else loss.sign_ms or now
    return replace(
        facts,
        loss=loss,
        lag_records=sum(behind.values()),
        lag_bytes=_bytes_of(behind, sizes),
        lag_seconds=None if len(oldest) < len(covered) else max(0, until - min((at_ms, *oldest))) / 1000,
        known_at_ms=at_ms,
    )


def _bytes_of(behind: Mapping[TopicPartition, int], sizes: Mapping[TopicPartition, float]) -> int | None:
    """The size of what waits, by the mean record of its partition, else of the link; None where nothing was copied."""
    if not any(behind.values()):
        return 0
    if not sizes:
        return None
    mean = sum(sizes.values()) / len(sizes)
    return int(sum(left * sizes.get(place, mean) for place, left in behind.items()))
