"""Fetch, by hand: incremental sessions, topic ids, raw batches.

Runs on executors. Version 13 names topics by id, so a topic that was deleted and created again can never be mistaken
for the old one (R7); version 12 (brokers before 3.1) names them by name. A fetch session (KIP-227) lets both sides
speak only of partitions that changed: the cost of a poll grows with the partitions that have data, not with all.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.broker_connection import BrokerConnection
from twinlog.wire.frames import FrameReader, compact_string, unsigned_varint

_FETCH: Final = 1
_HEAD: Final = struct.Struct(">iiiibii")
_PARTITION: Final = struct.Struct(">iiqiqi")
_DIVERGING_EPOCH_TAG: Final = 0


@dataclass
class FetchPosition:
    """Where one partition is read next, and what we know of its leader."""

    topic_id: str
    offset: int
    leader_epoch: int = -1
    last_epoch: int = -1  # leader epoch of the last batch read: lets the broker notice a truncated log
    max_bytes: int = 1 << 20


@dataclass(frozen=True)
class FetchedPartition:
    """What one fetch brought for one partition."""

    partition: TopicPartition
    error: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]]  # (producer id, first offset), ordered by first offset
    diverging_end: int | None  # the broker's log left ours at this offset
    records: memoryview


class Positions(dict[TopicPartition, FetchPosition]):
    """What is to be read, and which of it may have changed since the broker was told."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: set[TopicPartition] = set()

    def __setitem__(self, key: TopicPartition, position: FetchPosition) -> None:
        self.touched.add(key)
        super().__setitem__(key, position)

    def __delitem__(self, key: TopicPartition) -> None:
        self.touched.add(key)
        super().__delitem__(key)

    def pop(self, key: TopicPartition, *default: FetchPosition | None) -> FetchPosition | None:  # type: ignore[override]
        """As of every dictionary."""
        self.touched.add(key)
        return super().pop(key, *default)

    def clear(self) -> None:
        """As of every dictionary."""
        self.touched |= self.keys()
        super().clear()

    def replace(self, positions: Mapping[TopicPartition, FetchPosition]) -> None:
        """Read these from now on, and nothing else."""
        self.clear()
        for key, position in positions.items():
            self[key] = position


