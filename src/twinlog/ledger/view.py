"""Reading the ledger (model.ledger says what is in it).

A view follows partitions of the ledger topic and knows the newest entry of each key. The planner, every reader, the
sync jobs, `twinlog status` and the client library use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from twinlog.ledger.spool import PartSpool, Spool
from twinlog.logs.follow import follow
from twinlog.logs.read import Batches, read_to_end, read_up_to
from twinlog.model.ledger.control import CONTROL, WISH, Control, control_of
from twinlog.model.ledger.map_parts import PartIndex, Parts
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import (
    ChoreNote,
    Engine,
    Entry,
    Gap,
    LedgerOwners,
    Memo,
    PartitionState,
    RosterTopic,
    SealedRuns,
    ShardTimes,
    ledger_topic,
    read_entry,
)
from twinlog.model.ledger.stage_times import LinkTimes, unpacked
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import BatchHeader
from twinlog.wire.codec import open_batch
from twinlog.wire.connection import Cluster


@dataclass
class LedgerView:
    """The newest entries of some partitions of the ledger, and where reading continues."""

    positions: dict[int, int]
    engine: Engine | None = None
    roster: dict[str, RosterTopic] = field(default_factory=dict)
    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    sealed: dict[TopicPartition, PartIndex] = field(default_factory=dict)
    gaps: dict[TopicPartition, dict[int, Gap]] = field(default_factory=dict)
    notes: dict[str, ChoreNote] = field(default_factory=dict)
    memos: dict[str, dict[str, Memo]] = field(default_factory=dict)  # by sync job and name
    times: LinkTimes = field(default_factory=LinkTimes)
    owners: LedgerOwners | None = None
    keep_maps: bool = False  # only translation wants sealed parts
    shut_outs: dict[str, int] = field(default_factory=dict)  # by pair: its newest decision that shut writers out
    spool: Spool = field(default_factory=PartSpool)

    def map_of(self, partition: TopicPartition) -> PartitionMap | None:
        """The whole map of a partition; None while nothing is noted of this incarnation of its topic."""
        entry, state = self.roster.get(partition.topic), self.states.get(partition)
        if entry is None or state is None or state.incarnation != entry.incarnation:
            return None
        return PartitionMap(state, self.parts_of(partition))

    def parts_of(self, partition: TopicPartition) -> Parts | None:
        """The sealed parts of a partition's map as they are now."""
        index = self.sealed.get(partition)
        return index.parts() if index is not None else None

    @property
    def control(self) -> Control:
        """What an operator ordered for the link."""
        wish = self.memos.get(CONTROL, {}).get(WISH)
        return control_of(None if wish is None else wish.body)

    def shut_out(self, pair: str) -> int:
        """The newest decision of a pair's switch that shut the link's writers out by force."""
        return max(self.shut_outs.get(pair, 0), self.shut_outs.get("", 0))

    def take(self, header: BatchHeader, data: bytes) -> list[Entry]:
        """Apply one batch; returns the entries in it that say something new."""
        if header.is_control:
            return []
        return [entry for record in open_batch(data) if (entry := self._apply(record.offset, record.key, record.value))]

    def _apply(self, offset: int, key: bytes | None, value: bytes | None) -> Entry | None:
        if not key:
            return None
        if value is None:
            self._forget(key.decode(errors="replace"))
            return None
        entry = read_entry(key, value)
        match entry:
            case None:
                return None
            case Engine():
                newest = max(self.shut_outs.get(entry.shut_out_pair, 0), entry.shut_out)
                self.shut_outs[entry.shut_out_pair] = newest
                generation = offset if entry.generation is None else entry.generation
                if self.engine is not None and (self.engine.generation or 0) > generation:
                    return None  # a word of an engine that was superseded
                self.engine = entry.model_copy(update={"generation": generation})
                return self.engine
            case LedgerOwners():
                self.owners = entry
            case RosterTopic():
                self.roster[entry.topic] = entry
            case PartitionState():
                self.states[TopicPartition(entry.topic, entry.partition)] = entry
            case SealedRuns():
                if self.keep_maps:
                    self.keep(entry)
            case Gap():
                self.gaps.setdefault(TopicPartition(entry.topic, entry.partition), {})[entry.first] = entry
            case ChoreNote():
                self.notes[entry.chore] = entry
            case Memo():
                self.memos.setdefault(entry.chore, {})[entry.name] = entry
            case ShardTimes():
                self.times.hear(entry.shard, entry.owner, unpacked(entry.stages))
            case _:
                assert_never(entry)
        return entry

    def _forget(self, key: str) -> None:
        if key.startswith("memo/"):
            _, chore, name = [*key.split("/", 2), ""][:3]
            self.memos.get(chore, {}).pop(name, None)
            return
        kind, *path = key.split("/")
        if not all(number.isdecimal() for number in path[1:]):
            return  # not a key of ours
        if kind == "roster" and len(path) == 1:
            self.roster.pop(path[0], None)
        elif kind == "state" and len(path) == 2:
            self.states.pop(TopicPartition(path[0], int(path[1])), None)
        elif kind in {"runs", "gap"} and len(path) == 3:
            partition, first = TopicPartition(path[0], int(path[1])), int(path[2])
            if kind == "gap":
                self.gaps.get(partition, {}).pop(first, None)
            elif (index := self.sealed.get(partition)) is not None:
                index.drop(first)
                if not len(index):
                    del self.sealed[partition]

    def keep(self, part: SealedRuns) -> list[int]:
        """Take a sealed part; returns the beginnings of those that it replaces."""
        partition = TopicPartition(part.topic, part.partition)
        if partition not in self.sealed:
            self.sealed[partition] = PartIndex(self.spool)
        replaced = self.sealed[partition].add(part)
        if self.spool.wasteful:
            self.spool = PartSpool()
            for index in self.sealed.values():
                index.move_to(self.spool)
        return replaced

    def leaderless(self, cluster: Cluster, source: str) -> list[int]:
        """The partitions of the ledger that have no leader, as far as the cluster was asked lately."""
        topic = ledger_topic(source)
        if topic not in cluster.topics:
            return []
        return sorted(number for number in self.positions if cluster.leader(topic, number) is None)

    async def catch_up(self, cluster: Cluster, source: str, lane: str = "ledger") -> None:
        """Read everything there is now."""
        await read_to_end(cluster, ledger_topic(source), self.positions, self._take_batches, lane)

    async def read_up_to(self, cluster: Cluster, source: str, ends: Mapping[int, int], lane: str = "ledger") -> None:
        """Read up to these ends, for a caller that has asked where they are."""
        await read_up_to(cluster, ledger_topic(source), self.positions, ends, self._take_batches, lane)

    def _take_batches(self, _: int, batches: Batches) -> None:
        for header, data in batches:
            self.take(header, data)

    async def follow(
        self, cluster: Cluster, source: str, on_entry: Callable[[Entry], None], lane: str = "ledger"
    ) -> None:
        """Read for ever and tell of every new entry."""

        def take(_: int, batches: Batches) -> None:
            for header, data in batches:
                for entry in self.take(header, data):
                    on_entry(entry)

        await follow(cluster, ledger_topic(source), self.positions, take, lane)
