"""What is compared: chunks lie side by side on both sides, and what is left out is told."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.map_parts import PartIndex
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import PartitionState, RosterTopic, SealedRuns
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.verify.plan import PartitionFacts, bundles, chunks_of, sampled
from twinlog.model.verify.verification import Chunk

RUNS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=30)


def facts_of(runs: list[Run], *, parts: int = 1, tail: int = 0, size: int = 1) -> PartitionFacts:
    """A partition whose map is cut into sealed parts and an open one."""
    first, after = runs[0].source, runs[-1].source_end + tail
    sealed = PartIndex()
    share = max(1, len(runs) // parts)
    cut = 0
    while parts > 1 and cut + share < len(runs):
        part = RunMap()
        for run in runs[cut : cut + share]:
            part.add(run)
        cut += share
        where = {"topic": "orders", "partition": 0, "incarnation": "s/t"}
        begin = runs[cut - share].source if sealed else first
        sealed.add(SealedRuns(**where, first=begin, next=runs[cut].source, packed=pack(part)))
    newest = RunMap()
    for run in runs[cut:]:
        newest.add(run)
    state = PartitionState(
        topic="orders",
        partition=0,
        incarnation="s/t",
        phase="copying",
        source_first=first,
        target_first=runs[0].target,
        source_next=after,
        target_next=runs[-1].target_end,
        producer_id=1,
        bytes=size,
        map_first=runs[cut].source if sealed else first,
        open_map=pack(newest),
    )
    roster = RosterTopic(topic="orders", source_id="s", remote="A.orders", target_id="t", origins=[first])
    known = PartitionMap(state, sealed.parts())
    return PartitionFacts(roster, state, known, (), 0, 0, source_compacted=False, target_compacted=False)


def runs_of(steps: list[tuple[int, int, int]]) -> list[Run]:
    runs, source, target = [], 5, 50
    for hole, foreign, length in steps:
        source, target = source + hole, target + foreign
        runs.append(Run(source, target, length))
        source, target = source + length, target + length
    return runs


def places(chunks: list[Chunk]) -> dict[int, int]:
    return {run.source + n: run.target + n for chunk in chunks for run in chunk.runs() for n in range(run.length)}


@given(RUNS, st.integers(1, 4), st.integers(0, 3), st.integers(1, 40))
def test_the_chunks_of_a_partition_cover_it_once_on_both_sides(
    steps: list[tuple[int, int, int]], parts: int, tail: int, size: int
) -> None:
    runs = runs_of(steps)
    facts = facts_of(runs, parts=parts, tail=tail, size=100)
    chunks, excluded = chunks_of(facts, size=size)
    assert not excluded
    state = facts.state
    edges = [(c.source_first, c.source_next, c.target_first, c.target_next) for c in chunks]
    assert [edge[0] for edge in edges] == [state.source_first, *(edge[1] for edge in edges[:-1])]
    assert [edge[2] for edge in edges] == [state.target_first, *(edge[3] for edge in edges[:-1])]
    assert edges[-1][1::2] == (state.source_next, state.target_next)
    assert places(chunks) == {run.source + n: run.target + n for run in runs for n in range(run.length)}
    held = places(chunks)
    for chunk in chunks[1:]:
        # A stranger right before the first record of a chunk belongs to it.
        assert chunk.target_first == max(held[source] for source in held if source < chunk.source_first) + 1
    for chunk in chunks:
        assert all(chunk.target_first <= run.target and run.target_end <= chunk.target_next for run in chunk.runs())


@given(RUNS, st.integers(1, 3), st.integers(0, 60), st.integers(0, 120), st.data())
def test_what_either_side_deleted_is_told_and_the_rest_is_compared(
    steps: list[tuple[int, int, int]], parts: int, source_start: int, target_start: int, data: st.DataObject
) -> None:
    runs = runs_of(steps)
    facts = replace(facts_of(runs, parts=parts, size=100), source_start=source_start, target_start=target_start)
    first = data.draw(st.none() | st.integers(0, 80))
    after = data.draw(st.none() | st.integers(0, 80))
    chunks, excluded = chunks_of(facts, first, after, size=30)
    state = facts.state
    begin = max(state.source_first, first or 0)
    end = min(state.source_next, state.source_next if after is None else after)
    told = sum(one.offsets or 0 for one in excluded)
    kept = sum(chunk.source_next - chunk.source_first for chunk in chunks)
    assert told + kept == max(0, end - begin)
    held = {run.source + n: run.target + n for run in runs for n in range(run.length)}
    wanted = {s: t for s, t in held.items() if s >= source_start and t >= target_start and begin <= s < end}
    assert places(chunks) == wanted
    assert all(target_start <= chunk.target_first for chunk in chunks)


def test_a_state_that_still_holds_the_part_just_sealed_does_not_double_it() -> None:
    runs = [Run(5, 50, 3), Run(10, 60, 3)]
    facts = facts_of(runs)
    state, sealed = facts.state, PartIndex()
    sealed.add(SealedRuns(topic="orders", partition=0, incarnation="s/t", first=5, next=20, packed=state.open_map))
    chunks, _ = chunks_of(replace(facts, map=PartitionMap(state, sealed.parts())))
    assert [run for chunk in chunks for run in chunk.runs()] == runs


@given(st.integers(1, 300), st.floats(0.001, 1), st.floats(0, 0.999))
def test_a_sample_has_its_share_spread_over_the_whole(count: int, share: float, phase: float) -> None:
    facts = facts_of([Run(0, 0, count)], size=count)
    chunks, _ = chunks_of(facts, size=1)
    picked = sampled(chunks, share, phase)
    assert len(picked) == len({chunk.source_first for chunk in picked}) == max(1, round(count * share))
    thirds = {chunk.source_first * 3 // count for chunk in picked}
    assert len(thirds) == min(3, len(picked)) or len(picked) < 6


@given(st.lists(st.integers(0, 1 << 28), max_size=60), st.integers(1, 16))
def test_bundles_hold_every_chunk_once_in_order(sizes: list[int], slots: int) -> None:
    (chunk,), _ = chunks_of(facts_of([Run(0, 0, 1)]))
    chunks = [replace(chunk, source_first=n, bytes=size) for n, size in enumerate(sizes)]
    dealt = bundles(chunks, slots)
    assert [one for hand in dealt for one in hand] == chunks
    assert all(hand for hand in dealt)
