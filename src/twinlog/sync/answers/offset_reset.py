"""Resetting positions of consumer groups on one cluster: observe, plan (pure), apply. Runs in the command.

Only groups without members are touched: a running consumer would overwrite what is written here with its next commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, GroupActive, OffsetsNotWritten
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.group_members import GroupMembers, fetch_members
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.groups.offset_reset import Destination, LogEdges, Reset, ToListed, ToTime, plan_reset
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators
from twinlog.wire.protocol_errors import name_of

Topics = Mapping[str, tuple[int, ...] | None]
"""Topics and which of their partitions; None is all of them."""


@dataclass
class OffsetResets:
    """The groups of one cluster."""

    settings: ClientSettings
    admin: ClusterAdmin

    async def plan(self, groups: Mapping[str, Destination], topics: Topics | None) -> list[Reset]:
        """Plan every group; without `topics`, what each has positions in, or what its file lists."""
        async with self._coordinators() as coordinators:
            await self._refuse_active(coordinators, groups)
            committed = await _committed(coordinators, list(groups))
        resets: list[Reset] = []
        for group, to in groups.items():
            positions = {place: position.offset for place, position in committed[group].items()}
            if topics is not None:
                places = self._places(topics)
            elif isinstance(to, ToListed):
                places = list(to.offsets)
            else:
                places = list(positions)
            resets += plan_reset(group, to, self._edges(places, to), positions)
        return resets

    async def apply(self, resets: Sequence[Reset]) -> None:
        """Write the planned positions. Raises OffsetsNotWritten with what was refused; the others are written."""
        groups = dict.fromkeys(reset.group for reset in resets)
        wanted = {
            group: {r.partition: GroupPosition(r.after) for r in resets if r.group == group and r.after is not None}
            for group in groups
        }
        async with self._coordinators() as coordinators:
            await self._refuse_active(coordinators, groups)
            answers = await coordinators.commit_positions({g: p for g, p in wanted.items() if p})
        problems = []
        for group, answer in answers.items():
            if isinstance(answer, ClusterError):
                problems.append(f"{group}: {answer}")
            else:
                problems += [f"{group} {refusal.partition}: {name_of(refusal.error)}" for refusal in answer]
        if problems:
            raise OffsetsNotWritten(self.admin.cluster, "; ".join(problems))

    @asynccontextmanager
    async def _coordinators(self) -> AsyncIterator[GroupCoordinators]:
        cluster = Cluster(self.settings, "twinlog|reset-offsets")
        try:
            yield GroupCoordinators(cluster)
        finally:
            await cluster.close()

    async def _refuse_active(self, coordinators: GroupCoordinators, groups: Iterable[str]) -> None:
        listed = await coordinators.list_groups()
        active = [group for group in groups if group in listed and listed[group].active]
        for group, answer in (await asyncio.to_thread(fetch_members, self.admin, active)).items():
            members = answer.members if isinstance(answer, GroupMembers) else (str(answer),)
            raise GroupActive(group, self.admin.cluster, listed[group].state, ", ".join(members[:5]) or "unknown")

    def _places(self, topics: Topics) -> list[TopicPartition]:
        places = []
        for topic, answer in self.admin.describe_topics(topics).items():
            if not isinstance(answer, TopicFacts):
                raise answer
            numbers = topics[topic]
            places += [TopicPartition(topic, n) for n in (range(answer.partitions) if numbers is None else numbers)]
        return places

    def _edges(self, places: list[TopicPartition], to: Destination) -> dict[TopicPartition, LogEdges]:
        starts, ends = self.admin.fetch_start_offsets(places), self.admin.fetch_end_offsets(places)
        times = self.admin.fetch_offsets_at(places, to.ms) if isinstance(to, ToTime) else {}
        edges = {}
        for place in places:
            start, end, at_time = starts[place], ends[place], times.get(place)
            for answer in (start, end, at_time):
                if isinstance(answer, ClusterError):
                    raise answer
            edges[place] = LogEdges(int(start), int(end), None if at_time is None else int(at_time))  # type: ignore[arg-type]
        return edges


async def _committed(
    coordinators: GroupCoordinators, groups: list[str]
) -> dict[str, dict[TopicPartition, GroupPosition]]:
    positions: dict[str, dict[TopicPartition, GroupPosition]] = {}
    for group, answer in (await coordinators.fetch_positions(groups)).items():
        if isinstance(answer, ClusterError):
            raise answer
        positions[group] = answer
    return positions
