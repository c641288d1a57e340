"""Copies that cannot be used: deleted, created again, or without a leader. Runs in the command that switches.

A failover must not wait for them and must not stop because of them (R8). One look at the metadata of the target finds
them; each step leaves them out, and the report names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster, TopicMetadata


def copy_of(view: LedgerView, partition: TopicPartition) -> TopicPartition:
    """The partition of the target that a source partition is copied into."""
    return TopicPartition(view.roster[partition.topic].remote, partition.partition)


async def dead_copies(target: Cluster, roster: Iterable[RosterTopic]) -> dict[TopicPartition, str]:
    """By source partition: why its copy can be neither read nor written now."""
    entries = [entry for entry in roster if entry.problem is None or entry.target_id]
    if not entries:
        return {}
    metadata = await target.refresh({entry.remote for entry in entries})
    dead: dict[TopicPartition, str] = {}
    for entry in entries:
        topic = metadata[entry.remote]
        for number in range(entry.partitions):
            why = _why_dead(topic, number, entry.target_id)
            if why is not None:
                dead[TopicPartition(entry.topic, number)] = why
    return dead


def _why_dead(topic_metadata: TopicMetadata, number: int, wanted_id: str) -> str | None:
    leader = topic_metadata.leaders.get(number)
    if leader is None:
        gone = topic_metadata.error in {codes.NONE, codes.UNKNOWN_TOPIC_OR_PARTITION}
        return "it does not exist" if gone else f"its broker says {codes.name_of(topic_metadata.error)}"
    if wanted_id and topic_metadata.topic_id != wanted_id:
        return "somebody deleted the topic and created it again"
    return "it has no leader" if leader.node < 0 else None


def sentences_about(dead: Mapping[TopicPartition, str], view: LedgerView, target: str) -> list[str]:
    """One sentence per dead copy, for plan and report."""
    return [
        f"{copy_of(view, partition)}: the copy on {target} cannot be used: {why}" for partition, why in dead.items()
    ]
