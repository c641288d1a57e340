"""Planning a verification: what the ledger says is copied, and what both clusters still have of it. Runs on the driver.

Nothing is locked and nothing stops: the plan is what the ledger says at one moment, and records that arrive later are
not part of it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.errors import ClusterError, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.spans import read_topic
from twinlog.ledger.reading import read_ledger
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import WRITERS_TOPIC, ClusterIds, WriterNote, read_writer
from twinlog.model.start import AtTime
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.model.verify.audit_windows import Window
from twinlog.model.verify.plan import CHUNK_BYTES, SAMPLE_BYTES, Excluded, PartitionFacts, chunks_of, sampled
from twinlog.model.verify.verification import Chunk, Lineage
from twinlog.model.wanted import Wanted

_WRITERS_WITHIN_S = 30.0
_WHOLE = 1 << 62


@dataclass(frozen=True)
class AtOffset:
    """A source offset, the same in every partition."""

    offset: int

    def __str__(self) -> str:
        return f"offset {self.offset}"


Bound: TypeAlias = AtOffset | AtTime


_ALL_TOPICS: Final = Wanted("topics")


@dataclass(frozen=True)
class VerifyWish:
    """What is to be compared; without limits, everything that is copied."""

    wanted: Wanted = _ALL_TOPICS  # by the source topic's name
    first: Bound | None = None
    after: Bound | None = None
    sample: float | None = None

    def __str__(self) -> str:
        parts = ["all topics" if self.wanted.expression is None else f"topics {self.wanted.expression}"]
        parts += [f"{word} {bound}" for word, bound in (("from", self.first), ("to", self.after)) if bound is not None]
        parts += [f"a sample of {self.sample:.2%}"] if self.sample is not None else []
        return ", ".join(parts)


@dataclass
class VerifyPlan:
    """The chunks, and what cannot be compared at all."""

    chunks: list[Chunk] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)


async def fetch_ledger(link: LinkSettings) -> LedgerView:
    """The whole ledger with its maps, as it is now."""
    return await read_ledger(link)


@dataclass
class Planner:
    """Asks both clusters and the ledger."""

    link: LinkSettings
    source: ClusterAdmin
    target: ClusterAdmin

    def plan(self, wish: VerifyWish) -> VerifyPlan:
        """Everything that is wished for. Raises SelectionEmpty when an expression matches no topic of the link."""
        plan = VerifyPlan()
        view = asyncio.run(fetch_ledger(self.link))
        if wish.wanted.expression is not None:
            wish.wanted.among(view.roster, f"the topics that {self.link.name} mirrors")
        facts = self._facts(view, wish.wanted, plan.excluded)
        firsts, afters = self._bound(wish.first, facts), self._bound(wish.after, facts)
        size = CHUNK_BYTES if wish.sample is None else SAMPLE_BYTES
        for fact in facts:
            where = fact.partition
            chunks, excluded = chunks_of(fact, firsts.get(where), afters.get(where), size=size)
            plan.excluded += excluded
            if wish.sample is not None:
                chunks = sampled(chunks, wish.sample, random.random())  # noqa: S311  which part is looked at is no secret
            plan.chunks += chunks
        return plan

    def plan_from(self, beginnings: Mapping[TopicPartition, int]) -> VerifyPlan:
        """These partitions from an offset to what is copied now, whole."""
        plan = VerifyPlan()
        topics = {partition.topic for partition in beginnings}
        for fact in self._facts(asyncio.run(fetch_ledger(self.link)), topics.__contains__, plan.excluded):
            if fact.partition in beginnings:
                chunks, excluded = chunks_of(fact, beginnings[fact.partition])
                plan.chunks += chunks
                plan.excluded += excluded
        return plan

    def plan_windows(self, view: LedgerView, windows: Iterable[Window]) -> list[tuple[Window, Chunk]]:
        """Some windows of a ledger that is already known, as far as they can be compared. Blocking."""
        facts = {fact.partition: fact for fact in self._facts(view, lambda _: True, [])}
        planned = []
        for window in windows:
            if window.partition in facts:
                chunks, _ = chunks_of(facts[window.partition], window.first, window.after, size=_WHOLE)
                planned += [(window, chunk) for chunk in chunks]
        return planned

    def _facts(self, view: LedgerView, wanted: Callable[[str], bool], excluded: list[Excluded]) -> list[PartitionFacts]:
        roster = {name: topic for name, topic in sorted(view.roster.items()) if wanted(name)}
        known = self._known(roster, excluded)
        started = []
        for name, topic in known.items():
            for number in range(topic.partitions):
                state = view.states.get(TopicPartition(name, number))
                if state is None or state.incarnation != topic.incarnation:
                    excluded.append(Excluded(f"{name}-{number}", "nothing of it is copied yet", 0))
                else:
                    started.append((topic, state, TopicPartition(name, number)))
        source_starts = self.source.fetch_start_offsets([where for _, _, where in started])
        target_starts = self.target.fetch_start_offsets([TopicPartition(t.remote, w.partition) for t, _, w in started])
        source_compacted = _compacted(self.source, known, excluded)
        target_compacted = _compacted(self.target, [topic.remote for topic in known.values()], excluded)
        lineage = self._lineage(known) if started else {}
        facts = []
        for topic, state, where in started:
            starts = (source_starts[where], target_starts[TopicPartition(topic.remote, where.partition)])
            silent = [str(start) for start in starts if isinstance(start, ClusterError)]
            if silent:
                excluded += [Excluded(str(where), reason) for reason in silent]
                continue
            facts.append(
                PartitionFacts(
                    roster=topic,
                    state=state,
                    map=PartitionMap(state, view.parts_of(where)),
                    gaps=tuple(view.gaps.get(where, {}).values()),
                    source_start=int(starts[0]),  # type: ignore[arg-type]
                    target_start=int(starts[1]),  # type: ignore[arg-type]
                    source_compacted=where.topic in source_compacted,
                    target_compacted=topic.remote in target_compacted,
                    lineage=_with_producer(lineage[where.topic], state.producer_id),
                )
            )
        return facts

    def _lineage(self, roster: Mapping[str, RosterTopic]) -> dict[str, Lineage]:
        """Who writes where on purpose, as both clusters note it; read after the ledger, so nobody is too new."""
        rules, link = self.link.provenance, self.link
        clusters = ClusterIds(self.source.fetch_cluster_id(), self.target.fetch_cluster_id())
        here, there = (
            known_writers(self.source, link.clients.source_consumer),
            known_writers(self.target, link.clients.target_consumer),
        )
        own = frozenset(w.producer_id for w in there if w.link == link.name and w.source_cluster == clusters.source)
        lineage = {}
        for name, topic in roster.items():
            exempt = rules.exempts(clusters, topic.remote)
            left_out = frozenset(w.producer_id for w in here if rules.leaves_out(w, clusters, exempt=exempt))
            steps = link.transforms
            known = Lineage(rules, clusters, left_out, own, shared=topic.remote == name)
            lineage[name] = replace(known, drops=steps.takes(name), changes=steps.changes(name))
        return lineage

    def _known(self, roster: Mapping[str, RosterTopic], excluded: list[Excluded]) -> dict[str, RosterTopic]:
        """The topics that are on both sides what the ledger speaks of."""
        here = self.source.describe_topics(roster)
        there = self.target.describe_topics(topic.remote for topic in roster.values())
        known = {}
        for name, topic in roster.items():
            sides = (
                (self.link.source, here[name], topic.source_id),
                (self.link.target, there[topic.remote], topic.target_id),
            )
            problem = next((p for alias, facts, wanted in sides if (p := _problem(alias, facts, wanted))), None)
            if problem is None:
                known[name] = topic
            else:
                excluded.append(Excluded(name, problem))
        return known

    def _bound(self, bound: Bound | None, facts: Iterable[PartitionFacts]) -> dict[TopicPartition, int]:
        match bound:
            case None:
                return {}
            case AtOffset():
                return {fact.partition: bound.offset for fact in facts}
            case AtTime():
                offsets = self.source.fetch_offsets_at([fact.partition for fact in facts], bound.ms)
                return {where: int(offset) for where, offset in offsets.items() if not isinstance(offset, ClusterError)}


def known_writers(admin: ClusterAdmin, settings: ClientSettings) -> list[WriterNote]:
    """Read the notes of all links that write into a cluster."""
    try:
        logs = read_topic(admin, settings, WRITERS_TOPIC, within_s=_WRITERS_WITHIN_S)
    except TopicUnknown:
        return []  # no link of ours writes there
    return [note for log in logs.values() for record in log if (note := read_writer(record.key, record.value))]


def _with_producer(lineage: Lineage, producer_id: int) -> Lineage:
    """A ledger from before the notes of writers knows its producer all the same."""
    return replace(lineage, own=lineage.own | {producer_id} if producer_id >= 0 else lineage.own)


def _problem(alias: str, facts: TopicFacts | ClusterError, wanted: str) -> str | None:
    if isinstance(facts, ClusterError):
        return str(facts)
    if facts.topic_id != wanted:
        return f"{alias}: {facts.name} was deleted and created again; the ledger is about the old one"
    return None


def _compacted(admin: ClusterAdmin, topics: Iterable[str], excluded: list[Excluded]) -> set[str]:
    compacted = set()
    for name, answer in admin.fetch_topic_configs(topics).items():
        if isinstance(answer, ClusterError):
            excluded.append(Excluded(name, f"its cleanup.policy is unknown and taken for delete: {answer}"))
        elif any(config.name == "cleanup.policy" and "compact" in (config.value or "") for config in answer):
            compacted.add(name)
    return compacted
