"""What the ledger need not hold any more: the rules. Pure.

    source log                 start ├──────────────────────────┤
    target log                           start ├────────────────┤
    map parts    ├─ part ─┼─ part ─┼─ part ─┼─ part ─┼─ open ───┤
                 └ dropped ┘       └ kept: the target still has records of it

A part is dropped when the part behind it begins at or before both starts. Then no offset that exists on either side is
translated by it, so no translation of such an offset changes (R5).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from twinlog.model.ledger.map_parts import Parts
from twinlog.model.ledger.packed_runs import edges_of
from twinlog.model.ledger.records import Gap, PartitionState, RosterTopic
from twinlog.model.names import TopicPartition


class Starts(NamedTuple):
    """Where the logs of a partition begin now."""

    source: int
    target: int


@dataclass(frozen=True)
class ShardContent:
    """What one shard of the ledger holds."""

    states: Mapping[TopicPartition, PartitionState]
    parts: Mapping[TopicPartition, Parts]
    gaps: Mapping[TopicPartition, Mapping[int, Gap]]
    replaced: Mapping[TopicPartition, Collection[int]] = field(default_factory=dict)  # parts that a newer one covers

    def topics(self) -> set[str]:
        """All topics that it says something of."""
        return {partition.topic for partition in (*self.states, *self.parts, *self.gaps)}


def forgotten(
    content: ShardContent, roster: Mapping[str, RosterTopic], source_ids: Mapping[str, Collection[str]]
) -> set[str]:
    """Topics whose entries nobody can want again: their topic on the source does not exist any more.

    `source_ids` has the ids under which the source knows each topic, and nothing of one about which it does not tell.
    A topic that is only not selected any more keeps its state: selected again, it continues there.
    """
    gone = set()
    for topic in content.topics() - set(roster):
        known = {
            state.incarnation.split("/")[0] for partition, state in content.states.items() if partition.topic == topic
        }
        if topic in source_ids and known.isdisjoint(source_ids[topic]):
            gone.add(topic)
    return gone


def unwanted_keys(
    content: ShardContent,
    roster: Mapping[str, RosterTopic],
    starts: Mapping[TopicPartition, Starts],
    gone: Collection[str],
) -> list[bytes]:
    """The keys of the ledger to be removed. Without a word of both logs nothing of a partition is removed."""
    keys: list[bytes] = []
    for partition in sorted({*content.states, *content.parts, *content.gaps, *content.replaced}):
        state, parts = content.states.get(partition), content.parts.get(partition)
        name, gaps = f"{partition.topic}/{partition.partition}", content.gaps.get(partition, {})
        entry = roster.get(partition.topic)
        firsts = list(content.replaced.get(partition, ()))
        if partition.topic in gone:
            keys += [f"state/{name}".encode()] if state is not None else []
            keys += [f"gap/{name}/{first}".encode() for first in gaps]
            firsts += [parts.first(index) for index in range(len(parts))] if parts is not None else []
        elif entry is not None and parts is not None:
            if parts.incarnation != entry.incarnation:  # of a topic that was created again since
                firsts += [parts.first(index) for index in range(len(parts))]
            elif state is not None and state.incarnation == entry.incarnation and partition in starts:
                count = _outlived(state, parts, starts[partition])
                firsts += [parts.first(index) for index in range(count)]
                kept_from = _first_behind(state, parts, count)
                keys += [f"gap/{name}/{first}".encode() for first, gap in gaps.items() if gap.next <= kept_from]
        keys += [f"runs/{name}/{first}".encode() for first in firsts]
    return keys


def _outlived(state: PartitionState, parts: Parts, starts: Starts) -> int:
    """How many parts, from the oldest on, lie below both starts."""
    own = parts.before(state.map_first)
    edges = edges_of(state.open_map)
    for index in range(len(own)):
        if index + 1 < len(own):
            target = own.target(index + 1)
        else:
            target = edges.first_target if edges is not None else state.target_next
        if _first_behind(state, own, index + 1) > starts.source or target > starts.target:
            return index
    return len(own)


def _first_behind(state: PartitionState, parts: Parts, count: int) -> int:
    """Where the map begins without its first `count` parts."""
    own = parts.before(state.map_first)
    return own.first(count) if count < len(own) else state.map_first
