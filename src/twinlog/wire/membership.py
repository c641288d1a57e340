"""Membership of a group of any protocol, by hand: join, sync, heartbeat, leave.

Runs in an asyncio loop. The ordinary clients join consumer groups only; a registry elects its leader through a group of
protocol `sr`. Versions are those that every broker from 2.8 to 4.x speaks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from twinlog.errors import AccessDenied
from twinlog.wire import protocol_errors as codes
from twinlog.wire.broker_connection import BrokerConnection
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, string

_FIND_COORDINATOR: Final = (10, 1)
_JOIN: Final = (11, 5)
_HEARTBEAT: Final = (12, 1)
_LEAVE: Final = (13, 1)
_SYNC: Final = (14, 1)
_DESCRIBE: Final = (15, 1)
_GROUP: Final = 0
_LANE: Final = "membership"
_MEMBER_ID_REQUIRED: Final = 79


class MembershipLost(Exception):
    """The coordinator refuses this member or this generation: join again. `code` is Kafka's."""

    def __init__(self, code: int) -> None:
        super().__init__(codes.name_of(code))
        self.code = code

    @property
    def forgotten(self) -> bool:
        """Whether the coordinator does not know the member any more: it needs another member id."""
        return self.code == codes.UNKNOWN_MEMBER_ID


class Joined(NamedTuple):
    """A generation of the group. `members` is given to its leader alone, who computes the assignments."""

    generation: int
    leader: str
    member_id: str
    members: dict[str, bytes]

    @property
    def leads(self) -> bool:
        return self.leader == self.member_id


@dataclass
class Membership:
    """One member of one group. Every call raises what the connection raises, and MembershipLost."""

    cluster: Cluster
    group: str
    protocol_type: str
    protocol: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str = ""
    generation: int = -1
    _node: int | None = None

    async def join(self, metadata: bytes) -> Joined:
        """Wait until all members of the group have joined the next generation."""
        while True:
            body = (
                string(self.group),
                struct.pack(">ii", self.session_timeout_ms, self.rebalance_timeout_ms),
                string(self.member_id),
                string(None),  # no static membership
                string(self.protocol_type),
                struct.pack(">i", 1),
                string(self.protocol),
                _bytes(metadata),
            )
            # The coordinator answers when everybody is there, or when those who are not have run out of time.
            within_s = (self.session_timeout_ms + self.rebalance_timeout_ms) / 1000 + 5
            reader = await self._ask(_JOIN, body, within_s)
            reader.i32()  # throttle
            error, generation = reader.i16(), reader.i32()
            reader.string()  # protocol
            leader, member_id = reader.string() or "", reader.string() or ""
            if error == _MEMBER_ID_REQUIRED:
                self.member_id = member_id
                continue
            self._check(error)
            self.member_id, self.generation = member_id, generation
            members: dict[str, bytes] = {}
            for _ in range(reader.i32()):
                name = reader.string() or ""
                reader.string()  # static membership
                members[name] = _read_bytes(reader)
            return Joined(generation, leader, member_id, members)

    async def sync(self, assignments: dict[str, bytes]) -> bytes:
        """Give the assignments, if we computed them, and get our own."""
        parts = [string(self.group), struct.pack(">i", self.generation), string(self.member_id)]
        parts.append(struct.pack(">i", len(assignments)))
        for member, assignment in assignments.items():
            parts += [string(member), _bytes(assignment)]
        within_s = (self.session_timeout_ms + self.rebalance_timeout_ms) / 1000 + 5
        reader = await self._ask(_SYNC, parts, within_s)
        reader.i32()  # throttle
        self._check(reader.i16())
        return _read_bytes(reader)

    async def heartbeat(self) -> None:
        """Stay a member. Raises MembershipLost when the group rebalances."""
        body = (string(self.group), struct.pack(">i", self.generation), string(self.member_id))
        reader = await self._ask(_HEARTBEAT, body, self.session_timeout_ms / 1000 / 2)
        reader.i32()  # throttle
        self._check(reader.i16())

    async def leave(self) -> None:
        """Let the others elect at once instead of waiting for the session to end."""
        body = (string(self.group), string(self.member_id))
        await self._ask(_LEAVE, body, 3.0)
        self.member_id = ""

    async def described(self) -> dict[str, tuple[bytes, bytes]]:
        """Members of the group with what they said and what they were given; works for who is no member."""
        reader = await self._ask(_DESCRIBE, (struct.pack(">i", 1), string(self.group)), self.cluster.timeout_s)
        reader.i32()  # throttle
        members: dict[str, tuple[bytes, bytes]] = {}
        for _ in range(reader.i32()):
            self._check(reader.i16())
            for _ in ("group", "state", "protocol type", "protocol"):
                reader.string()
            for _ in range(reader.i32()):
                name = reader.string() or ""
                reader.string()  # client id
                reader.string()  # client host
                members[name] = _read_bytes(reader), _read_bytes(reader)
        return members

    def forget_coordinator(self) -> None:
        """Ask again who coordinates: after a lost connection, or when it moved."""
        self._node = None
        self.cluster.drop(_LANE)

    def _check(self, error: int) -> None:
        if error == codes.NONE:
            return
        if error == codes.GROUP_AUTHORIZATION_FAILED:
            raise AccessDenied(self.cluster.alias, f"Read on group {self.group} is needed")
        if error in {codes.NOT_COORDINATOR, codes.COORDINATOR_NOT_AVAILABLE, codes.COORDINATOR_LOADING}:
            self.forget_coordinator()
        if error == codes.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        raise MembershipLost(error)

    async def _ask(self, api: tuple[int, int], body: Iterable[bytes], within_s: float) -> FrameReader:
        connection = await self._coordinator()
        return await connection.exchange(*api, body, flexible=False, timeout_s=within_s)

    async def _coordinator(self) -> BrokerConnection:
        if self._node is None:
            asked = await self.cluster.any_connection()
            body = (string(self.group), bytes([_GROUP]))
            reader = await asked.exchange(*_FIND_COORDINATOR, body, flexible=False, timeout_s=self.cluster.timeout_s)
            reader.i32()  # throttle
            error = reader.i16()
            reader.string()
            self._check(error)
            node, host, port = reader.i32(), reader.string() or "", reader.i32()
            self.cluster.nodes.setdefault(node, (host, port))
            self._node = node
        return await self.cluster.connection(self._node, _LANE)


def _bytes(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def _read_bytes(reader: FrameReader) -> bytes:
    size = reader.i32()
    return b"" if size <= 0 else bytes(reader.take(size))
