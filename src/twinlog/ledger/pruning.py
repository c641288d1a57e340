"""Removing what the ledger need not hold any more. Runs on an executor, in the writer of the shard's owner.

Only the owner may: the keys of a partition are used again when its topic is created again, and only the owner knows
that nobody writes one of them meanwhile. So what is removed is decided while its own writer writes nothing else, and an
owner that was fenced is refused by the broker, as with any note (R10).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import LedgerWriter
from twinlog.model.ledger.pruning import ShardContent, Starts, forgotten, unwanted_keys
from twinlog.model.ledger.records import ROSTER_PARTITION, SealedRuns
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import EARLIEST

log = logging.getLogger("twinlog.ledger")

_ANSWER_WITHIN_S: Final = 10.0


class _NoBytes:
    """Keeps nothing: where parts begin is all that counts here."""

    wasteful: Final = False

    def put(self, data: bytes) -> int:  # noqa: ARG002
        return 0

    def get(self, place: int, size: int) -> bytes:
        raise LookupError(f"{size} bytes at {place} were not kept")

    def release(self, size: int) -> None:
        pass


@dataclass
class _ShardView(LedgerView):
    """A view that remembers which parts were replaced: their keys are still in the ledger."""

    replaced: dict[TopicPartition, set[int]] = field(default_factory=dict)

    def keep(self, part: SealedRuns) -> list[int]:
        covered = super().keep(part)
        partition = TopicPartition(part.topic, part.partition)
        void = self.replaced.setdefault(partition, set())
        void.update(covered)
        void.discard(part.first)
        return covered

    def content(self) -> ShardContent:
        parts = {partition: index.parts() for partition, index in self.sealed.items()}
        return ShardContent(self.states, parts, self.gaps, {p: void for p, void in self.replaced.items() if void})


async def prune_shard(link: LinkSettings, source: Cluster, ledger: LedgerWriter) -> int:
    """Remove what no offset needs that still exists, and what is left of forgotten topics; returns how many keys.

    Raises what keeps us from asking either cluster: then nothing is removed.
    """
    target, lane = ledger.cluster, f"prune-{ledger.partition}"
    try:
        view = _ShardView({ledger.partition: 0}, keep_maps=True, spool=_NoBytes())
        await view.catch_up(target, link.source, lane)
        # The roster is read behind the states: so a state is never newer than what the roster says of its topic.
        roster = LedgerView({ROSTER_PARTITION: 0})
        await roster.catch_up(target, link.source, lane)
        content = view.content()
        gone = forgotten(content, roster.roster, await _source_ids(source, content.topics() - set(roster.roster)))
        starts = await _starts(source, target, content, roster)
        removed = 0

        async def decide() -> Sequence[tuple[bytes, bytes | None]]:
            nonlocal removed
            await view.catch_up(target, link.source, lane)
            keys = unwanted_keys(view.content(), roster.roster, starts, gone)
            removed = len(keys)
            return [(key, None) for key in keys]

        if unwanted_keys(content, roster.roster, starts, gone):
            await ledger.write_decided(decide)
    finally:
        target.drop(lane)
    if removed:
        log.info("%s: %d keys of the ledger removed from partition %d", link.name, removed, ledger.partition)
    return removed


async def _source_ids(source: Cluster, topics: set[str]) -> dict[str, set[str]]:
    """The ids of topics as the brokers of the source know them; none for a topic that no broker knows.

    Every broker is asked, because the metadata of one may be behind. A topic of which one does not tell is left out.
    """
    if not topics:
        return {}
    ids: dict[str, set[str]] = {name: set() for name in topics}
    await source.refresh(topics)
    for node in list(source.nodes):
        for name, metadata in (await source.refresh(topics, node)).items():
            if metadata.error not in {codes.NONE, codes.UNKNOWN_TOPIC_OR_PARTITION}:
                ids.pop(name, None)
            elif not metadata.error and name in ids:
                ids[name].add(metadata.topic_id)
    return ids


async def _starts(
    source: Cluster, target: Cluster, content: ShardContent, roster: LedgerView
) -> dict[TopicPartition, Starts]:
    """Where both logs of partitions with sealed parts begin. One of which a cluster does not tell is left out."""
    remotes = {
        partition: TopicPartition(roster.roster[partition.topic].remote, partition.partition)
        for partition in content.parts
        if partition.topic in roster.roster
    }
    if not remotes:
        return {}
    here = await fetch_offsets(source, list(remotes), EARLIEST, within_s=_ANSWER_WITHIN_S)
    there = await fetch_offsets(target, list(remotes.values()), EARLIEST, within_s=_ANSWER_WITHIN_S)
    starts = {}
    for partition, remote in remotes.items():
        start, far_start = here[partition], there[remote]
        if isinstance(start, int) and isinstance(far_start, int):
            starts[partition] = Starts(start, far_start)
    return starts
