"""Pairs for MirrorMaker 2: always two offsets of one record, never told twice, never going back by themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.map_parts import PartIndex
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.records import PartitionState, SealedRuns
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.mirrormaker.offset_pairs import Pair, newest_pair, pair_is_due

LAG = 100


def state(runs: RunMap) -> PartitionState:
    return PartitionState(
        topic="t",
        partition=0,
        incarnation="i",
        phase="copying",
        source_first=0,
        target_first=0,
        source_next=0,
        target_next=0,
        producer_id=1,
        map_first=90,
        open_map=pack(runs),
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=30))
def test_the_newest_pair_is_the_last_record_of_both_sides(steps: list[tuple[int, int, int]]) -> None:
    runs, source, target = RunMap(), 0, 0
    for hole, markers, length in steps:
        source, target = source + hole, target + markers
        runs.add(Run(source, target, length))
        source, target = source + length, target + length
    assert newest_pair(state(runs), None) == Pair(source - 1, target - 1)


def test_a_part_that_was_just_sealed_still_has_the_newest_pair() -> None:
    sealed = PartIndex()
    for incarnation, first, after, run in [
        ("gone", 70, 99, Run(70, 90, 9)),
        ("i", 0, 5, Run(0, 0, 5)),
        ("i", 5, 9, Run(7, 5, 2)),
    ]:
        packed = pack(RunMap([], run))
        sealed.add(SealedRuns(topic="t", partition=0, incarnation=incarnation, first=first, next=after, packed=packed))
    assert newest_pair(state(RunMap()), sealed.parts()) == Pair(8, 6)
    assert newest_pair(state(RunMap()), None) is None


def test_a_pair_is_told_when_it_is_far_enough_or_the_last_word() -> None:
    told = Pair(1000, 900)
    assert pair_is_due(Pair(1101, 1001), told, LAG, stands_still=False)
    assert not pair_is_due(Pair(1050, 950), told, LAG, stands_still=False)
    assert pair_is_due(Pair(1050, 950), told, LAG, stands_still=True)
    assert not pair_is_due(told, told, LAG, stands_still=True)
    assert not pair_is_due(Pair(900, 2000), told, LAG, stands_still=True)
    assert pair_is_due(Pair(3, 1), None, LAG, stands_still=False)