@dataclass
class FetchSession:
    """One connection's conversation about a set of partitions.

    `positions` is what we want read; the session remembers what it told the broker and says only what changed. What it
    does for a fetch grows with the partitions that moved, not with all: a position may be moved after an answer that
    holds its partition; whoever moves another one puts it into `positions` again.
    """

    max_bytes: int
    max_wait_ms: int
    min_bytes: int
    read_committed: bool
    lasting: bool = True
    positions: Positions = field(default_factory=Positions)
    _session_id: int = 0
    _epoch: int = 0
    _throttle_ms: int = 0
    _told: dict[TopicPartition, tuple[str, int, int, int]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)  # topic id -> topic, of everything told

    def reset(self) -> None:
        """Start a new session: after a lost connection, or when the broker forgot this one."""
        self._session_id = self._epoch = 0
        self._told.clear()
        self._names.clear()
        self.positions.touched = set(self.positions)

    async def poll(self, connection: BrokerConnection, timeout_s: float) -> list[FetchedPartition]:
        """One fetch. Raises what the connection raises; partition errors come inside the answer."""
        version = min(13, connection.highest_version(_FETCH))
        body = self._request(version)
        wait_s = self.max_wait_ms / 1000 + timeout_s
        reader = await connection.exchange(_FETCH, version, body, flexible=True, timeout_s=wait_s)
        fetched = self._read(reader, version)
        connection.note_throttle(self._throttle_ms)
        return fetched

    def _request(self, version: int) -> list[bytes]:
        changed: dict[tuple[str, str], list[bytes]] = {}
        gone: dict[tuple[str, str], list[int]] = {}
        touched, self.positions.touched = self.positions.touched, set()
        for key in touched:
            at = self.positions.get(key)
            if at is None:
                if (told := self._told.pop(key, None)) is not None:
                    gone.setdefault((key.topic, told[0]), []).append(key.partition)
                continue
            now = (at.topic_id, at.offset, at.leader_epoch, at.max_bytes)
            before = self._told.get(key)
            if before != now:
                self._told[key] = now
                self._names[at.topic_id] = key.topic
                if before is not None and before[0] != at.topic_id and version >= 13:
                    # Created anew: for the broker another partition, and the old one would answer with errors for ever.
                    gone.setdefault((key.topic, before[0]), []).append(key.partition)
                where = (key.partition, at.leader_epoch, at.offset, at.last_epoch, -1, at.max_bytes)
                changed.setdefault((key.topic, at.topic_id), []).append(_PARTITION.pack(*where) + b"\x00")

        body = [
            _HEAD.pack(
                -1,
                self.max_wait_ms,
                self.min_bytes,
                self.max_bytes,
                int(self.read_committed),
                self._session_id,
                self._epoch if self.lasting else -1,
            ),
            unsigned_varint(len(changed) + 1),
        ]
        for (name, topic_id), partitions in changed.items():
            body += [_topic(name, topic_id, version), unsigned_varint(len(partitions) + 1), *partitions, b"\x00"]
        body.append(unsigned_varint(len(gone) + 1 if self._session_id else 1))
        for (name, topic_id), numbers in gone.items() if self._session_id else ():
            body += [
                _topic(name, topic_id, version),
                unsigned_varint(len(numbers) + 1),
                struct.pack(f">{len(numbers)}i", *numbers),
                b"\x00",
            ]
        body.append(b"\x01\x00")  # no rack, no tags
        return body

    def _read(self, reader: FrameReader, version: int) -> list[FetchedPartition]:
        self._throttle_ms = reader.i32()
        error, session_id = reader.i16(), reader.i32()
        if error in codes.SESSION_LOST:
            self.reset()
            return []
        if error:
            self.reset()
            raise FetchRefused(error)
        fetched = [part for _ in range(reader.uvarint() - 1) for part in self._read_topic(reader, version)]
        self.positions.touched.update(part.partition for part in fetched)  # they are about to be moved
        if session_id == 0:
            self.reset()  # the broker has no room for a session: say everything each time
        else:
            self._session_id = session_id
            self._epoch = self._epoch + 1 if self._epoch < 0x7FFFFFFF else 1
        return fetched

    def _read_topic(self, reader: FrameReader, version: int) -> list[FetchedPartition]:
        by_id = version >= 13
        name = reader.uuid() if by_id else reader.compact_string() or ""
        topic = self._names.get(name, "") if by_id else name
        parts = [_read_partition(reader, topic) for _ in range(reader.uvarint() - 1)]
        reader.tags()
        # What we stopped asking for while the answer was under way is nobody's: least of a topic created in its place.
        wanted = [(part, self.positions.get(part.partition)) for part in parts]
        return [part for part, at in wanted if at is not None and (not by_id or at.topic_id == name)]


class FetchRefused(Exception):
    """The whole fetch was refused; the code tells why."""

    def __init__(self, code: int) -> None:
        super().__init__(codes.name_of(code))
        self.code = code


def _topic(name: str, topic_id: str, version: int) -> bytes:
    return uuid.UUID(topic_id).bytes if version >= 13 else compact_string(name)


def _read_partition(reader: FrameReader, topic: str) -> FetchedPartition:
    index, error = reader.i32(), reader.i16()
    high, stable, start = reader.i64(), reader.i64(), reader.i64()
    aborted: list[tuple[int, int]] = []
    for _ in range(reader.uvarint() - 1):
        aborted.append((reader.i64(), reader.i64()))
        reader.tags()
    reader.i32()  # preferred read replica: we name no rack
    records = reader.take(max(0, reader.uvarint() - 1))
    diverging = reader.tags().get(_DIVERGING_EPOCH_TAG)
    diverging_end = None
    if diverging is not None:
        diverging_end = struct.unpack_from(">iq", diverging)[1]
    aborted.sort(key=lambda pair: pair[1])
    return FetchedPartition(TopicPartition(topic, index), error, high, stable, start, aborted, diverging_end, records)
