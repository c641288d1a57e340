"""Offsets of many partitions as the journal keeps them: per topic, in the order of the partitions. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from twinlog.model.names import TopicPartition


def ends_as_lists(ends: Mapping[TopicPartition, int]) -> dict[str, list[int]]:
    """Offsets per topic, in the order of the partitions: what the journal keeps."""
    lists: dict[str, list[int]] = {}
    for partition in sorted(ends):
        lists.setdefault(partition.topic, []).append(ends[partition])
    return lists


def ends_from_lists(lists: Mapping[str, list[int]]) -> dict[TopicPartition, int]:
    """Read back what the journal keeps."""
    return {TopicPartition(topic, number): end for topic, ends in lists.items() for number, end in enumerate(ends)}
