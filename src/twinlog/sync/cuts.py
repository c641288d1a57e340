"""Sync job "cuts": remembers where groups stood at the newest time that a whole set of topics has covered.

    positions of the groups, then the ends of the set's topics ─▶ CutTracker (model/groups) ─▶ memos in the ledger

Runs in the service's loop, only for links with `cut.sets`. The failover reads the memos (recovery/cut_positions).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.groups.cut_sets import CHORE, Cut, CutSet, CutTracker, Sample, cut_memos
from twinlog.model.ledger.records import Memo
from twinlog.model.names import TopicPartition
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.sync.source_ends import ledger_positions
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators

_SECONDS: Final = 2.0


@dataclass
class CutSync:
    """The sync job of one link."""

    ends: LinkEnds
    name: str = CHORE
    seconds: float = _SECONDS
    _trackers: dict[str, CutTracker] = field(default_factory=dict)
    _source: Cluster | None = None

    async def step(self, view: LedgerView) -> Outcome:
        """Sample every set once, and remember what is covered by now."""
        link = self.ends.link
        if self._source is None:
            self._source = Cluster(link.clients.source_admin, f"twinlog|{link.name}|cuts")
        groups = GroupCoordinators(self._source)
        names = [name for name in await groups.list_groups() if link.groups.matches(name)]
        at_ms = SYSTEM_CLOCK.now_ms()
        committed = await groups.fetch_positions(names)
        known = {
            group: {partition: position.offset for partition, position in positions.items()}
            for group, positions in committed.items()
            if not isinstance(positions, ClusterError)
        }
        findings: list[str] = []
        bodies: dict[str, dict[str, Any]] = {}
        waiting = 0
        for cut_set in link.cut_sets:
            tracker = self._trackers.setdefault(cut_set.name, CutTracker())
            partitions = self._partitions(view, cut_set)
            if not partitions:
                findings.append(f"cut set {cut_set.name}: the link mirrors no topic of it")
                continue
            # After the positions, never before: these ends close off every output that the positions depend on.
            ends = await asyncio.to_thread(self._ends, partitions)
            if len(ends) < len(partitions):
                findings.append(f"cut set {cut_set.name}: {len(partitions) - len(ends)} partitions have no known end")
            else:
                tracker.add(Sample(Cut(at_ms, _of_set(known, ends)), ends))
            tracker.reach(ledger_positions(view, dict(view.roster)))
            waiting += len(tracker.pending)
            if tracker.covered is not None:
                bodies |= cut_memos(cut_set.name, tracker.covered)
        memos = dict(view.memos.get(CHORE, {}))
        sets = {cut_set.name for cut_set in link.cut_sets}
        return Outcome(
            counts={"sets": len(link.cut_sets), "groups": len(bodies), "samples_waiting": waiting},
            findings=findings,
            memos=[
                Memo(chore=CHORE, name=name, body=body)
                for name, body in bodies.items()
                if name not in memos or memos[name].body["offsets"] != body["offsets"] or _old(memos[name], at_ms)
            ],
            # A group that was deleted, or a set that was dropped, has no position to go back to.
            forget=[name for name in memos if name.partition("/")[0] not in sets],
        )

    async def close(self) -> None:
        if self._source is not None:
            await self._source.close()

    def _partitions(self, view: LedgerView, cut_set: CutSet) -> list[TopicPartition]:
        return [
            TopicPartition(topic.topic, number)
            for topic in view.roster.values()
            if cut_set.topics.matches(topic.topic)
            for number in range(topic.partitions)
        ]

    def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        answers = self.ends.source.fetch_end_offsets(partitions, committed=False)
        return {partition: int(end) for partition, end in answers.items() if not isinstance(end, ClusterError)}


def _of_set(
    known: dict[str, dict[TopicPartition, int]], ends: dict[TopicPartition, int]
) -> dict[str, dict[TopicPartition, int]]:
    """The groups that read from the set, with their positions in it."""
    by_group = {
        group: {partition: offset for partition, offset in positions.items() if partition in ends}
        for group, positions in known.items()
    }
    return {group: positions for group, positions in by_group.items() if positions}


def _old(memo: Memo, now_ms: int) -> bool:
    """A cut whose positions did not change is written again now and then: its time tells how fresh it is."""
    return now_ms - int(memo.body["at"]) > 30_000
