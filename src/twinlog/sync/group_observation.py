"""Observes the groups of both ends in a few requests, however many they are. Runs in the service and in commands.

    source: groups, committed offsets      ┐
    ledger: roster, states, maps           ├─▶ GroupsNow, for the rules in model.group_positions
    target: groups, their offsets, the log ┘

A topic of the source that was itself copied from the target (`B.orders` on A, for the link A->B) is not mirrored back,
but its positions can be: the ledger of the opposite link lies on the source and is read from the other end.
Where names are kept, both links write into the same topics, and both ledgers decide about a position.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.groups.observed import SHARE, GroupPosition, ListedGroup
from twinlog.model.groups.positions import Copied, GroupPartition, GroupsNow, Told, Translates, starts_wanted
from twinlog.model.ledger.both_ways import to_target_both_ways
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import PartitionState, RosterTopic, ledger_topic
from twinlog.model.names import NextOffset, TopicPartition
from twinlog.sync.ends import LinkEnds
from twinlog.wire.connection import Cluster, TopicMetadata
from twinlog.wire.groups import GroupCoordinators

_OTHER_TOPIC: Final = frozenset({"SOURCE_TOPIC_MISSING", "SOURCE_TOPIC_RECREATED", "TARGET_TOPIC_MISSING"})
_LEDGER_WITHIN_S: Final = 20.0

Offsets = Mapping[TopicPartition, NextOffset | ClusterError]


@dataclass
class GroupObserver:
    """The eyes of one link on consumer groups. Keeps one connection per broker and lane until closed."""

    ends: LinkEnds
    source: Cluster = field(init=False)
    target: Cluster = field(init=False)
    groups: dict[str, ListedGroup] = field(default_factory=dict)  # selected, of the source
    findings: list[str] = field(default_factory=list)  # of the last look
    without_source: bool = False  # it does not answer: only the ledger and the target are asked
    _opposite: LedgerView | None = None
    _maps: dict[tuple[bool, TopicPartition], tuple[PartitionState, PartitionMap]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        link = self.ends.link
        self.source = Cluster(link.clients.source_admin, f"twinlog|{link.name}|groups")
        self.target = Cluster(link.clients.target_admin, f"twinlog|{link.name}|groups")
        self.at_source, self.at_target = GroupCoordinators(self.source), GroupCoordinators(self.target)

    async def close(self) -> None:
        await self.source.close()
        await self.target.close()

    async def refresh_groups(self) -> None:
        """List the groups of the source that the settings select."""
        listed = await self.at_source.list_groups()
        selection = self.ends.link.groups
        self.groups = {name: group for name, group in listed.items() if selection.matches(name)}

    @property
    def share_groups(self) -> list[str]:
        """Selected groups whose records are shared out one by one: they have no position to translate."""
        return sorted(name for name, group in self.groups.items() if group.kind == SHARE)

    async def look(self, view: LedgerView, groups: Iterable[str] | None = None) -> GroupsNow:
        """Observe everything about these groups (all selected ones, unless told)."""
        self.findings = [
            f"{name}: a share group has no position that could be translated" for name in self.share_groups
        ]
        wanted = [name for name in (self.groups if groups is None else groups) if name not in self.share_groups]
        committed, there, on_target = await self._positions(wanted)
        partitions = {partition for positions in committed.values() for partition in positions}
        copied = await self.copies(view, partitions)
        active = frozenset(name for name, group in there.items() if group.active)
        now = GroupsNow(committed, copied, on_target, active)
        await self.measure_starts(now)
        return now

    async def look_without_source(self, view: LedgerView, told: Mapping[GroupPartition, Told]) -> GroupsNow:
        """Observe what is known of groups while the source is away: their last checkpoints are where they stood."""
        self.without_source = True
        origins = {entry.remote: entry.topic for entry in view.roster.values()}
        committed: dict[str, dict[TopicPartition, GroupPosition]] = {}
        for (group, remote), last in told.items():
            if remote.topic in origins and (not self.groups or group in self.groups):
                place = TopicPartition(origins[remote.topic], remote.partition)
                committed.setdefault(group, {})[place] = GroupPosition(last.upstream)
        listed = await self.at_target.list_groups()
        there = {name: listed[name] for name in committed if name in listed}
        answered = await self.at_target.fetch_positions(there)
        on_target = {name: positions for name, positions in answered.items() if not isinstance(positions, ClusterError)}
        self.findings += [
            f"{name}: {positions}" for name, positions in answered.items() if isinstance(positions, ClusterError)
        ]
        copied = await self.copies(view, {place for positions in committed.values() for place in positions})
        active = frozenset(name for name, group in there.items() if group.active)
        return GroupsNow(committed, copied, on_target, active, told)

    async def copies(self, view: LedgerView, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Copied]:
        """What the ledgers and both clusters say about these partitions of the source."""
        opposite = await self._opposite_view({p.topic for p in partitions})
        # The ledger first, then the log: so the log's end is never before a place that the ledger names.
        copied = self._copied(view, opposite, partitions)
        await self._check_topics(copied)
        await self._measure_logs(copied)
        return copied

    async def measure_starts(self, now: GroupsNow) -> None:
        """Ask where logs of the source begin, for the positions that this decides about."""
        if self.without_source:
            return
        starts = await asyncio.to_thread(self.ends.source.fetch_start_offsets, sorted(starts_wanted(now)))
        for partition, start in starts.items():
            if not isinstance(start, ClusterError):
                now.copied[partition] = replace(now.copied[partition], source_start=int(start))

    async def _positions(
        self, wanted: list[str]
    ) -> tuple[
        dict[str, Mapping[TopicPartition, GroupPosition]],
        dict[str, ListedGroup],
        dict[str, Mapping[TopicPartition, GroupPosition]],
    ]:
        asked, listed = await asyncio.gather(self.at_source.fetch_positions(wanted), self.at_target.list_groups())
        committed = {
            name: positions
            for name, positions in asked.items()
            if not isinstance(positions, ClusterError) and positions
        }
        there = {name: listed[name] for name in committed if name in listed}
        for name in [name for name, group in there.items() if group.kind == SHARE]:
            self.findings.append(f"{name}: on {self.ends.link.target} this is a share group; it takes no positions")
            del committed[name], there[name]
        found_there = await self.at_target.fetch_positions(there)
        for name, positions in [*asked.items(), *found_there.items()]:
            if isinstance(positions, ClusterError):
                self.findings.append(f"{name}: {positions}")
                committed.pop(name, None)
        on_target = {
            name: positions for name, positions in found_there.items() if not isinstance(positions, ClusterError)
        }
        return dict(committed), there, dict(on_target)

    # --- what the ledgers say ---------------------------------------------------------------------------------------

    async def _opposite_view(self, topics: set[str]) -> LedgerView | None:
        """The ledger of the opposite link, when groups have positions in what that link copied."""
        link = self.ends.link
        returns = any(link.naming.keeps_names or link.naming.topic_source(topic) == link.target for topic in topics)
        if self.without_source or not returns:
            return None
        name = ledger_topic(link.target)
        metadata = (await self.source.refresh([name]))[name]
        if metadata.error or not metadata.leaders:
            return None
        if self._opposite is None or set(self._opposite.positions) != set(metadata.leaders):
            self._opposite = LedgerView(dict.fromkeys(metadata.leaders, 0), keep_maps=True)
        async with asyncio.timeout(_LEDGER_WITHIN_S):
            await self._opposite.catch_up(self.source, link.target)
        return self._opposite

    def _copied(
        self, view: LedgerView, opposite: LedgerView | None, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Copied]:
        returned = {entry.remote: entry for entry in opposite.roster.values()} if opposite else {}
        copied: dict[TopicPartition, Copied] = {}
        for partition in partitions:
            topic, number = partition
            if topic in view.roster:
                copied[partition] = self._forward(view, view.roster[topic], number)
                if topic in returned and opposite is not None:
                    copied[partition] = self._merged(copied[partition], view, opposite, returned[topic], number)
            elif topic in returned and opposite is not None:
                copied[partition] = self._backward(opposite, returned[topic], number)
        return copied

    def _forward(self, view: LedgerView, entry: RosterTopic, number: int) -> Copied:
        here = TopicPartition(entry.topic, number)
        known = self._map(view, entry, here, back=False)
        return Copied(
            remote=TopicPartition(entry.remote, number),
            incarnation=entry.incarnation,
            first=known.span.source_first if known else _origin(entry, number),
            floor=0,
            translate=known.to_target if known else None,
            trouble=_trouble(entry, number),
        )

    def _merged(
        self, forward: Copied, view: LedgerView, opposite: LedgerView, entry: RosterTopic, number: int
    ) -> Copied:
        """The same partition, into which the opposite link writes as well."""
        there = TopicPartition(entry.topic, number)
        back = self._map(opposite, entry, there, back=True)
        forth = self._map(view, view.roster[there.topic], there, back=False)
        if back is None or forth is None:
            return forward
        return replace(forward, translate=lambda position: to_target_both_ways(position, forth, back))

    def _backward(self, view: LedgerView, entry: RosterTopic, number: int) -> Copied:
        there = TopicPartition(entry.topic, number)
        known = self._map(view, entry, there, back=True)
        translate: Translates | None = known.to_source if known else None
        return Copied(
            remote=there,
            incarnation=entry.incarnation,
            first=known.span.target_first if known else 0,
            floor=_origin(entry, number),
            translate=translate,
            trouble=_trouble(entry, number),
        )

    def _map(
        self, view: LedgerView, entry: RosterTopic, partition: TopicPartition, *, back: bool
    ) -> PartitionMap | None:
        """The partition's map, unpacked once per state; None while nothing is noted of this incarnation."""
        state = view.states.get(partition)
        if state is None or state.incarnation != entry.incarnation:
            return None
        known = self._maps.get((back, partition))
        if known is None or known[0] is not state:
            known = (state, PartitionMap(state, view.parts_of(partition)))
            self._maps[back, partition] = known
        return known[1]

    # --- what the clusters say --------------------------------------------------------------------------------------

    async def _check_topics(self, copied: dict[TopicPartition, Copied]) -> None:
        """A topic that was created anew since the roster was written is another topic."""
        link = self.ends.link
        here = None if self.without_source else await self.source.refresh({partition.topic for partition in copied})
        there = await self.target.refresh({copy.remote.topic for copy in copied.values()})
        for partition, copy in copied.items():
            if copy.trouble is not None:
                continue
            ids = set(copy.incarnation.split("/"))
            away = None if here is None else _identity(here.get(partition.topic), ids, link.source)
            trouble = away or _identity(there.get(copy.remote.topic), ids, link.target)
            if trouble:
                copied[partition] = replace(copy, trouble=trouble)

    async def _measure_logs(self, copied: dict[TopicPartition, Copied]) -> None:
        """Where the logs of the target begin and end now."""
        remotes = sorted({copy.remote for copy in copied.values() if copy.trouble is None})
        admin = self.ends.target
        ends: Offsets = await asyncio.to_thread(admin.fetch_end_offsets, remotes)
        starts: Offsets = await asyncio.to_thread(admin.fetch_start_offsets, remotes)
        for partition, copy in copied.items():
            if copy.trouble is not None:
                continue
            start, end = starts[copy.remote], ends[copy.remote]
            if isinstance(start, ClusterError) or isinstance(end, ClusterError):
                problem = start if isinstance(start, ClusterError) else end
                copied[partition] = replace(copy, trouble=f"{copy.remote}: its log cannot be measured: {problem}")
            else:
                copied[partition] = replace(
                    copy,
                    floor=max(copy.floor, int(start)),
                    target_start=int(start),
                    target_end=max(int(start), int(end)),
                )


def _origin(entry: RosterTopic, number: int) -> int:
    return entry.origins[number] if number < entry.partitions else 0


def _trouble(entry: RosterTopic, number: int) -> str | None:
    if entry.problem is not None and entry.problem.code in _OTHER_TOPIC:
        return entry.problem.says
    return None if number < entry.partitions else "the partition is not mirrored yet"


def _identity(metadata: TopicMetadata | None, ids: set[str], cluster: str) -> str | None:
    """Why the topic of that name is not the one that the ledger tells of."""
    if metadata is None or metadata.error:
        return f"the topic is not there on {cluster}"
    if metadata.topic_id not in ids:
        return f"the topic was deleted and created again on {cluster}; the ledger tells of the older one"
    return None
