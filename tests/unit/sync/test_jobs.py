"""SyncJobs side by side: what they note, what they remember, and that trouble of one is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from twinlog.errors import BrokerAway, ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.health.states import LinkStatus, judge
from twinlog.model.ledger.records import ChoreNote, Engine, Entry, Memo
from twinlog.sync.jobs import LISTED, Outcome, SyncJobs, pause_after


@dataclass
class Pen:
    """Takes what would go into the ledger."""

    entries: list[Entry] = field(default_factory=list)
    tombstones: list[bytes] = field(default_factory=list)

    async def write(self, entries: Iterable[Entry], tombstones: Iterable[bytes] = ()) -> int:
        self.entries += entries
        self.tombstones += tombstones
        return 0

    def notes(self, chore: str) -> list[ChoreNote]:
        return [entry for entry in self.entries if isinstance(entry, ChoreNote) and entry.chore == chore]


@dataclass
class Told:
    """A sync job that does as it is told, step by step; the last word is repeated."""

    name: str
    words: Sequence[Outcome | Exception]
    seconds: float = 0.001
    steps: int = 0

    async def step(self, view: LedgerView) -> Outcome:  # noqa: ARG002
        word = self.words[min(self.steps, len(self.words) - 1)]
        self.steps += 1
        if isinstance(word, Exception):
            raise word
        return word


def run(chores: list[Told], until: Callable[[], bool]) -> tuple[Pen, LedgerView]:
    pen: Any = Pen()
    view = LedgerView({})

    async def main() -> None:
        task = asyncio.create_task(SyncJobs("a->b", chores).run(view, pen))
        async with asyncio.timeout(60):
            while not until():
                await asyncio.sleep(0.001)
                if task.done():
                    task.result()
        task.cancel()

    asyncio.run(main())
    return pen, view


@pytest.mark.proves("R8", "R14")
@pytest.mark.parametrize(
    "trouble", [ClusterUnreachable("b", "no answer"), BrokerAway("b", "reset"), KeyError("a mistake")]
)
def test_trouble_of_one_chore_is_noted_and_stops_no_other(trouble: Exception) -> None:
    bad, good = Told("bad", [trouble]), Told("good", [Outcome({"groups": 1})])
    pen, _ = run([bad, good], lambda: good.steps >= 5 and bad.steps >= 1)
    # The words of a mistake of ours may quote anything, so only its kind is told.
    told = "KeyError" if isinstance(trouble, KeyError) else str(trouble.args[-1] if trouble.args else trouble)
    assert told in (pen.notes("bad")[0].trouble or "")
    assert pen.notes("good")[0].trouble is None


def test_a_note_is_written_when_it_says_something_new() -> None:
    chore = Told("c", [Outcome({"groups": 1})] * 4 + [Outcome({"groups": 2})])
    pen, view = run([chore], lambda: chore.steps >= 8)
    assert [note.counts for note in pen.notes("c")] == [{"groups": 1}, {"groups": 2}]
    assert view.notes["c"].counts == {"groups": 2}


@pytest.mark.proves("R7")
def test_more_findings_than_are_listed_are_counted() -> None:
    chore = Told("c", [Outcome(findings=[f"finding {n}" for n in range(LISTED + 7)])])
    pen, _ = run([chore], lambda: chore.steps >= 2)
    note = pen.notes("c")[0]
    assert (len(note.findings), note.found) == (LISTED, LISTED + 7)


def test_a_remark_is_noted_and_is_no_finding() -> None:
    chore = Told("c", [Outcome(findings=["denied"], remarks=["no authorizer"]), Outcome(remarks=["no authorizer"])])
    pen, _ = run([chore], lambda: chore.steps >= 4)
    assert [(note.findings, note.found) for note in pen.notes("c")[:2]] == [
        (["denied", "no authorizer"], 1),
        (["no authorizer"], 0),
    ]


def test_memos_are_kept_and_forgotten() -> None:
    memo = Memo(chore="c", name="orders", body={"retention.ms": "1"})
    chore = Told("c", [Outcome(memos=[memo]), Outcome(forget=["orders"]), Outcome()])
    pen, view = run([chore], lambda: chore.steps >= 4)
    assert memo in pen.entries
    assert pen.tombstones == [b"memo/c/orders"]
    assert not view.memos["c"]


@pytest.mark.proves("R14")
def test_a_link_whose_chore_is_in_trouble_is_degraded() -> None:
    engine = Engine(engine_id="e", phase="running", at_ms=1000)
    fine = ChoreNote(chore="groups", at_ms=1000, findings=["g: a share group is not translated"], found=1)
    assert judge(LinkStatus("a->b", engine, (), now_ms=1000, chores=(fine,))) == "RUNNING"
    bad = fine.model_copy(update={"trouble": "no right to describe groups"})
    assert judge(LinkStatus("a->b", engine, (), now_ms=1000, chores=(bad,))) == "DEGRADED"


@pytest.mark.proves("R9")
def test_a_failed_step_is_tried_again_within_seconds_whatever_its_rhythm() -> None:
    """What it failed with stays in status until its next step, also when the cause is over."""
    assert [pause_after(failures, 600.0) for failures in range(5)] == [600.0, 1.0, 2.0, 4.0, 5.0]
    assert pause_after(10_000, 600.0) == 5.0
