"""Positions of consumer groups, by hand: thousands of groups in a few requests.

Runs in an asyncio loop (the service, the commands). The ordinary client asks for one group per request and builds an
object per partition; OffsetFetch of version 8 takes many groups of one coordinator at once, and FindCoordinator of
version 4 finds the coordinators of many. Writing is one OffsetCommit per group, many under way.

Classic, KIP-848 ("consumer") and streams groups keep positions in the same place and are asked in the same way.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeVar

from twinlog.errors import AccessDenied, BrokerAway, BrokerRefused, ClusterError, ClusterUnreachable
from twinlog.model.backoff import Backoff
from twinlog.model.groups.observed import GroupPosition, ListedGroup
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.broken import why
from twinlog.wire.broker_connection import BrokerConnection
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, compact_string, unsigned_varint

_LIST_GROUPS: Final = 16
_LIST_VERSIONS: Final = (3, 5)  # 4 tells states, 5 tells types
_FIND_COORDINATOR: Final = (10, 4)
_OFFSET_FETCH: Final = (9, 8)
_OFFSET_COMMIT: Final = (8, 8)
_GROUP: Final = 0  # kind of coordinator

_PARTITION: Final = struct.Struct(">iqiBhB")  # partition, offset, leader epoch, length of metadata, error, tags
_PARTITION_HEAD_BYTES: Final = 16

_GROUPS_PER_FETCH: Final = 100
_UNDER_WAY: Final = 4
# A broker answers the requests of one connection one after the other, and each commit waits for its write.
_LANES_OF_COMMITS: Final = 4
_ATTEMPTS: Final = 6
_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 10.0
_LANES: Final = tuple(f"groups-{number}" for number in range(_LANES_OF_COMMITS))

Positions = dict[TopicPartition, GroupPosition]
T = TypeVar("T")


class CommitRefusal(NamedTuple):
    """Why one partition's position was not taken."""

    partition: TopicPartition
    error: int


class _Moved(Exception):
    """The coordinator is not (any more, or not yet) where we thought."""


