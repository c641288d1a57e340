"""Steps that move the schema registry: promote the copy, and bring new schemas home."""

from __future__ import annotations

import asyncio
from typing import Final

from twinlog.errors import ClusterError, SwitchStopped
from twinlog.ledger.view import LedgerView
from twinlog.model.counted import counted
from twinlog.model.names import TopicPartition
from twinlog.model.switch.facts import RegistryHome, RegistryPromoted, findings_of
from twinlog.recovery.context import StepResult, SwitchContext
from twinlog.recovery.topics import with_registry
from twinlog.registry.pair.home import HOME_SUBJECT, Home
from twinlog.registry.pair.index import TopicIndex
from twinlog.registry.pair.merge import Cut, Merge
from twinlog.registry.pair.orders import BringHome, Promote
from twinlog.registry.pair.reading import IndexReader
from twinlog.registry.pair.registry_writer import opened
from twinlog.registry.pair.sampling import Sample, sample_topics, unresolved
from twinlog.registry.records import CONFIG, LogicalKey
from twinlog.sync.registry import noted_home
from twinlog.verify.schema_proof import topics_to_sample
from twinlog.wire.connection import Cluster

_SOURCE_S: Final = 10.0
_SAMPLE_S: Final = 60.0


async def promote_registry(ctx: SwitchContext) -> StepResult:
    """Promote the target's registry. In a disaster its trouble must not keep producers out: it is told and passed."""
    try:
        return await _promote(ctx)
    except (ClusterError, TimeoutError) as error:
        if ctx.journal.switch.claim.command == "failover-planned":
            raise
        why = str(error) or type(error).__name__
        way = f"`twinlog registry promote '{ctx.link.name}'` does it when the cause is gone"
        said = f"the registry of {ctx.link.target} could not be promoted: {why}; {way}"
        return StepResult(said, RegistryPromoted(**findings_of([said])))


async def _promote(ctx: SwitchContext) -> StepResult:
    """Let the target's registry write, with ids that the source cannot have given; prove that ids resolve there."""
    registry = ctx.link.registry
    if not await with_registry(ctx):
        return StepResult(f"{registry.topic} is not mirrored: there is no registry to promote", RegistryPromoted())
    view = await ctx.ledger(ctx.link)
    samples, copy, problems = await _proof(ctx, view)
    planned = ctx.journal.switch.claim.command == "failover-planned"
    lacking = [problem for problem in problems if "neither" not in problem]
    if planned and lacking:
        way = "Wait until the link has copied the schemas, or register them on the target, then resume."
        raise SwitchStopped(ctx.link.name, "registry", "; ".join(lacking[:5]), way)
    async with opened(ctx.at_target, registry.topic, registry.transactional_id) as writer:
        order = Promote(_cluster_id(ctx.at_target), noted_home(view), registry.id_gap)
        home = (await writer.write(order)).answer
    if not isinstance(home, Home):
        raise TypeError("a promotion answers with a home")
    ids, records = sum(len(sample.ids) for sample in samples), sum(sample.records for sample in samples)
    says = (
        f"the registry of {ctx.link.target} gives ids above {home.floor('.')} from now on (term {home.term}); "
        f"looked up: {counted(ids, 'id')} in {counted(records, 'sampled record')} among "
        f"{counted(len(copy.places), 'version')}; not resolved: {len(problems)}"
    )
    facts = RegistryPromoted(term=home.term, floor=home.floor("."), ids=ids, **findings_of(problems))
    return StepResult(says, facts)


async def bring_home(ctx: SwitchContext) -> StepResult:
    """Merge what the target registered into the source's schemas, then let the source's registry lead again."""
    registry = ctx.link.registry
    if not await with_registry(ctx):
        return StepResult(f"{registry.topic} is not mirrored: nothing is brought home", RegistryHome())
    state = (await ctx.ledger(ctx.link)).states.get(TopicPartition(registry.topic, 0))
    async with opened(ctx.at_target, registry.topic, registry.transactional_id) as away:
        await away.reader.caught_up(_SOURCE_S)
        here = away.state.home
        if here is None or here.cluster != _cluster_id(ctx.at_target):
            return StepResult(f"the registry of {ctx.link.target} was not promoted", RegistryHome())
        promoted_at = away.state.setting_offsets[LogicalKey(CONFIG, HOME_SUBJECT)]
        cut = Cut(0 if state is None else state.source_next, promoted_at)
        async with opened(ctx.at_source, registry.topic, registry.transactional_id) as home:
            merged = (await home.write(BringHome(away.state, cut, _cluster_id(ctx.at_source)))).answer
        if not isinstance(merged, Merge):
            raise TypeError("bringing home answers with a merge")
    missing = await _not_home(ctx, [str(conflict) for conflict in merged.conflicts])
    if missing:
        way = "Resume: the merge can be repeated. `twinlog registry verify` compares both registries."
        raise SwitchStopped(ctx.link.name, "registry-home", f"{missing[0]} is not home", way)
    term = here.term + 1
    counts = merged.counts
    says = (
        f"{counted(counts['brought'], 'version')}, {counted(counts['deleted'] + counts['removed'], 'deletion')} and "
        f"{counted(counts['settings'], 'setting')} of {ctx.link.target} brought home, "
        f"{counted(len(merged.conflicts), 'conflict')}; the registry of {ctx.link.source} leads (term {term})"
    )
    facts = RegistryHome(
        term=term, brought=counts["brought"], **findings_of([str(conflict) for conflict in merged.conflicts])
    )
    return StepResult(says, facts)


async def _proof(ctx: SwitchContext, view: LedgerView) -> tuple[list[Sample], TopicIndex, list[str]]:
    """Sample the newest records of the copies, and look their ids up in the copy of the registry."""
    registry, link = ctx.link.registry, ctx.link
    copy = await IndexReader(ctx.at_target, registry.topic).refresh() or TopicIndex()
    home: TopicIndex | None = None
    if await ctx.reachable(ctx.source, _SOURCE_S / 2) is None:
        try:
            async with asyncio.timeout(_SOURCE_S):
                home = await IndexReader(ctx.at_source, registry.topic).refresh()
        except (ClusterError, TimeoutError):
            home = None  # as last known: what the copy says
    topics, left_out = topics_to_sample(link, view.roster)
    try:
        async with asyncio.timeout(_SAMPLE_S):
            samples = await sample_topics(ctx.at_target, topics)
    except TimeoutError:
        return [], copy, [f"records of {link.target} could not be sampled within {_SAMPLE_S:.0f} s"]
    problems = [str(problem) for problem in unresolved(samples, copy, home, link.target)]
    if left_out:
        problems.append(f"only {len(topics)} of {len(topics) + left_out} topics were sampled")
    return samples, copy, problems


async def _not_home(ctx: SwitchContext, named: list[str]) -> list[str]:
    """Ids of the target that do not resolve to the same schema on the source, beyond those that are named."""
    registry = ctx.link.registry
    away = await IndexReader(ctx.at_target, registry.topic).refresh() or TopicIndex()
    home = await IndexReader(ctx.at_source, registry.topic).refresh() or TopicIndex()
    here = home.digests()
    conflicts = "\n".join(named)
    return [str(number) for number in away.digests() if number not in here and f"(id {number.number})" not in conflicts]


def _cluster_id(cluster: Cluster) -> str:
    if cluster.cluster_id is None:
        raise AssertionError("a cluster that answered has an id")
    return cluster.cluster_id
