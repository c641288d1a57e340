"""The groups that read one topic, summed over its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twinlog.model.groups.positions import Standing
from twinlog.model.names import TopicPartition


@dataclass(frozen=True)
class ReadingGroup:
    """One group at one topic. None: not known of some partition."""

    group: str
    partitions: int
    lag: int | None
    again: int | None


def reading_groups(standings: Iterable[Standing], ends: Mapping[TopicPartition, int | None]) -> list[ReadingGroup]:
    """Sum positions by group, by name; `ends` are where the partitions of the source end."""
    by_group: dict[str, list[Standing]] = {}
    for standing in standings:
        by_group.setdefault(standing.group, []).append(standing)
    return [_sum(group, positions, ends) for group, positions in sorted(by_group.items())]


def _sum(group: str, positions: list[Standing], ends: Mapping[TopicPartition, int | None]) -> ReadingGroup:
    lag: int | None = 0
    again: int | None = 0
    for position in positions:
        end = ends.get(position.source)
        lag = None if lag is None or end is None else lag + max(0, end - position.committed.offset)
        again = None if again is None or position.re_read is None else again + position.re_read
    return ReadingGroup(group, len(positions), lag, again)
