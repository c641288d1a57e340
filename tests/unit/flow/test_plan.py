"""Dealing shards to tasks."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.flow.plan import IDLE_WEIGHT, TaskPlan, deal, tasks_for, weigh
from twinlog.model.ledger.records import RosterTopic, shard_of
from twinlog.model.names import TopicPartition


@pytest.mark.proves("R1", "R10")
@given(st.dictionaries(st.integers(0, 63), st.floats(0, 1e9)), st.integers(1, 100), st.integers(1, 64))
def test_every_shard_is_dealt_exactly_once(weights: dict[int, float], tasks: int, shards: int) -> None:
    hands = deal(weights, tasks, shards)
    assert sorted(shard for hand in hands for shard in hand) == list(range(shards))
    assert len(hands) == min(tasks, shards)


@given(st.dictionaries(st.integers(0, 63), st.integers(0, 10**9)), st.integers(1, 20))
def test_no_task_has_more_than_another_by_more_than_one_shard(weights: dict[int, float], tasks: int) -> None:
    loads = [sum(weights.get(shard, 0) for shard in hand) for hand in deal(weights, tasks, 64)]
    assert max(loads) - min(loads) <= max(weights.values(), default=0)


def test_the_heaviest_shard_is_dealt_first() -> None:
    assert sorted(deal({0: 1, 1: 1, 2: 1, 3: 1, 4: 4}, 2, 5)) == [(0, 1, 2, 3), (4,)]


def test_shards_without_traffic_are_spread_as_well() -> None:
    assert {len(hand) for hand in deal({}, 4, 64)} == {16}


def test_a_shard_weighs_what_moved_since_the_last_plan() -> None:
    topic = RosterTopic(topic="orders", source_id="s", remote="orders", target_id="t", origins=[0, 0, 0])
    before = {TopicPartition("orders", 0): 100, TopicPartition("orders", 1): 500}
    now = {TopicPartition("orders", 0): 300, TopicPartition("orders", 1): 50}  # 1 began anew: it counts from zero
    weights = weigh({"orders": topic}, before, now, 64)
    expected = [200 + IDLE_WEIGHT, IDLE_WEIGHT, IDLE_WEIGHT]
    assert weights == {shard_of(TopicPartition("orders", n), 64): weight for n, weight in enumerate(expected)}


@pytest.mark.parametrize(
    ("partitions", "allowed", "cores", "tasks"),
    [(0, None, 4, 1), (3, None, 4, 3), (9, None, 4, 4), (9, 6, 4, 6), (9, 0, 4, 1)],
)
def test_tasks_follow_what_is_allowed_and_what_there_is(
    partitions: int, allowed: int | None, cores: int, tasks: int
) -> None:
    assert tasks_for(partitions, allowed, cores) == tasks


def test_a_plan_travels_to_its_executor() -> None:
    plan = TaskPlan(3, 17, 1, (4, 9), 64, {0: 12, 5: 7})
    back = pickle.loads(pickle.dumps(plan))  # noqa: S301  our own bytes
    assert back == plan
