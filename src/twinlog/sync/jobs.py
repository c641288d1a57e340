"""SyncJobs: what is kept in sync beside the records, each with its own rhythm. Runs in the service's loop.

    every few seconds ─▶ step(view): observe both ends, diff (pure, model/), apply ─▶ Outcome ─▶ note in the ledger

A sync job holds nothing that it cannot observe again; what it must remember over restarts are its memos in the ledger.
Trouble of one chore is its own (R8): it is noted, shown by `twinlog status` and tried again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from twinlog.errors import TwinlogError, told
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.backoff import Backoff
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.ledger.records import ChoreNote, Memo, memo_key

log = logging.getLogger("twinlog.sync")

LISTED: Final = 50
"""Findings that a note lists; more are counted."""
_QUIET_MS: Final = 30_000
_BACKOFF: Final = Backoff(1.0, 5.0)
"""Before a failed step is tried again. What it failed with stays in status until then, also when it is over."""
# One write is one batch, which the ledger's topic limits to a megabyte.
_ENTRIES_PER_WRITE: Final = 200


@dataclass(frozen=True)
class Outcome:
    """What one step did."""

    counts: dict[str, int] = field(default_factory=dict)  # e.g. {"groups": 12, "written": 3}
    findings: Sequence[str] = ()  # what could not be synced: thing, cause, way out
    memos: Sequence[Memo] = ()  # to remember
    forget: Sequence[str] = ()  # names of memos that are no longer needed
    alarm: str | None = None  # the step was done, and what it found is as grave as not being able to do it
    remarks: Sequence[str] = ()  # what an operator may want to know, and nobody need change


_NOTHING: Final = Outcome()
"""Of a step that failed."""


def pause_after(failures: int, seconds: float) -> float:
    """How long to wait before the next step, after so many failures in a row."""
    return _BACKOFF.after_s(failures) if failures else seconds


class SyncJob(Protocol):
    """One thing that is kept in sync."""

    @property
    def name(self) -> str:
        """Short, stable: part of the ledger's keys."""

    @property
    def seconds(self) -> float:
        """How long to wait after one step before the next."""

    async def step(self, view: LedgerView) -> Outcome:
        """Do it once. Blocking calls belong into threads; copy what they need of the view first, it changes."""


@runtime_checkable
class Closes(Protocol):
    """A sync job that keeps connections open between its steps."""

    async def close(self) -> None:
        """Close them."""


@dataclass
class SyncJobs:
    """All sync jobs of one link, side by side, while its engine lives."""

    link: str
    chores: Sequence[SyncJob]
    on_note: Callable[[ChoreNote], None] = lambda _: None
    notes: dict[str, ChoreNote] = field(default_factory=dict)

    async def run(self, view: LedgerView, writer: LedgerWriter) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as together:
            for chore in self.chores:
                together.create_task(self._repeat(chore, view, writer))

    async def _repeat(self, chore: SyncJob, view: LedgerView, writer: LedgerWriter) -> None:
        try:
            await self._again_and_again(chore, view, writer)
        finally:
            if isinstance(chore, Closes):
                await chore.close()

    async def _again_and_again(self, chore: SyncJob, view: LedgerView, writer: LedgerWriter) -> None:
        failures = 0
        while True:
            began = time.monotonic()
            outcome, trouble = await self._try(chore, view)
            failures = failures + 1 if outcome is _NOTHING else 0
            note = ChoreNote(
                chore=chore.name,
                at_ms=SYSTEM_CLOCK.now_ms(),
                took_ms=int((time.monotonic() - began) * 1000),
                counts=outcome.counts,
                findings=[*outcome.findings, *outcome.remarks][:LISTED],
                found=len(outcome.findings),
                trouble=trouble,
            )
            try:
                await self._note(note, outcome, view, writer)
            except (TwinlogError, TimeoutError) as error:
                log.warning("%s: %s: not noted in the ledger: %s", self.link, chore.name, error)
            await asyncio.sleep(pause_after(failures, chore.seconds))

    async def _try(self, chore: SyncJob, view: LedgerView) -> tuple[Outcome, str | None]:
        try:
            outcome = await chore.step(view)
        except (TwinlogError, TimeoutError) as error:
            return _NOTHING, told(error)
        except Exception as error:  # a mistake of ours must not end the other sync jobs, nor be kept quiet
            log.exception("%s: %s", self.link, chore.name)
            return _NOTHING, f"unexpected: {type(error).__name__}; the log says more"
        return outcome, outcome.alarm

    async def _note(self, note: ChoreNote, outcome: Outcome, view: LedgerView, writer: LedgerWriter) -> None:
        """Memos always; the note when it says something new, or now and then to show that the sync job lives."""
        before = self.notes.get(note.chore)
        self.notes[note.chore] = note
        if before is None or (before.findings, before.trouble) != (note.findings, note.trouble):
            self.on_note(note)
        told = view.notes.get(note.chore)
        entries: list[ChoreNote | Memo] = list(outcome.memos)
        if told is None or _says(told) != _says(note) or note.at_ms - told.at_ms >= _QUIET_MS:
            view.notes[note.chore] = note
            entries.append(note)
        for start in range(0, len(entries), _ENTRIES_PER_WRITE):
            await writer.write(entries[start : start + _ENTRIES_PER_WRITE])
        await writer.write([], tombstones=[memo_key(note.chore, name) for name in outcome.forget])
        # Only now: a sync job that believed it had noted what the ledger refused would never note it again.
        for memo in outcome.memos:
            view.memos.setdefault(memo.chore, {})[memo.name] = memo
        for name in outcome.forget:
            view.memos.get(note.chore, {}).pop(name, None)


def _says(note: ChoreNote) -> tuple[object, ...]:
    return note.counts, note.findings, note.found, note.trouble
