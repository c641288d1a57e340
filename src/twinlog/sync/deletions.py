"""Sync job "deletions": topics that are gone on the source, by the policy `topic.deletion` (model/topics/absence).

    ask the source by name ─▶ judge_absences ─▶ look at the copy itself ─▶ delete it; the roster cycle forgets the topic

A copy is deleted only if it is the very topic that this link filled, and holds nothing that somebody else wrote.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from twinlog.config.link_values import CopySettings
from twinlog.errors import BrokerAway, ClusterError, SourceTopicMissing, TopicUnknown
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import Memo, PartitionState, RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.topics.absence import Absence, AbsencePlan, SourceView, judge_absences
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.wire.connection import Cluster
from twinlog.wire.log import LogReader, fetch_ends
from twinlog.wire.offsets import EARLIEST, OffsetsRefused, fetch_offset

log = logging.getLogger("twinlog.sync")

CHORE: Final = "deletions"
# Not the name of a topic: those have no slash.
_SOURCE_MEMO: Final = "/source"
_READ_SECONDS: Final = 30.0


def look_at_source(ends: LinkEnds, entries: Collection[RosterTopic]) -> SourceView:
    """Ask the source about every mirrored topic by name. Blocking; raises when the whole cluster does not serve us."""
    cluster_id = ends.source.fetch_cluster_id()
    answers = ends.source.describe_topics(entry.topic for entry in entries)
    same, other, gone = set[str](), set[str](), set[str]()
    hidden: dict[str, str] = {}
    for entry in entries:
        match answers[entry.topic]:
            case TopicFacts() as facts:
                (same if facts.topic_id == entry.source_id else other).add(entry.topic)
            case TopicUnknown():
                gone.add(entry.topic)
            case trouble:
                hidden[entry.topic] = str(trouble)
    return SourceView(cluster_id, same, other, gone, hidden)


def planned_deletions(ends: LinkEnds, entries: Iterable[RosterTopic], memos: Mapping[str, Memo]) -> AbsencePlan:
    """Look, and decide by what is remembered. Heartbeats belong to machines: they neither go nor prove anything."""
    mirrored = [entry for entry in entries if entry.target_id and not ends.link.naming.is_heartbeats(entry.topic)]
    known = {name: Absence.of(memo.body) for name, memo in memos.items() if name != _SOURCE_MEMO}
    pinned = memos[_SOURCE_MEMO].body.get("cluster_id") if _SOURCE_MEMO in memos else None
    snapshot = look_at_source(ends, mirrored)
    return judge_absences(snapshot, known, pinned, ends.link.copies.deletion, SYSTEM_CLOCK.now_ms())


@dataclass
class DeletionSync:
    """The sync job of one link."""

    ends: LinkEnds
    settings: CopySettings
    name: str = CHORE

    @property
    def seconds(self) -> float:
        """How long to wait after one step before the next."""
        return self.settings.refresh_seconds

    async def step(self, view: LedgerView) -> Outcome:
        """Watch, report, and delete what is due. Asks nobody while the roster misses nothing."""
        memos = dict(view.memos.get(CHORE, {}))
        entries = dict(view.roster)
        missing = [e for e in entries.values() if e.problem is not None and e.problem.code == SourceTopicMissing.code]
        if _SOURCE_MEMO in memos and len(memos) == 1 and not missing:
            return Outcome(counts={"gone": 0})
        plan = await asyncio.to_thread(planned_deletions, self.ends, list(entries.values()), memos)
        sentences = dict(plan.sentences)
        deleted = 0
        for topic in plan.due:
            refusal = await self._delete(entries[topic], view.states)
            deleted += refusal is None
            sentences[topic] = f"{topic}: {entries[topic].remote} {refusal or 'was deleted'}"
            log.warning("%s: %s", self.ends.link.name, sentences[topic])  # an audit trail beyond the next step's note
        bodies = {topic: absence.body() for topic, absence in plan.absences.items()}
        bodies[_SOURCE_MEMO] = {"cluster_id": plan.cluster_id}
        return Outcome(
            counts={"gone": len(plan.absences), "deleted": deleted},
            findings=[*([plan.refused] if plan.refused else []), *sentences.values()],
            memos=[
                Memo(chore=CHORE, name=name, body=body)
                for name, body in bodies.items()
                if name not in memos or memos[name].body != body
            ],
            forget=[name for name in memos if name not in bodies],
        )

    async def _delete(self, entry: RosterTopic, states: Mapping[TopicPartition, PartitionState]) -> str | None:
        """Delete the copy; returns why not."""
        there = (await asyncio.to_thread(self.ends.target.describe_topics, [entry.remote]))[entry.remote]
        if isinstance(there, TopicUnknown):
            return None  # somebody was faster
        if isinstance(there, ClusterError):
            return f"is not deleted: {there}"
        if there.topic_id != entry.target_id:
            return "is not deleted: it is another topic than the one this link filled"
        noted = {number: states.get(TopicPartition(entry.topic, number)) for number in range(there.partitions)}
        foreign = await self._foreign_records(entry, noted)
        if foreign is not None:
            return f"is not deleted: {foreign}; delete it by hand if nobody needs it"
        refusal = (await asyncio.to_thread(self.ends.target.delete_topics, [entry.remote]))[entry.remote]
        return None if refusal is None or isinstance(refusal, TopicUnknown) else f"could not be deleted: {refusal}"

    async def _foreign_records(self, entry: RosterTopic, noted: Mapping[int, PartitionState | None]) -> str | None:
        """Read what lies behind the position we noted: there may be only what we wrote ourselves, and markers."""
        own: dict[int, tuple[int, int | None]] = {}
        for number, state in noted.items():
            mine = state is not None and state.incarnation == entry.incarnation
            own[number] = (state.target_next, state.producer_id) if state is not None and mine else (0, None)
        cluster = Cluster(self.ends.link.clients.target_consumer, f"twinlog|{self.ends.link.name}|deletions")
        try:
            async with asyncio.timeout(_READ_SECONDS):
                return await _find_foreign(cluster, entry.remote, own)
        except (TimeoutError, OffsetsRefused, BrokerAway) as error:
            return f"its end could not be read: {error or 'no answer in time'}"
        finally:
            await cluster.close()


async def _find_foreign(cluster: Cluster, topic: str, own: Mapping[int, tuple[int, int | None]]) -> str | None:
    ends = await fetch_ends(cluster, topic, dict.fromkeys(own, 0))
    # Retention may have passed the position that we noted.
    begins = {number: max(own[number][0], await fetch_offset(cluster, topic, number, EARLIEST)) for number in ends}
    behind = {number for number, end in ends.items() if begins[number] < end}
    if not behind:
        return None
    reader = LogReader(cluster, topic, {n: begins[n] for n in behind}, "deletions", max_wait_ms=50, lasting=False)
    async for number, batches in reader.batches():
        for header, _ in batches:
            if not header.is_control and header.producer_id != own[number][1]:
                return f"partition {number} holds records at {header.base_offset} that this link did not write"
        behind = {n for n in behind if reader.positions[n] < ends[n]}
        if not behind:
            return None
    return None
