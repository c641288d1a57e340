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
    for one in standings:
        by_group.setdefault(one.group, []).append(one)
    return [_sum(group, found, ends) for group, found in sorted(by_group.items())]


def _sum(group: str, found: list[Standing], ends: Mapping[TopicPartition, int | None]) -> ReadingGroup:
    lag: int | None = 0
    again: int | None = 0
    for one in found:
        end = ends.get(one.source)
        lag = None if lag is None or end is None else lag + max(0, end - one.committed.offset)
        again = None if again is None or one.re_read is None else again + one.re_read
    return ReadingGroup(group, len(found), lag, again)
