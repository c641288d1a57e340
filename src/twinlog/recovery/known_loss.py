"""What is lost with a source that does not answer, from the notes in its ledger. It asks no cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.loss_range import LossRange, last_copied, lived_until, loss_range
from twinlog.model.ledger.source_ends import CHORE, known_ends, seen_at
from twinlog.model.names import TopicPartition
from twinlog.model.naming import ReplicationNaming


def loss_of(
    view: LedgerView, naming: ReplicationNaming, unnoted: Mapping[TopicPartition, int] | None = None
) -> LossRange:
    """The range of what is lost with a source that does not answer; `unnoted` was copied and not yet in the ledger."""
    mine = {name: topic for name, topic in view.roster.items() if not naming.is_heartbeats(name)}
    states = {p: s for p, s in view.states.items() if p.topic in mine and s.incarnation == mine[p.topic].incarnation}
    positions = {
        place: (states[place].source_next if place in states else origin) + (unnoted or {}).get(place, 0)
        for name, topic in mine.items()
        for number, origin in enumerate(topic.origins)
        for place in [TopicPartition(name, number)]
    }
    memos = view.memos.get(CHORE, {})
    known = known_ends(memos, positions, {name: topic.source_id for name, topic in mine.items()})
    copied_ms = last_copied((s.newest_ms, s.at_ms) for s in states.values())
    until_ms = lived_until(seen_at(memos), copied_ms, view.engine, _now_ms())
    return loss_range(known, positions, seen_at(memos), copied_ms, until_ms)


def merged_ends(
    wanted: Collection[TopicPartition],
    answers: Mapping[TopicPartition, int | ClusterError],
    remembered: tuple[dict[TopicPartition, int], int | None],
    now_ms: int,
) -> tuple[dict[TopicPartition, int], int | None]:
    """What the source said, and what is remembered of partitions it said nothing about, as old as the older (R7)."""
    fresh = {p: int(end) for p, end in answers.items() if not isinstance(end, ClusterError)}
    if all(partition in fresh for partition in wanted):
        return fresh, now_ms
    ends, at_ms = remembered
    return ends | fresh, at_ms


def remembered_ends(view: LedgerView) -> tuple[dict[TopicPartition, int], int | None]:
    """The last ends that the engine noted, and when it last heard of the source."""
    memos: Mapping[str, Any] = view.memos.get(CHORE, {})
    nexts = {partition: state.source_next for partition, state in view.states.items()}
    ids = {topic.topic: topic.source_id for topic in view.roster.values()}
    known = known_ends(memos, nexts, ids)
    mirrored = {p: k.end for p, k in known.items() if p.partition < view.roster[p.topic].partitions}
    return mirrored, seen_at(memos)


def _now_ms() -> int:
    return SYSTEM_CLOCK.now_ms()
