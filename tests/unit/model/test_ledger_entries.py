"""What the ledger's records say, and that nobody else's records disturb it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.batches import make_batch

from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.records import (
    ENGINE_KEY,
    Engine,
    Entry,
    FaultEntry,
    Gap,
    PartitionState,
    RosterTopic,
    SealedRuns,
    key_of,
    read_entry,
    shard_of,
    transactional_id,
)
from twinlog.model.ledger.runs import Run, RunMap, Stretch
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import read_header
from twinlog.wire.codec import PlainRecord

_topics = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True)
_numbers = st.integers(0, 1 << 62)
_facts = st.dictionaries(st.text(max_size=5), st.text(max_size=5) | _numbers, max_size=3)
_faults = st.builds(FaultEntry, code=st.text(), says=st.text(), remedy=st.text(), facts=_facts, since_ms=_numbers)
_maps = st.builds(lambda *run: pack(RunMap([], Run(*run))), _numbers, _numbers, st.integers(1, 9)) | st.just(b"")
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(Engine, engine_id=st.text(), generation=st.none() | _numbers, trouble=st.none() | st.text()),
    st.builds(
        RosterTopic, topic=_topics, origins=st.lists(_numbers, max_size=4), problem=st.none() | _faults, remote=_topics
    ),
    st.builds(
        PartitionState,
        topic=_topics,
        partition=st.integers(0, 9_999),
        source_next=_numbers,
        open_map=_maps,
        fault=st.none() | _faults,
    ),
    st.builds(SealedRuns, topic=_topics, partition=st.integers(0, 9_999), first=_numbers, packed=_maps),
    st.builds(Gap, topic=_topics, partition=st.integers(0, 9_999), first=_numbers),
)


@given(entries)
def test_an_entry_is_read_as_it_was_written(entry: Entry) -> None:
    assert read_entry(key_of(entry), entry.value()) == entry


@given(entries, entries)
def test_entries_share_a_key_only_when_one_replaces_the_other(one: Entry, two: Entry) -> None:
    same_thing = type(one) is type(two) and all(
        getattr(one, name, None) == getattr(two, name, None)
        for name in ("topic", "partition", *(("first",) if isinstance(one, SealedRuns | Gap) else ()))
    )
    assert (key_of(one) == key_of(two)) == same_thing


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", b"{}"),
        (b"\xff\xfe", b"{}"),
        (b"somebody/else", b"{}"),
        (b"state/orders/0", b"not json"),
        (b"state/orders/0", b"\xff"),
        (b"state/orders/0", b"[]"),
        (b"state/orders/0", b'{"topic": "orders"}'),
        (b"gap", b'{"first": "x"}'),
        (b"runs/orders/0/5", b"\x01"),
        (b"runs/orders/0/5", b"\x01\x05ab"),
        (b"runs/orders/0", b"\x01\x00\x00\x00"),
    ],
)
def test_foreign_records_are_nobodys_error(key: bytes, value: bytes) -> None:
    assert read_entry(key, value) is None


def test_later_versions_may_say_more() -> None:
    gap = Gap(topic="orders", partition=1, first=5, next=9, reason="retention", at_ms=1)
    assert read_entry(key_of(gap), gap.value()[:-1] + b', "invented_later": true}') == gap


def test_a_map_of_an_older_ledger_is_read() -> None:
    """Before maps were packed they were rows of numbers."""
    rows = [[10, 4, 3, 5, 3, 7], [50, 30, 2, 2, 2, 1]]
    older = {"topic": "orders", "partition": 1, "incarnation": "i", "runs": rows}
    known = RunMap([Stretch(*rows[0])], Run(50, 30, 2))
    part = read_entry(b"runs/orders/1/10", json.dumps(older | {"first": 10, "next": 60}).encode())
    assert isinstance(part, SealedRuns)
    assert (part.first, part.next, part.run_map()) == (10, 60, known)
    nothing = dict.fromkeys(("source_first", "target_first", "source_next", "target_next", "producer_id"), 0)
    state = read_entry(b"state/orders/1", json.dumps(older | nothing | {"phase": "closed"}).encode())
    assert isinstance(state, PartitionState)
    assert (state.phase, state.run_map()) == ("closed", known)


# --- a view of it -----------------------------------------------------------------------------------------------------


def seen(*records: tuple[bytes | None, bytes | None]) -> LedgerView:
    view = LedgerView({0: 0})
    made = make_batch([PlainRecord(i, 0, key, value, []) for i, (key, value) in enumerate(records)])
    view.take(read_header(made.data), made.data)
    return view


def written(entry: Entry) -> tuple[bytes, bytes]:
    return key_of(entry), entry.value()


@pytest.mark.proves("R10")
def test_the_log_decides_which_engine_came_later() -> None:
    first, second = Engine(engine_id="first"), Engine(engine_id="second")
    late_word = Engine(engine_id="first", generation=0, phase="stopped")
    view = seen(written(first), written(second), written(late_word))
    assert view.engine is not None
    assert (view.engine.engine_id, view.engine.generation, view.engine.phase) == ("second", 1, "starting")


def test_a_tombstone_forgets_and_a_foreign_one_does_nothing() -> None:
    topic = RosterTopic(topic="orders", source_id="s", remote="orders", target_id="t", origins=[0])
    gap = Gap(topic="orders", partition=0, first=5, next=9, reason="retention", at_ms=1)
    foreign = [b"state/orders/x", b"state/orders", b"gap/a/b/c", b"runs/a/1/x", b"\xff/1", b"engine", b"other"]
    tombstones: list[tuple[bytes | None, bytes | None]] = [(key, None) for key in foreign]
    view = seen(written(topic), written(gap), (None, b"x"), (b"", None), *tombstones)
    assert (view.roster, view.gaps) == ({"orders": topic}, {TopicPartition("orders", 0): {5: gap}})
    forgotten = seen(written(topic), written(gap), (key_of(topic), None), (key_of(gap), None))
    assert forgotten.roster == {}
    assert not any(forgotten.gaps.values())


# --- shards -----------------------------------------------------------------------------------------------------------


@pytest.mark.proves("R10")
def test_a_partition_keeps_its_shard_for_ever() -> None:
    """Written down: another hash would let two owners write the same partition after an upgrade."""
    known = {("orders", 0): 46, ("orders", 1): 47, ("orders", 63): 45, ("a.b_c-d", 5): 44}
    assert {where: shard_of(TopicPartition(*where), 64) for where in known} == known
    assert transactional_id("east", "west", 11) == "twinlog.east->west.11"
    assert ENGINE_KEY == b"engine"


@given(_topics, st.integers(1, 128))
def test_the_partitions_of_a_topic_are_spread_evenly(topic: str, shards: int) -> None:
    counted = Counter(shard_of(TopicPartition(topic, number), shards) for number in range(3 * shards))
    assert set(counted) == set(range(shards))
    assert set(counted.values()) == {3}


@pytest.mark.proves("R10")
def test_writers_that_another_pairs_switch_shut_out_are_not_held() -> None:
    """A cluster that gets another alias makes another pair: the numbers of its decisions begin anew."""
    view = LedgerView({0: 0})
    for offset, (pair, number) in enumerate((("east<->west", 21), ("north<->west", 4))):
        entry = Engine(engine_id="switch", shut_out=number, shut_out_pair=pair)
        view._apply(offset, key_of(entry), entry.value())
    assert view.shut_out("east<->west") == 21
    assert view.shut_out("north<->west") == 4
    assert view.shut_out("south<->west") == 0
    old = Engine(engine_id="switch", shut_out=7)  # before pairs were noted
    view._apply(2, key_of(old), old.value())
    assert view.shut_out("south<->west") == 7
