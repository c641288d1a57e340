"""Taking a link over from MirrorMaker 2: what it noted, compared with what both logs hold. Nothing is written here.

Blocking; asked by the engine for topics that are new to the ledger, and by `twinlog import mm2`.

    Connect's offsets (target) ──▶ last noted offset ┐
    offset syncs ─────────────────▶ anchors          ├──▶ model.mirrormaker_takeover.judge ──▶ a decision per partition
    both logs, their last records ─▶ what is there   ┘
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from twinlog.config.settings import ClientSettings, LinkSettings
from twinlog.errors import AccessDenied, ClusterError, MirrorMakerRuns, RecordsUnreadable, TopicUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.clients import LogRecord
from twinlog.kafka.spans import Span, read_spans, read_topic
from twinlog.model.groups.observed import ListedGroup
from twinlog.model.mirrormaker.records import NotReadable, OffsetSync, SourceOffset, connect_offsets_topic
from twinlog.model.mirrormaker.takeover import (
    Continue,
    Differs,
    NeedsMore,
    Pair,
    Seen,
    Tails,
    Unchecked,
    Verdict,
    choose_anchors,
    judge,
)
from twinlog.model.mirrormaker.takeover_decision import Decision, Fresh, Inherited, Postponed, Refused
from twinlog.model.names import NextOffset, TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators

log = logging.getLogger("twinlog.takeover")

LIMIT: Final = 20_000
"""Records at the end of a partition that are compared at most; MirrorMaker 2 writes an anchor every hundred."""
_WITHOUT_ANCHOR: Final = 200
_PARTITIONS_AT_ONCE: Final = 64
_WITHIN_S: Final = 120.0


class MirrorMakerTakeover:
    """What one link can continue from. `offsets_topic` and `connector` are for MirrorMaker 2 on a Connect cluster."""

    def __init__(
        self,
        link: LinkSettings,
        source: ClusterAdmin,
        target: ClusterAdmin,
        *,
        offsets_topic: str | None = None,
        connector: str | None = None,
    ) -> None:
        """Nothing is asked yet."""
        self._link = link
        self._source = source
        self._target = target
        self.offsets_topic = offsets_topic or link.mm2.offsets_topic or connect_offsets_topic(link.source)
        self.connector = connector or link.mm2.connector

    def fetch_noted(self) -> dict[TopicPartition, int]:
        """Read the last offset that MirrorMaker 2 noted for each source partition; none when it never ran."""
        try:
            logs = read_topic(
                self._target, self._link.clients.target_consumer, self.offsets_topic, within_s=_WITHIN_S, committed=True
            )
        except TopicUnknown:
            return {}
        noted: dict[TopicPartition, int] = {}
        for partition, records in logs.items():
            for record in records:
                offset = self._read(partition, record)
                if offset is None or (offset.connector, offset.cluster) != (self.connector, self._link.source):
                    continue
                where = TopicPartition(offset.topic, offset.partition)
                if offset.last is None:
                    noted.pop(where, None)
                else:
                    noted[where] = offset.last
        return noted

    def _read(self, partition: TopicPartition, record: LogRecord) -> SourceOffset | None:
        try:
            return SourceOffset.read(record.key, record.value)
        except NotReadable as error:
            if self.connector.encode() not in (record.key or b""):
                return None  # another connector's business: the topic is shared
            raise RecordsUnreadable(self._link.target, f"{partition} offset {record.offset}: {error}") from error

    def check_stopped(self) -> None:
        """Raise MirrorMakerRuns while a dedicated MirrorMaker 2 has workers for this link."""
        if self.offsets_topic != connect_offsets_topic(self._link.source):
            return  # the group of a Connect cluster has a name that only its operator knows
        group = f"{self._link.source}-mm2"
        try:
            listed = asyncio.run(_list_groups(self._link.clients.target_admin))
        except AccessDenied as error:
            log.warning("%s: whether MirrorMaker 2 still runs is not known: %s", self._link.name, error)
            return
        if group in listed and listed[group].active:
            raise MirrorMakerRuns(self._link.target, f"its group {group} has members")

    def decide(self, partitions: Sequence[TopicPartition], *, wait: bool) -> dict[TopicPartition, Decision]:
        """Decide for each source partition. While MirrorMaker 2 runs its topics are postponed; `wait` raises then."""
        decided = self._decide(partitions, wait=wait)
        return {partition: decided[partition] for partition in partitions}

    def _decide(self, partitions: Sequence[TopicPartition], *, wait: bool) -> dict[TopicPartition, Decision]:
        remotes = {
            p: TopicPartition(self._link.naming.remote(self._link.source, p.topic), p.partition) for p in partitions
        }
        noted = self.fetch_noted() if self._link.mm2.takeover != "off" else {}
        ends = self._target.fetch_end_offsets(remotes.values(), committed=True)
        pairs = self._fetch_syncs(partitions) if self._unnoted(remotes, ends, noted) else {}
        for partition, noted_pairs in pairs.items():
            # It was ended before it noted anything; a sync says as well that a record was copied.
            if noted_pairs and partition not in noted:
                noted[partition] = noted_pairs[-1][0]
        decisions: dict[TopicPartition, Decision] = {}
        doubtful: list[TopicPartition] = []
        for partition, remote in remotes.items():
            end, last = ends.get(remote), noted.get(partition)
            if isinstance(end, TopicUnknown) or end is None:
                end = NextOffset(0)
            if last is None or end == 0:
                decisions[partition] = Fresh(_remark(partition, remote, end, last))
            elif isinstance(end, ClusterError):
                # Taken for empty, a full topic would be copied a second time.
                decisions[partition] = Postponed(f"{partition}: {remote}: {end}")
            else:
                doubtful.append(partition)
        if not doubtful:
            return decisions
        try:
            self.check_stopped()
        except MirrorMakerRuns as error:
            if wait:
                raise
            return decisions | {partition: Postponed(f"{partition}: {error}") for partition in doubtful}
        if self._link.mm2.takeover == "trust":
            trusted = {p: Inherited(noted[p], noted[p] + 1, checked=False) for p in doubtful}
            return decisions | trusted
        pairs = pairs or self._fetch_syncs(doubtful)
        for begin in range(0, len(doubtful), _PARTITIONS_AT_ONCE):
            part = doubtful[begin : begin + _PARTITIONS_AT_ONCE]
            decisions |= self._compare({p: remotes[p] for p in part}, noted, pairs)
        return decisions

    def _unnoted(
        self,
        remotes: Mapping[TopicPartition, TopicPartition],
        ends: Mapping[TopicPartition, int | ClusterError],
        noted: Mapping[TopicPartition, int],
    ) -> bool:
        """Whether a target holds records that no note speaks of."""
        return self._link.mm2.takeover == "check" and any(
            partition not in noted and isinstance(end := ends.get(remote), int) and end > 0
            for partition, remote in remotes.items()
        )

    def _fetch_syncs(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, list[Pair]]:
        """Read the offset syncs in the order in which they were written; none is no trouble."""
        link = self._link
        at_source = link.offset_syncs.location == "source"
        admin, client = (
            (self._source, link.clients.source_consumer) if at_source else (self._target, link.clients.target_consumer)
        )
        topic = link.naming.offset_syncs_topic(link.target if at_source else link.source)
        pairs: dict[TopicPartition, list[Pair]] = {partition: [] for partition in partitions}
        try:
            logs = read_topic(admin, client, topic, within_s=_WITHIN_S)
        except TopicUnknown:
            return pairs
        for record in (record for records in logs.values() for record in records):
            try:
                sync = OffsetSync.read(record.key, record.value)
            except NotReadable:
                continue  # only a help for the comparison
            where = TopicPartition(sync.topic, sync.partition)
            if where in pairs:
                pairs[where].append((sync.upstream, sync.downstream))
        return pairs

    # --- comparing ------------------------------------------------------------------------------------------------

    def _compare(
        self,
        remotes: Mapping[TopicPartition, TopicPartition],
        noted: Mapping[TopicPartition, int],
        pairs: Mapping[TopicPartition, Sequence[Pair]],
    ) -> dict[TopicPartition, Decision]:
        target_starts = self._starts(self._target, remotes.values())
        target_ends = self._ends(self._target, remotes.values(), committed=True)
        source_starts = self._starts(self._source, remotes)
        source_ends = self._ends(self._source, remotes, committed=False)
        anchors = {p: choose_anchors(pairs[p], noted[p], target_ends[r], LIMIT) for p, r in remotes.items()}
        spans = {
            remote: Span(
                max(target_starts[remote], _target_first(anchors[p], target_ends[remote])), target_ends[remote]
            )
            for p, remote in remotes.items()
        }
        on_target = self._read_spans(spans, source=False, committed=True)
        decisions: dict[TopicPartition, Decision] = {}
        open_ones = list(remotes)
        # MirrorMaker 2 reads uncommitted records unless told otherwise, so the source is first read as it lies there.
        for committed in (False, True):
            reach = dict.fromkeys(open_ones, 0)
            while open_ones:
                wanted: dict[TopicPartition, Span] = {}
                for p in open_ones:
                    reach[p] = max(2 * reach[p], len(on_target[remotes[p]]) + _WITHOUT_ANCHOR)
                    first = max(source_starts[p], _source_first(anchors[p], noted[p]))
                    wanted[p] = Span(first, max(first, min(source_ends[p], first + reach[p])))
                on_source = self._read_spans(wanted, source=True, committed=committed)
                still_open: list[TopicPartition] = []
                for p in open_ones:
                    tails = Tails(
                        last=noted[p],
                        source=on_source[p],
                        source_start=source_starts[p],
                        source_whole=wanted[p].next >= source_ends[p],
                        target=on_target[remotes[p]],
                        anchors=anchors[p],
                    )
                    verdict = judge(tails)
                    if isinstance(verdict, NeedsMore) and reach[p] < 2 * LIMIT:
                        still_open.append(p)
                    else:
                        decisions[p] = _decision(noted[p], source_ends[p], verdict)
                open_ones = still_open
            open_ones = [p for p in remotes if isinstance(decisions[p], Refused)]
        return decisions

    def _read_spans(
        self, spans: Mapping[TopicPartition, Span], *, source: bool, committed: bool
    ) -> dict[TopicPartition, list[Seen]]:
        client = self._link.clients.source_consumer if source else self._link.clients.target_consumer
        by_partition = read_spans(client, spans, committed=committed, within_s=_WITHIN_S)
        return {p: [_seen(record) for record in records] for p, records in by_partition.items()}

    def _starts(self, admin: ClusterAdmin, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        start_offsets = admin.fetch_start_offsets(partitions)
        return {p: int(at) for p, at in start_offsets.items() if not isinstance(at, ClusterError)}

    def _ends(
        self, admin: ClusterAdmin, partitions: Iterable[TopicPartition], *, committed: bool
    ) -> dict[TopicPartition, int]:
        end_offsets = admin.fetch_end_offsets(partitions, committed=committed)
        return {p: int(at) for p, at in end_offsets.items() if not isinstance(at, ClusterError)}


async def _list_groups(settings: ClientSettings) -> dict[str, ListedGroup]:
    cluster = Cluster(settings, "twinlog|takeover")
    try:
        return await GroupCoordinators(cluster).list_groups()
    finally:
        await cluster.close()


def _target_first(anchors: Sequence[Pair], end: int) -> int:
    return min((down for _, down in anchors), default=end - _WITHOUT_ANCHOR)


def _source_first(anchors: Sequence[Pair], last: int) -> int:
    return min((up for up, _ in anchors), default=last - _WITHOUT_ANCHOR)


def _seen(record: LogRecord) -> Seen:
    return Seen(record.offset, hash((record.timestamp_ms, record.key, record.value, record.headers)))


def _decision(last: int, source_end: int, verdict: Verdict) -> Decision:
    if last >= source_end:
        return Refused(last, f"the source ends at {source_end}: it was created again, or lost records")
    match verdict:
        case Continue(resume, remarks):
            return Inherited(last, resume, checked=True, remarks=remarks)
        case Unchecked(resume, reason):
            return Inherited(last, resume, checked=False, remarks=(reason,))
        case Differs(problem):
            return Refused(last, problem)
        case NeedsMore():
            return Refused(last, f"the target's last record is not among the next {2 * LIMIT} of the source")


def _remark(partition: TopicPartition, remote: TopicPartition, end: int | ClusterError, last: int | None) -> str | None:
    if last is not None and end == 0:
        return f"{partition}: MirrorMaker 2 noted {last}, but {remote} is empty: it starts again"
    if isinstance(end, int) and end > 0:
        return (
            f"{partition}: {remote} reaches to offset {end} already and nobody noted what was copied into it; "
            "new copies are put behind. If another mirror filled it, records are there twice: exclude or delete it"
        )
    return None
