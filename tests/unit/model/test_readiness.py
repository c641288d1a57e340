from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.kit.link_statuses import status

from twinlog.model.health.movement import Seen
from twinlog.model.health.readiness import reasons_against, seen_of
from twinlog.model.ledger.records import FaultEntry

WAITING = [Seen(7, 5), Seen(7, 5)]
MOVING = [Seen(7, 5), Seen(8, 5)]
STANDS = "records wait and no partition moves"


def engine(**changes: Any) -> Any:
    found = status()
    assert found.engine is not None
    return replace(found, engine=found.engine.model_copy(update=changes))


def test_a_link_whose_data_moves_is_ready():
    assert list(reasons_against(status(), None, MOVING)) == []


def test_a_link_that_has_nothing_to_move_is_ready():
    assert list(reasons_against(status(), None, [Seen(7, 0)])) == []


def test_a_link_that_was_never_seen_or_cannot_be_seen_is_not():
    assert list(reasons_against(None, None, [])) == ["not looked at yet"]
    assert list(reasons_against(status(), "B: no broker answers", MOVING)) == ["B: no broker answers"]


@given(st.lists(st.builds(Seen, st.integers(0, 9), st.none() | st.integers(0, 3)), max_size=6))
def test_ready_needs_the_proof_of_a_move_or_of_nothing_to_move(looks: list[Seen]):
    proven = any(look.lag == 0 for look in looks) or any(
        later.position > earlier.position for earlier, later in pairwise(looks)
    )
    assert list(reasons_against(status(), None, looks)) == ([] if proven else [STANDS])


def test_a_link_where_nothing_moves_is_not_ready_whatever_its_engine_says():
    assert list(reasons_against(status(), None, WAITING)) == [STANDS]
    assert list(reasons_against(status(), None, WAITING[:1])) == [STANDS]


def test_an_engine_that_only_starts_moves_nothing_yet():
    assert list(reasons_against(engine(phase="starting"), None, [Seen(7, 0)])) == ["the engine is starting"]


def test_the_true_cause_is_told():
    away = replace(status(), source_trouble="A: no broker answers")
    assert list(reasons_against(away, None, MOVING)) == ["STALLED: A: no broker answers"]
    found = status()
    silent = engine(at_ms=found.now_ms - 45_000)
    assert list(reasons_against(silent, None, MOVING)) == ["STALLED: its engine is silent for 45 s"]


def test_a_link_that_a_switch_holds_is_ready():
    assert list(reasons_against(engine(phase="switched", at_ms=-(10**9)), None, WAITING)) == []


def test_a_faulted_partition_does_not_speak_for_the_link():
    whole = status()
    fault = FaultEntry(code="OFFSET_GAP", says="gone", remedy="")
    parts = tuple(replace(part, source_next=3, source_end=9, fault=None) for part in whole.partitions)
    stuck = replace(whole, partitions=(*parts, replace(parts[0], source_end=1000, fault=fault)))
    assert seen_of(stuck) == Seen(3 * len(parts), 6 * len(parts))
    assert seen_of(replace(whole, partitions=(replace(parts[0], source_end=None),))).lag is None