@dataclass
class GroupCoordinators:
    """All groups of one cluster. Remembers who coordinates which group and asks again when that moved."""

    cluster: Cluster
    _nodes: dict[str, int] = field(default_factory=dict)

    # --- asking ---------------------------------------------------------------------------------------------------

    async def list_groups(self) -> dict[str, ListedGroup]:
        """Every group of every broker, whatever its kind and state."""
        await self._with_retries(lambda: self.cluster.refresh(None))
        answers = await asyncio.gather(*(self._with_retries(partial(self._list, node)) for node in self.cluster.nodes))
        return {group.name: group for answer in answers for group in answer}

    async def fetch_positions(self, groups: Iterable[str]) -> dict[str, Positions | ClusterError]:
        """All committed positions of these groups. A group that the cluster does not know has none."""
        return await self._by_coordinator(groups, _GROUPS_PER_FETCH, _LANES[:1], self._fetch)

    async def commit_positions(
        self, wanted: Mapping[str, Positions]
    ) -> dict[str, tuple[CommitRefusal, ...] | ClusterError]:
        """Write positions into groups without members; the broker itself refuses a group that has some."""

        async def commit(
            connection: BrokerConnection, groups: Sequence[str]
        ) -> Mapping[str, tuple[CommitRefusal, ...]]:
            return {group: await self._commit(connection, group, wanted[group]) for group in groups}

        return await self._by_coordinator(wanted, 1, _LANES, commit)

    # --- one request each -------------------------------------------------------------------------------------------

    async def _list(self, node: int) -> list[ListedGroup]:
        connection = await self.cluster.connection(node, _LANES[0])
        low, high = _LIST_VERSIONS
        version = min(high, connection.highest_version(_LIST_GROUPS))
        if version < low:
            raise BrokerRefused(self.cluster.alias, "it is too old to list groups; Kafka 2.4 or newer is needed")
        body = [b"\x01"] * max(0, version - 3) + [b"\x00"]  # any state, any type
        reader = await connection.exchange(_LIST_GROUPS, version, body, flexible=True, timeout_s=self.cluster.timeout_s)
        reader.i32()  # throttle
        error = reader.i16()
        if error in codes.PASSING:
            raise _Moved(codes.name_of(error))
        if error:
            raise self._refusal(error, "listing groups: Describe on the cluster or on the groups is needed")
        listed: list[ListedGroup] = []
        for _ in range(reader.uvarint() - 1):
            name, protocol = reader.compact_string() or "", reader.compact_string() or ""
            state = reader.compact_string() or "" if version >= 4 else ""
            kind = reader.compact_string() or "" if version >= 5 else "classic"
            reader.tags()
            listed.append(ListedGroup(name, kind.lower(), state, protocol))
        return listed

    async def _fetch(
        self, connection: BrokerConnection, groups: Sequence[str]
    ) -> Mapping[str, Positions | ClusterError]:
        if connection.highest_version(_OFFSET_FETCH[0]) < _OFFSET_FETCH[1]:
            raise BrokerRefused(self.cluster.alias, "it cannot tell positions of many groups; Kafka 3.0 is needed")
        body = [unsigned_varint(len(groups) + 1)]
        body += [compact_string(group) + b"\x00\x00" for group in groups]  # all topics
        body.append(b"\x00\x00")  # pending transactions do not hold the answer back
        reader = await connection.exchange(*_OFFSET_FETCH, body, flexible=True, timeout_s=self.cluster.timeout_s)
        reader.i32()  # throttle
        answers: dict[str, Positions | ClusterError] = {}
        for _ in range(reader.uvarint() - 1):
            group, positions, error = _read_group(reader)
            if error in codes.PASSING:
                raise _Moved(codes.name_of(error))
            if error == codes.GROUP_ID_NOT_FOUND:
                positions, error = {}, codes.NONE
            answers[group] = self._refusal(error, f"group {group}: Describe is needed") if error else positions
        return answers

    async def _commit(
        self, connection: BrokerConnection, group: str, positions: Positions
    ) -> tuple[CommitRefusal, ...]:
        topics: dict[str, list[tuple[int, GroupPosition]]] = {}
        for (topic, partition), position in positions.items():
            topics.setdefault(topic, []).append((partition, position))
        # No generation, no member, no instance: who is not a member may write only while nobody is one.
        body = [compact_string(group), b"\xff\xff\xff\xff\x01\x00", unsigned_varint(len(topics) + 1)]
        for topic, parts in topics.items():
            body += [compact_string(topic), unsigned_varint(len(parts) + 1)]
            for partition, position in parts:
                body.append(struct.pack(">iqi", partition, position.offset, -1))
                body.append(compact_string(position.metadata) + b"\x00")
            body.append(b"\x00")
        body.append(b"\x00")
        reader = await connection.exchange(*_OFFSET_COMMIT, body, flexible=True, timeout_s=self.cluster.timeout_s)
        reader.i32()  # throttle
        refused: list[CommitRefusal] = []
        for _ in range(reader.uvarint() - 1):
            topic = reader.compact_string() or ""
            for _ in range(reader.uvarint() - 1):
                partition, error = reader.i32(), reader.i16()
                reader.tags()
                if error in codes.PASSING:
                    raise _Moved(codes.name_of(error))
                if error:
                    refused.append(CommitRefusal(TopicPartition(topic, partition), error))
            reader.tags()
        return tuple(refused)

    # --- who to ask ---------------------------------------------------------------------------------------------------

    async def _by_coordinator(
        self,
        groups: Iterable[str],
        size: int,
        lanes: Sequence[str],
        ask: Callable[[BrokerConnection, Sequence[str]], Awaitable[Mapping[str, T | ClusterError]]],
    ) -> dict[str, T | ClusterError]:
        """Ask each group's coordinator, some groups per request; whoever moved is looked up and asked again."""
        answers: dict[str, T | ClusterError] = {}
        left = list(dict.fromkeys(groups))
        backoff, trouble = Backoff(_PAUSE_S, _LONGEST_PAUSE_S), ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                await asyncio.sleep(backoff.next_s())
            answers |= await self._find([group for group in left if group not in self._nodes])
            by_node: dict[int, list[str]] = {}
            for group in left:
                if group in self._nodes:
                    by_node.setdefault(self._nodes[group], []).append(group)
            parts = [(n, some[i : i + size]) for n, some in by_node.items() for i in range(0, len(some), size)]
            turns = {(node, lane): asyncio.Semaphore(_UNDER_WAY) for node in by_node for lane in lanes}
            asking = (
                self._ask(turns, (node, lanes[number % len(lanes)]), part, ask)
                for number, (node, part) in enumerate(parts)
            )
            for answered, problem in await asyncio.gather(*asking):
                answers |= answered
                trouble = problem or trouble
            left = [group for group in left if group not in answers]
            if not left:
                return answers
        raise ClusterUnreachable(self.cluster.alias, f"the coordinator of {left[0]} does not answer: {trouble}")

    async def _ask(
        self,
        turns: Mapping[tuple[int, str], asyncio.Semaphore],
        where: tuple[int, str],
        groups: Sequence[str],
        ask: Callable[[BrokerConnection, Sequence[str]], Awaitable[Mapping[str, T]]],
    ) -> tuple[Mapping[str, T], str]:
        """One request, when it is its turn; without an answer the groups are looked up anew."""
        async with turns[where]:
            try:
                return await ask(await self.cluster.connection(*where), groups), ""
            except (_Moved, ClusterUnreachable) as error:
                for group in groups:
                    self._nodes.pop(group, None)
                return {}, why(error)

    async def _find(self, groups: Sequence[str]) -> dict[str, ClusterError]:
        """Find the coordinators of groups; what is refused for good is the answer for that group."""
        refused: dict[str, ClusterError] = {}
        for begin in range(0, len(groups), 1000):
            part = groups[begin : begin + 1000]
            connection = await self.cluster.any_connection()
            if connection.highest_version(_FIND_COORDINATOR[0]) < _FIND_COORDINATOR[1]:
                raise BrokerRefused(self.cluster.alias, "it is too old to find many coordinators; Kafka 3.0 is needed")
            body = [bytes([_GROUP]), unsigned_varint(len(part) + 1), *map(compact_string, part), b"\x00"]
            try:
                reader = await connection.exchange(
                    *_FIND_COORDINATOR, body, flexible=True, timeout_s=self.cluster.timeout_s
                )
            except BrokerAway:
                continue  # asked again at the next attempt
            reader.i32()  # throttle
            for _ in range(reader.uvarint() - 1):
                group, node = reader.compact_string() or "", reader.i32()
                host, port, error = reader.compact_string() or "", reader.i32(), reader.i16()
                reader.compact_string()  # message
                reader.tags()
                if error == codes.NONE:
                    self._nodes[group] = node
                    self.cluster.nodes.setdefault(node, (host, port))
                elif error not in codes.PASSING:
                    refused[group] = self._refusal(error, f"group {group}: Describe is needed")
        return refused

    async def _with_retries(self, ask: Callable[[], Awaitable[T]]) -> T:
        backoff = Backoff(_PAUSE_S, _LONGEST_PAUSE_S)
        for attempt in range(_ATTEMPTS):
            try:
                return await ask()
            except (_Moved, BrokerAway) as error:
                if attempt == _ATTEMPTS - 1:
                    raise ClusterUnreachable(self.cluster.alias, why(error)) from error
            await asyncio.sleep(backoff.next_s())
        raise AssertionError("unreachable")

    def _refusal(self, error: int, needed: str) -> ClusterError:
        if error in {codes.GROUP_AUTHORIZATION_FAILED, codes.CLUSTER_AUTHORIZATION_FAILED}:
            return AccessDenied(self.cluster.alias, f"{codes.name_of(error)}: {needed}")
        return BrokerRefused(self.cluster.alias, f"{needed.partition(':')[0]}: {codes.name_of(error)}")


def _read_group(reader: FrameReader) -> tuple[str, Positions, int]:
    """One group of an answer. Tens of thousands of partitions pass here in every cycle, nearly all without metadata."""
    group = reader.compact_string() or ""
    positions: Positions = {}
    data = reader.data
    for _ in range(reader.uvarint() - 1):
        topic = reader.compact_string() or ""
        for _ in range(reader.uvarint() - 1):
            # The leader epoch is of the other cluster: it would mean nothing there.
            partition, offset, _epoch, plain, error, tags = _PARTITION.unpack_from(data, reader.at)
            if plain <= 1 and not tags:  # metadata is null or empty
                reader.at += _PARTITION.size
                metadata = ""
            else:
                reader.at += _PARTITION_HEAD_BYTES
                metadata, error = reader.compact_string() or "", reader.i16()
                reader.tags()
            if offset >= 0 and not error:
                positions[TopicPartition(topic, partition)] = GroupPosition(offset, metadata)
        reader.tags()
    error = reader.i16()
    reader.tags()
    return group, positions, error
