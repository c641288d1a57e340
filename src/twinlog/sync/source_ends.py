"""SyncJob "source-ends": notes in the ledger what the source holds, for the day when it cannot be asked any more.

    ask all ends of the source ─▶ EndsTracker (model/ledger/source_ends) ─▶ memos that changed, then `seen` behind them

Runs in the service's loop; the asking in a worker thread. It stays cheap by its rhythm: it may take a twentieth of the
time and write so many bytes per second at most, however many partitions there are.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import Memo, RosterTopic
from twinlog.model.ledger.source_ends import CHORE, FOR_EVER, SEEN, EndsTracker
from twinlog.model.names import TopicPartition
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome

_SHORTEST_S: Final = 2.0
_SHARE_OF_TIME: Final = 0.05
_BYTES_PER_SECOND: Final = 50_000
_RETENTION_EVERY_S: Final = 300.0


@dataclass
class SourceEnds:
    """The sync job of one link."""

    ends: LinkEnds
    name: str = CHORE
    seconds: float = _SHORTEST_S
    _tracker: EndsTracker | None = None
    _keeps: dict[str, tuple[int, int]] = field(default_factory=dict)
    _keeps_at: float = 0.0

    async def step(self, view: LedgerView) -> Outcome:
        if self._tracker is None:
            self._tracker = EndsTracker()
            self._tracker.restore(view.memos.get(CHORE, {}))
        roster = dict(view.roster)
        # Taken before the ends are asked: a position that moves meanwhile must not make an end look covered too early.
        positions = ledger_positions(view, roster)
        return await asyncio.to_thread(self._look, self._tracker, roster, positions, dict(view.memos.get(CHORE, {})))

    def _look(
        self,
        tracker: EndsTracker,
        roster: dict[str, RosterTopic],
        positions: dict[TopicPartition, int],
        before: dict[str, Memo],
    ) -> Outcome:
        """In a thread: with ten thousand partitions the arithmetic alone would hold the loop up."""
        began = time.monotonic()
        ends = self._ask(roster)
        now = SYSTEM_CLOCK.now_ms()
        tracker.take(
            now, ends, positions, {name: (topic.source_id, topic.partitions) for name, topic in roster.items()}
        )
        memos = [
            Memo(chore=CHORE, name=name, body=body)
            for name, body in tracker.bodies(now, self._keeps)
            if name not in before or before[name].body != body
        ]
        self.seconds = _rhythm(time.monotonic() - began, memos)
        silent = sum(topic.partitions for topic in roster.values()) - len(ends)
        return Outcome(
            counts={"partitions": len(ends), "topics": len(roster)},
            findings=[f"{silent:,} partitions of the source do not tell their end"] if silent else [],
            memos=[*memos, Memo(chore=CHORE, name=SEEN, body={"at": now})] if ends or not roster else memos,
            forget=[name for name in before if name != SEEN and name not in roster],
        )

    def _ask(self, roster: dict[str, RosterTopic]) -> dict[TopicPartition, int]:
        wanted = [TopicPartition(name, number) for name, topic in roster.items() for number in range(topic.partitions)]
        if not wanted:
            self.ends.source.fetch_cluster_id()  # nothing to ask about, but whether it answers is worth knowing
            return {}
        committed = self.ends.link.reading.fetch.isolation == "read_committed"
        answers = self.ends.source.fetch_end_offsets(wanted, committed=committed)
        self._ask_retention(roster)
        return {partition: int(end) for partition, end in answers.items() if not isinstance(end, ClusterError)}

    def _ask_retention(self, roster: dict[str, RosterTopic]) -> None:
        new = [name for name in roster if name not in self._keeps]
        if time.monotonic() - self._keeps_at > _RETENTION_EVERY_S or not self._keeps_at:
            new, self._keeps_at = list(roster), time.monotonic()
        for name, configs in self.ends.source.fetch_topic_configs(new).items() if new else ():
            if isinstance(configs, ClusterError):
                self._keeps.setdefault(name, FOR_EVER)  # the configs sync job says that they cannot be read
                continue
            values = {config.name: config.value or "" for config in configs}
            deletes = "delete" in values.get("cleanup.policy", "delete")
            age, size = values.get("retention.ms", "-1"), values.get("retention.bytes", "-1")
            self._keeps[name] = (int(age or -1), int(size or -1)) if deletes else FOR_EVER


def ledger_positions(view: LedgerView, roster: dict[str, RosterTopic]) -> dict[TopicPartition, int]:
    """Where each partition stands by the ledger; states of other incarnations do not count."""
    origins = {
        TopicPartition(name, number): origin
        for name, topic in roster.items()
        for number, origin in enumerate(topic.origins)
    }
    return origins | {
        partition: state.source_next
        for partition, state in view.states.items()
        if partition.topic in roster and state.incarnation == roster[partition.topic].incarnation
    }


def _rhythm(took_s: float, memos: list[Memo]) -> float:
    """How long to wait, so that looking and writing stay cheap for any number of partitions."""
    written = sum(len(json.dumps(memo.body)) for memo in memos)
    return max(_SHORTEST_S, took_s / _SHARE_OF_TIME, written / _BYTES_PER_SECOND)
