"""What is removed from the ledger: nothing that an offset needs which still exists, and nothing that may come again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.ledger.map_parts import PartIndex
from twinlog.model.ledger.packed_runs import pack
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.pruning import ShardContent, Starts, forgotten, unwanted_keys
from twinlog.model.ledger.records import Gap, PartitionState, RosterTopic, SealedRuns, key_of
from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition

HERE = TopicPartition("orders", 0)
ROSTER = {"orders": RosterTopic(topic="orders", source_id="s", remote="o", target_id="t", origins=[5])}


@dataclass
class Past:
    """A partition that was copied, its map in parts of a few runs."""

    steps: list[tuple[int, int, int]]
    per_part: int
    incarnation: str = "s/t"

    def __post_init__(self) -> None:
        self.index, open_map = PartIndex(), RunMap()
        self.first = map_first = 5
        source, target = 5, 50
        for hole, foreign, length in self.steps:
            source, target = source + hole, target + foreign
            if len(open_map) >= self.per_part:
                self.index.add(self.part(map_first, source, open_map))
                open_map, map_first = RunMap(), source
            open_map.add(Run(source, target, length))
            source, target = source + length, target + length
        self.state = PartitionState(
            topic="orders",
            partition=0,
            incarnation=self.incarnation,
            phase="copying",
            source_first=5,
            target_first=50,
            source_next=source + 2,
            target_next=target,
            producer_id=1,
            map_first=map_first,
            open_map=pack(open_map),
        )

    def part(self, first: int, after: int, known: RunMap) -> SealedRuns:
        where = {"topic": "orders", "partition": 0, "incarnation": self.incarnation}
        return SealedRuns(**where, first=first, next=after, packed=pack(known))

    def content(self, **more: object) -> ShardContent:
        return ShardContent({HERE: self.state}, {HERE: self.index.parts()}, {}, **more)  # type: ignore[arg-type]

    def part_keys(self) -> list[bytes]:
        parts = self.index.parts()
        return [f"runs/orders/0/{parts.first(at)}".encode() for at in range(len(parts))]


_pasts = st.builds(
    Past,
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=30),
    st.integers(1, 4),
)


@pytest.mark.proves("R5")
@given(_pasts, st.floats(0, 1.1), st.floats(0, 1.1))
def test_no_offset_that_exists_on_either_side_is_translated_otherwise(past: Past, here: float, there: float) -> None:
    state = past.state
    starts = Starts(
        5 + int(here * (state.source_next - 5)),
        50 + int(there * (state.target_next - 50)),
    )
    before = PartitionMap(state, past.index.parts())
    keys = unwanted_keys(past.content(), ROSTER, {HERE: starts}, ())
    kept = [key for key in past.part_keys() if key not in keys]
    for key in keys:
        past.index.drop(int(key.rsplit(b"/", 1)[1]))
    assert past.part_keys() == kept
    after = PartitionMap(state, past.index.parts())
    for position in range(starts.source, state.source_next + 3):
        assert after.to_target(position) == before.to_target(position)
        assert after.edge(position) == before.edge(position) or before.edge(position) <= starts.target
    for position in range(starts.target, state.target_next + 3):
        assert after.to_source(position) == before.to_source(position)
    # A reader whose position both sides deleted goes on at the first record that is left, or before it.
    for position in range(5, starts.source):
        told, exact = after.to_target(position), before.to_target(position)
        assert told == exact or getattr(exact, "offset", 0) <= starts.target
    if starts.source >= state.source_next and starts.target >= state.target_next:
        assert not kept, "everything is deleted on both sides, and still there are parts"


def test_without_a_word_of_both_logs_nothing_is_removed() -> None:
    past = Past([(1, 0, 2)] * 9 + [(2, 0, 1)] * 9 + [(1, 1, 3)] * 9, 1)
    assert len(past.part_keys()) > 1
    assert unwanted_keys(past.content(), ROSTER, {}, ()) == []


def test_gaps_go_with_the_part_that_they_lie_in() -> None:
    past = Past([(1, 0, 2), (5, 0, 1), (1, 0, 3), (6, 0, 2), (3, 0, 1), (2, 0, 2)], 1)
    parts = past.index.parts()
    gaps = [
        Gap(topic="orders", partition=0, first=at, next=at + 1, reason="retention", at_ms=1)
        for at in (5, parts.first(2))
    ]
    content = ShardContent({HERE: past.state}, {HERE: parts}, {HERE: {gap.first: gap for gap in gaps}})
    keys = unwanted_keys(content, ROSTER, {HERE: Starts(parts.first(2), parts.target(2))}, ())
    assert keys == [key_of(gaps[0]), *past.part_keys()[:2]]


@given(_pasts)
def test_parts_of_a_topic_that_was_created_again_are_removed_and_its_state_is_not(past: Past) -> None:
    again = {"orders": ROSTER["orders"].model_copy(update={"target_id": "t2"})}
    assert unwanted_keys(past.content(), again, {HERE: Starts(0, 0)}, ()) == past.part_keys()


@given(_pasts, st.sets(st.integers(0, 9), min_size=1))
def test_parts_that_a_newer_one_covers_are_removed(past: Past, replaced: set[int]) -> None:
    keys = unwanted_keys(past.content(replaced={HERE: replaced}), ROSTER, {}, ())
    assert keys == [f"runs/orders/0/{first}".encode() for first in replaced]


def test_a_topic_is_forgotten_only_when_its_source_is_gone() -> None:
    past = Past([(1, 0, 2)] * 3 + [(2, 0, 1)] * 3 + [(3, 0, 1)] * 3, 1)
    content = past.content()
    assert forgotten(content, ROSTER, {}) == set()
    assert forgotten(content, {}, {"orders": {"s"}}) == set(), "not selected any more, but it exists"
    assert forgotten(content, {}, {"orders": {"s", "s2"}}) == set(), "the brokers do not agree yet"
    assert forgotten(content, {}, {}) == set(), "the source did not tell"
    for ids in (set(), {"s2"}):
        assert forgotten(content, {}, {"orders": ids}) == {"orders"}
    assert unwanted_keys(content, {}, {}, {"orders"}) == [b"state/orders/0", *past.part_keys()]
    assert unwanted_keys(content, {}, {}, ()) == []
