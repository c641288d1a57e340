"""Sealed parts of a map: found again wherever their bytes are, whatever is added, replaced and dropped meanwhile."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinlog.ledger.spool import PartSpool
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.map_parts import MemoryStore, PartIndex, Store
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.records import PartitionState, RosterTopic, SealedRuns, key_of
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition
from twinlog.wire.codec import encode_pairs

HERE = TopicPartition("orders", 0)


def part(first: int, after: int, incarnation: str = "s/t") -> SealedRuns:
    packed = pack(RunMap([], Run(first, 3 * first, after - first)))
    return SealedRuns(topic="orders", partition=0, incarnation=incarnation, first=first, next=after, packed=packed)


@given(st.integers(0, 1 << 32), st.sampled_from([MemoryStore, PartSpool]))
@settings(max_examples=60)
def test_an_index_holds_what_a_plain_dictionary_holds(seed: int, make: type[Store]) -> None:
    rng, index = random.Random(seed), PartIndex(make())
    plain: dict[int, SealedRuns] = {}
    for _ in range(rng.randint(1, 60)):
        if rng.random() < 0.3 and plain:
            gone = min(plain) if rng.random() < 0.8 else rng.choice(list(plain))
            del plain[gone]
            index.drop(gone)
            index.drop(1_000_000)  # one that is not there
            continue
        first = rng.choice([max(plain, default=0) + 10, rng.randint(0, 300)])
        new = part(first, first + rng.randint(1, 40), "s/t" if rng.random() < 0.97 else "other")
        if plain and next(iter(plain.values())).incarnation != new.incarnation:
            within, plain = set(plain), {}
        else:
            within = {one for one in plain if new.first <= one < new.next}
        assert set(index.add(new)) == within - {first}
        plain = {one: kept for one, kept in plain.items() if one not in within} | {first: new}
        before = index.parts()
        if rng.random() < 0.2:
            index.move_to(make())
        seen = [before.data(at) for at in range(len(before))]
        assert seen == [plain[one].packed for one in sorted(plain)]
    parts = index.parts()
    assert [parts.first(at) for at in range(len(parts))] == sorted(plain)
    assert [parts.target(at) for at in range(len(parts))] == [3 * one for one in sorted(plain)]
    assert list(parts) == [plain[one].run_map() for one in sorted(plain)]


def test_parts_that_somebody_holds_do_not_change() -> None:
    index = PartIndex()
    for first in range(0, 100, 10):
        index.add(part(first, first + 10))
    held = index.parts()
    index.drop(0)
    index.add(part(35, 75))
    index.add(part(100, 110))
    assert [held.first(at) for at in range(len(held))] == list(range(0, 100, 10))
    assert [run.source for one in held for run in one] == list(range(0, 100, 10))


@pytest.mark.proves("R11")
def test_a_view_holds_little_of_a_long_history_and_gives_back_what_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartSpool, "wasteful", property(lambda spool: spool._unwanted > spool._size // 2))
    view = LedgerView({1: 0}, keep_maps=True)
    view.roster["orders"] = RosterTopic(topic="orders", source_id="s", remote="orders", target_id="t", origins=[0])
    firsts = range(0, 40_000, 10)

    def note(*pairs: tuple[bytes, bytes | None]) -> None:
        batch = encode_pairs(pairs, 0)
        view.take(batch.header, batch.data)

    for first in firsts:
        note((key_of(one := part(first, first + 10)), one.value()))
    assert view.sealed[HERE]._firsts.itemsize * 4 * len(firsts) < 150_000
    for first in firsts[:3_900]:
        note((f"runs/orders/0/{first}".encode(), None))
    spool = view.spool
    note((key_of(one := part(40_000, 40_010)), one.value()))
    assert view.spool is not spool, "the file was not written anew"
    assert isinstance(view.spool, PartSpool)
    assert view.spool._size < 101 * 20
    state = PartitionState(
        topic="orders",
        partition=0,
        incarnation="s/t",
        phase="copying",
        source_first=0,
        target_first=0,
        source_next=40_010,
        target_next=120_010,
        producer_id=1,
        map_first=40_010,
    )
    note((key_of(state), state.value()))
    known = view.map_of(HERE)
    assert known is not None
    assert [run.source for run in known.runs()] == list(range(39_000, 40_001, 10))
