"""How far a link moves past what came from its target: never past a record that somebody else wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.passing import pass_own
from twinlog.model.ledger.runs import Run

OWN, FOREIGN = True, False


def runs_of(log: list[bool], first: int) -> list[Run]:
    """The opposite link's map of a log that says of each offset whether it wrote it."""
    found: list[Run] = []
    for offset, own in enumerate(log):
        if not own or offset < first:
            continue
        if found and found[-1].target_end == offset:
            last = found.pop()
            found.append(Run(last.source, last.target, last.length + 1))
        else:
            found.append(Run(1000 + 2 * offset, offset, 1))
    return found


@pytest.mark.proves("R1", "R7")
@given(st.lists(st.booleans(), max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_only_what_the_opposite_link_wrote_is_passed(log: list[bool], here: int, log_start: int) -> None:
    here, log_start = min(here, len(log)), min(log_start, len(log))
    found = pass_own(here, len(log), log_start, runs_of(log, 0), 0)
    assert found.position >= max(here, log_start)
    named = {offset for first, after in found.gaps for offset in range(first, after)}
    foreign = {offset for offset in range(here, found.position) if log[offset] is FOREIGN}
    first_run = log.index(OWN) if OWN in log else 0
    assert named <= foreign
    assert all(offset < log_start for offset in foreign), "a record that is there must be read"
    assert all(offset < first_run for offset in foreign - named), "only a dropped part of the map may hide one"


@pytest.mark.proves("R7")
def test_what_was_deleted_behind_the_cut_is_a_gap() -> None:
    found = pass_own(10, 20, 25, [Run(0, 10, 10)], 0)
    assert found == (25, ((20, 25),))


def test_parts_of_the_map_that_were_dropped_do_not_look_foreign() -> None:
    assert pass_own(10, 100, 100, [Run(50, 60, 40)], 0) == (100, ())
    assert pass_own(10, 100, 100, [Run(50, 60, 40)], 30) == (100, ((10, 30),))
