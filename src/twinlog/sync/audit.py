"""The sync job "audit": the newest copied records compared with their originals, while the link runs.

    newest windows (model.audit_windows) ─▶ both clusters read independently of the data path ─▶ equal, or an alarm

A window with a mismatch is remembered in the ledger and looked at again each time, over restarts, until it is equal or
gone: an alarm does not go away because time passed. Runs in the service's loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.link_values import AuditSettings
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import Memo, PartitionState
from twinlog.model.names import TopicPartition
from twinlog.model.verify.audit_windows import Window, next_windows
from twinlog.model.verify.verification import ChunkResult
from twinlog.sync.ends import LinkEnds
from twinlog.sync.jobs import Outcome
from twinlog.verify.chunk import compare_each
from twinlog.verify.plan import Planner

_REMEMBERED: Final = 100
_SLOW_CANARY_MS: Final = 60_000


@dataclass
class CopyAudit:
    """The audit of one link."""

    ends: LinkEnds
    settings: AuditSettings
    name: str = "audit"
    _audited: dict[TopicPartition, int] = field(default_factory=dict)  # in the order in which they had their turn
    _windows: int = 0
    _records: int = 0

    @property
    def seconds(self) -> float:
        """As the settings say."""
        return float(self.settings.seconds)

    async def step(self, view: LedgerView) -> Outcome:
        """Look at the newest windows, and again at those that did not match."""
        suspects = {name: Window.remembered(memo.body) for name, memo in view.memos.get(self.name, {}).items()}
        fresh = next_windows(_current(view), self._audited)
        # A new engine begins with the newest window of each partition, which may hold a suspect: not counted twice.
        looks = {
            name: next((candidate for candidate in fresh if candidate.holds(window)), window)
            for name, window in suspects.items()
        }
        windows = list(dict.fromkeys([*fresh, *looks.values()]))
        results = await self._compare(view, windows) if windows else {}
        for window in fresh:
            self._audited.pop(window.partition, None)
            self._audited[window.partition] = window.after
        self._windows += len(results)
        self._records += sum(result.equal + result.transformed + result.differing for result in results.values())
        return self._outcome(view, looks, results)

    async def _compare(self, view: LedgerView, windows: list[Window]) -> dict[Window, ChunkResult]:
        planner = Planner(self.ends.link, self.ends.source, self.ends.target)
        snapshot = _snapshot(view, {window.partition for window in windows})
        planned = await asyncio.to_thread(planner.plan_windows, snapshot, windows)
        results = await compare_each(self.ends.link, [chunk for _, chunk in planned])
        return {window: result for (window, _), result in zip(planned, results, strict=True)}

    def _outcome(self, view: LedgerView, looks: Mapping[str, Window], results: Mapping[Window, ChunkResult]) -> Outcome:
        """`looks` says in which window each suspect was looked at."""
        guilty = {window: result for window, result in results.items() if result.differing}
        findings: list[str] = []
        memos: list[Memo] = []
        for window, result in sorted(guilty.items(), key=lambda pair: pair[0]):
            what = str(result.differences[0]) if result.differences else f"{result.differing} records differ"
            findings.append(f"{window.partition}: {what}")
            if window not in looks.values() and len(looks) + len(memos) < _REMEMBERED:
                memos.append(Memo(chore=self.name, name=window.name, body=window.body(what, SYSTEM_CLOCK.now_ms())))
        unread = {window: result.trouble for window, result in results.items() if result.trouble is not None}
        findings += [f"{window.partition}: could not be compared: {trouble}" for window, trouble in unread.items()]
        mismatches = sum(result.differing for result in guilty.values())
        alarm = None
        if mismatches:
            link = self.ends.link
            alarm = f"{mismatches} copied records differ from their originals; `twinlog verify '{link.name}'` lists all"
        return Outcome(
            {"windows": self._windows, "records": self._records, "mismatches": mismatches},
            [*findings, *_slow_canary(view)],
            memos,
            [name for name, window in looks.items() if window not in guilty and window not in unread],
            alarm,
        )


def _current(view: LedgerView) -> dict[TopicPartition, PartitionState]:
    """The states that are about the topics of today."""
    return {
        partition: state
        for partition, state in view.states.items()
        if (topic := view.roster.get(partition.topic)) is not None and topic.incarnation == state.incarnation
    }


def _snapshot(view: LedgerView, partitions: set[TopicPartition]) -> LedgerView:
    """What the comparing thread needs; the view itself keeps changing."""
    topics = {partition.topic for partition in partitions}
    return LedgerView(
        {},
        roster={name: topic for name, topic in view.roster.items() if name in topics},
        states={p: view.states[p].model_copy() for p in partitions if p in view.states},
        sealed={p: view.sealed[p].frozen() for p in partitions if p in view.sealed},
        gaps={p: dict(view.gaps.get(p, {})) for p in partitions},
    )


def _slow_canary(view: LedgerView) -> list[str]:
    note = view.notes.get("heartbeats")
    took_ms = note.counts.get("canary_ms", 0) if note is not None else 0
    if took_ms <= _SLOW_CANARY_MS:
        return []
    return [f"the last heartbeat of the source took {took_ms / 1000:.0f} s to the target: the link is slow or behind"]
