"""The roster cycle of a link: observes topics, decides where each begins, writes the roster. Runs in the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from twinlog.config.settings import LinkSettings
from twinlog.flow.plan import tasks_for
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger.records import Memo, RosterTopic
from twinlog.model.ledger.roster import Origins, empty_copies, roster_changes, wanted_origins
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds
from twinlog.model.topics.target_topics import Roster

_BEGUN: Final = Memo(chore="start", name="begun", body={})
"""`start.from` was applied: the roster alone does not tell, it is empty while no topic matches."""


class Topics(Protocol):
    """What the engine needs of the two clusters' metadata (given by the service: sync.topics and kafka.admin)."""

    def ensure_ledger(self) -> int:
        """Create the topics of ours on the target if need be; returns the number of shards that the ledger has."""

    def cluster_ids(self) -> ClusterIds:
        """Ask both clusters who they are."""

    def observe(self, known: Mapping[str, RosterTopic]) -> Roster:
        """One cycle: create and grow target topics, return what is there."""

    def origins(self, partitions: list[TopicPartition], *, first_time: bool) -> Origins:
        """Where each of these source partitions is to be read from first."""

    def selected(self, topic: str) -> bool:
        """Whether the settings select this topic."""


@dataclass
class RosterCycle:
    """Which topics the link mirrors, kept up to date in the ledger."""

    link: LinkSettings
    topics: Topics
    cores: int
    replan: int = 0  # rises when there is work for more tasks than the epoch was planned with
    _cycles: int = 0
    _tasks: int = 0

    async def refresh(self, writer: LedgerWriter, view: LedgerView, *, whole: bool = False) -> bool:
        """One cycle; `whole` reads every new topic from its first record on."""
        # `start.from` is for what is there when the link is new; whatever appears later is read from its first record.
        begun = whole or self._cycles > 0 or _BEGUN.name in view.memos.get(_BEGUN.chore, {})
        first_time = not begun and not view.roster
        empty = empty_copies(view.roster, view.states)
        observed = await asyncio.to_thread(self.topics.observe, {**view.roster, **empty})
        gone = {name for name in empty.keys() & observed.topics.keys() if _is_another(observed, view, name)}
        known = {name: empty[name] if name in gone else entry for name, entry in view.roster.items()}
        wanted = wanted_origins(observed.topics.values(), known)
        origins = await asyncio.to_thread(self.topics.origins, wanted, first_time=first_time) if wanted else Origins()
        selected = lambda name: name in observed.unseen or self.topics.selected(name)  # noqa: E731
        changes = roster_changes(
            observed.topics,
            known,
            origins.at,
            view.states,
            selected,
            refused=origins.refused,
            halted=observed.halted,
            unseen=observed.unseen,
            vanished=observed.vanished,
        )
        for entry in changes.entries:
            view.roster[entry.topic] = entry
        for start in range(0, len(changes.entries), 200):
            await writer.write(changes.entries[start : start + 200])
        await writer.write([], tombstones=[f"roster/{name}".encode() for name in changes.removed])
        for name in changes.removed:
            view.roster.pop(name, None)
        told = view.notes.get(origins.note.chore) if origins.note else None
        # A later cycle asks only about what is left; it must not cover what was told about the others.
        if origins.note is not None and (told is None or not set(origins.note.findings) <= set(told.findings)):
            view.notes[origins.note.chore] = origins.note
            await writer.write([origins.note])
        if first_time:
            await writer.write([_BEGUN])
        self._cycles += 1
        self._replan_if_grown(view)
        return True

    def _replan_if_grown(self, view: LedgerView) -> None:
        """End the epoch early when there is work for more tasks than it was planned with."""
        partitions = sum(topic.partitions for topic in view.roster.values())
        tasks = tasks_for(partitions, self.link.reading.tasks_max, self.cores)
        if self._tasks and tasks > self._tasks:
            self.replan += 1
        self._tasks = tasks


def _is_another(observed: Roster, view: LedgerView, name: str) -> bool:
    """Whether the copy that the ledger knows is not there any more."""
    return observed.topics[name].remote_topic_id != view.roster[name].target_id
