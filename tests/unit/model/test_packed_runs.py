"""The offset map as bytes: equal when it is read again, small, and never misread."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.packed_runs import Packer, edges_of, pack, unpack
from twinlog.model.ledger.records import SEAL_AT
from twinlog.model.ledger.runs import Run, RunMap

_holes = st.sampled_from([0, 0, 1, 1, 2]) | st.integers(0, 1 << 40)
_steps = st.lists(st.tuples(_holes, _holes, st.sampled_from([1, 2, 3]) | st.integers(1, 1 << 40)), max_size=40)
_begins = st.integers(0, 1 << 62)


def runs_of(begin: tuple[int, int], steps: list[tuple[int, int, int]]) -> list[Run]:
    runs: list[Run] = []
    source, target = begin
    for hole, far_hole, length in steps:
        runs.append(Run(source + hole, target + far_hole, length))
        source, target = runs[-1].source_end, runs[-1].target_end
    return runs


@given(st.tuples(_begins, _begins), _steps)
def test_any_map_is_read_as_it_was_packed(begin: tuple[int, int], steps: list[tuple[int, int, int]]) -> None:
    built, packer = RunMap(), Packer()
    for run in runs_of(begin, steps):
        built.add(run)
        packed = packer.pack(built)
        assert packed == pack(built)
        assert unpack(packed) == built
        last = list(built)[-1]
        first = next(iter(built))
        assert edges_of(packed) == (first.source, first.target, last.source_end - 1, last.target_end - 1)
    assert unpack(pack(built)) == built
    assert (edges_of(pack(built)) is None) == (not steps)


@given(st.tuples(_begins, _begins), _steps, st.data())
def test_bytes_that_are_cut_off_are_no_map(
    begin: tuple[int, int], steps: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    built = RunMap()
    for run in runs_of(begin, steps):
        built.add(run)
    packed = pack(built)
    if packed:
        with pytest.raises(ValueError, match="too early"):
            unpack(packed[: data.draw(st.integers(1, len(packed) - 1))])
        with pytest.raises(ValueError, match="not known"):
            unpack(b"\x07" + packed[1:])


@pytest.mark.proves("R11")
def test_a_transaction_costs_about_one_byte() -> None:
    rng, built, transactions = random.Random(7), RunMap(), 0
    source = target = 10_000_000_000
    while len(built) < SEAL_AT:
        length = rng.randint(1, 10)
        built.add(Run(source, target, length))
        source, target, transactions = source + length + 1, target + length, transactions + 1
    assert len(pack(built)) / transactions < 1.1
