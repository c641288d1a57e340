"""Planning an epoch: which task reads which shards. The rule is pure; Spark calls it on the driver (flow.source).

Whole shards are dealt, never single partitions: a shard is what is owned, fenced and resumed as one. The heaviest shard
goes first, to the task that has least so far, so that tasks end up with about the same work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pyspark.sql.datasource import InputPartition

from twinlog.model.ledger.control import Control
from twinlog.model.ledger.records import Engine, Memo, PartitionState, RosterTopic, shard_of
from twinlog.model.names import TopicPartition

IDLE_WEIGHT: Final = 1.0
"""What a partition without traffic weighs: a little, so that idle ones are spread as well."""


class SchemasAt(NamedTuple):
    """The part of the ledger that knows the copy of the schemas, where to read it on, and what it said."""

    ledger_partition: int
    ledger_at: int
    state: PartitionState | None


@dataclass
class TaskPlan(InputPartition):
    """The work of one task in one epoch, and what the ledger said when it was planned (read on from `ledger_at`)."""

    epoch: int
    generation: int
    task: int
    shards: tuple[int, ...]
    shard_count: int
    ledger_at: dict[int, int]
    engine: Engine | None = None
    roster: dict[str, RosterTopic] = field(default_factory=dict)
    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    truncations: dict[str, Memo] = field(default_factory=dict)
    schemas: SchemasAt | None = None
    brought: Memo | None = None
    """On a way back: up to where new schemas are at the old home."""
    control: Control = field(default_factory=Control)

    def __repr__(self) -> str:
        return f"TaskPlan(epoch={self.epoch}, task={self.task}, shards={self.shards})"


def weigh(
    roster: Mapping[str, RosterTopic],
    bytes_before: Mapping[TopicPartition, int],
    bytes_now: Mapping[TopicPartition, int],
    shards: int,
) -> dict[int, float]:
    """The weight of each shard that has partitions: bytes copied since the last plan, plus a little for each."""
    weights: dict[int, float] = {}
    for topic in roster.values():
        for number in range(topic.partitions):
            partition = TopicPartition(topic.topic, number)
            moved = bytes_now.get(partition, 0) - bytes_before.get(partition, 0)
            shard = shard_of(partition, shards)
            weights[shard] = weights.get(shard, 0.0) + IDLE_WEIGHT + max(0, moved)
    return weights


def deal(weights: Mapping[int, float], tasks: int, shards: int) -> list[tuple[int, ...]]:
    """Deal every shard, also those without partitions yet (a new topic may fall into them), to `tasks` tasks."""
    count = max(1, min(tasks, shards))
    hands: list[list[int]] = [[] for _ in range(count)]
    loads = [0.0] * count
    for shard in sorted(weights.keys() & set(range(shards)), key=lambda s: (-weights[s], s)):
        lightest = min(range(count), key=lambda i: (loads[i], len(hands[i])))
        hands[lightest].append(shard)
        loads[lightest] += weights[shard]
    # Neighbours to different tasks: the partitions of one new topic fall into neighbouring shards.
    for turn, shard in enumerate(s for s in range(shards) if s not in weights):
        hands[turn % count].append(shard)
    return [tuple(sorted(hand)) for hand in hands]


def tasks_for(partitions: int, tasks_max: int | None, cores: int | None = None) -> int:
    """How many tasks a link gets: what the operator allows, else one per core, never more than partitions."""
    limit = tasks_max if tasks_max is not None else (cores or os.cpu_count() or 1)
    return max(1, min(limit, max(1, partitions)))
