"""Where `start.from` lies in each partition of the source, as offsets."""

from __future__ import annotations

from typing import assert_never

from twinlog.errors import ClusterError, GroupWithoutOffsets
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.group_members import fetch_committed
from twinlog.model.names import NextOffset, TopicPartition
from twinlog.model.start import AtGroup, AtTime, Earliest, Latest, StartFrom


def fetch_beginnings(
    source: ClusterAdmin, alias: str, start: StartFrom, partitions: list[TopicPartition]
) -> dict[TopicPartition, int]:
    """Ask the source; a partition that it does not tell of is left out. Raises GroupWithoutOffsets."""
    if not partitions:
        return {}
    match start:
        case Earliest():
            offsets = source.fetch_start_offsets(partitions)
        case Latest():
            offsets = source.fetch_end_offsets(partitions)
        case AtTime():
            offsets = source.fetch_offsets_at(partitions, start.ms)
        case AtGroup():
            offsets = {**source.fetch_start_offsets(partitions), **_committed(source, alias, start.group, partitions)}
        case _:
            assert_never(start)
    return {partition: int(at) for partition, at in offsets.items() if not isinstance(at, ClusterError)}


def _committed(
    source: ClusterAdmin, alias: str, group: str, partitions: list[TopicPartition]
) -> dict[TopicPartition, NextOffset]:
    committed = fetch_committed(source, group)
    if not committed:
        raise GroupWithoutOffsets(alias, group)
    return {partition: committed[partition] for partition in partitions if partition in committed}
