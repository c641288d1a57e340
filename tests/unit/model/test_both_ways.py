"""Positions in a log that two links write into: nothing unread is skipped, whatever was copied and noted."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.both_ways import to_target_both_ways
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import PartitionState
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.ledger.translation import Exact, Untranslatable


@dataclass
class Side:
    """One log: the names of its records."""

    log: list[str] = field(default_factory=list)


@dataclass
class Link:
    """Copies from one side to the other, leaves out what came from there, and notes how far it is now and then."""

    source: Side
    target: Side
    born_there: str  # names of records that were born on the target begin so
    position: int = 0
    written: list[Run] = field(default_factory=list)
    noted: tuple[int, int, int] = (0, 0, 0)  # runs, source_next, target_next
    begun_at: int = 0

    def copy(self, opposite: Link) -> None:
        """One record."""
        if self.position >= len(self.source.log):
            return
        name = self.source.log[self.position]
        if name.startswith(self.born_there):
            runs, _, _ = opposite.noted
            if not any(run.target == self.position for run in opposite.written[:runs]):
                return  # nobody noted yet where it came from: wait
        else:
            self.written.append(Run(self.position, len(self.target.log), 1))
            self.target.log.append(name)
        self.position += 1

    def note(self) -> None:
        behind = self.written[-1].target_end if self.written else self.begun_at
        self.noted = (len(self.written), self.position, behind)

    def map(self) -> PartitionMap:
        runs, source_next, target_next = self.noted
        known = RunMap()
        for run in self.written[:runs]:
            known.add(run)
        return PartitionMap(
            PartitionState(
                topic="orders",
                partition=0,
                incarnation="x",
                phase="copying",
                source_first=0,
                target_first=self.begun_at,
                source_next=source_next,
                target_next=max(target_next, self.begun_at),
                producer_id=1,
                open_map=pack(known),
            )
        )


def two_sides(before: int) -> tuple[Side, Side, Link, Link]:
    """Two logs, of which A holds some records when the links begin."""
    a, t = Side([f"a{number}" for number in range(before)]), Side()
    return a, t, Link(a, t, "t"), Link(t, a, "a", begun_at=before)


@given(st.integers(0, 5), st.lists(st.sampled_from(["a", "t", "over", "back", "note over", "note back"]), max_size=60))
@pytest.mark.proves("R5")
def test_no_position_skips_an_unread_record_and_an_exact_one_repeats_none(before: int, acts: list[str]) -> None:
    a, t, over, back = two_sides(before)
    over.note()
    back.note()
    for number, act in enumerate(acts):
        match act:
            case "a" | "t":
                (a if act == "a" else t).log.append(f"{act}{before + number}")
            case "over":
                over.copy(back)
            case "back":
                back.copy(over)
            case "note over":
                over.note()
            case _:
                back.note()
    for forth, opposite in ((over, back), (back, over)):
        for position in range(len(forth.source.log) + 1):
            found = to_target_both_ways(position, forth.map(), opposite.map())
            assert not isinstance(found, Untranslatable)
            read = set(forth.source.log[:position])
            skipped = [name for name in forth.target.log[: found.offset] if name not in read]
            assert not skipped, (position, found, forth.source.log, forth.target.log)
            if isinstance(found, Exact) and forth.noted[0] == len(forth.written):
                again = [name for name in forth.target.log[found.offset :] if name in read]
                assert not again, (position, found, forth.source.log, forth.target.log)


def test_a_position_that_a_link_wrote_does_not_come_home_as_the_end() -> None:
    _, _, over, back = two_sides(100)
    for _ in range(100):
        over.copy(back)
    over.note()
    for _ in range(100):
        back.copy(over)
    back.note()
    # The group stands at 60 on A, so A->T wrote 60 on T. All that T->A saw was left out.
    assert to_target_both_ways(60, back.map(), over.map()) == Exact(60)


def test_after_the_switch_the_records_of_the_new_primary_lead_home_exactly() -> None:
    _, t, over, back = two_sides(100)
    for _ in range(100):
        over.copy(back)
    over.note()
    t.log += [f"t{number}" for number in range(20)]
    for _ in range(120):
        back.copy(over)
    back.note()
    assert to_target_both_ways(110, back.map(), over.map()) == Exact(110)
    assert to_target_both_ways(120, back.map(), over.map()) == Exact(120)
