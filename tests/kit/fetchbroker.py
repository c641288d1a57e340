"""The broker's side of a fetch, written from the protocol: decodes requests, keeps a session, encodes answers."""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass, field

from twinlog.wire.fetch import FetchedPartition, FetchSession
from twinlog.wire.frames import FrameReader, compact_string, unsigned_varint

Key = tuple[str, int]  # topic id (version 13) or name (version 12), partition


@dataclass(frozen=True)
class Asked:
    """What a request says of one partition."""

    leader_epoch: int
    offset: int
    last_epoch: int
    max_bytes: int


@dataclass(frozen=True)
class Told:
    """What an answer says of one partition."""

    key: Key
    records: bytes = b""
    error: int = 0
    marks: tuple[int, int, int] = (0, 0, 0)  # high watermark, last stable offset, log start
    aborted: tuple[tuple[int, int], ...] | None = None
    diverging: tuple[int, int] | None = None  # leader epoch and its end offset


@dataclass(frozen=True)
class Request:
    """A decoded request."""

    limits: tuple[int, int, int, int]  # replica, longest wait, least bytes, most bytes
    isolation: int
    session_id: int
    epoch: int
    asked: dict[Key, Asked]
    forgotten: list[Key]


@dataclass
class FetchBroker:
    """One broker with at most one fetch session."""

    version: int
    session_id: int = 0
    epoch: int = 0
    partitions: dict[Key, Asked] = field(default_factory=dict)
    has_room: bool = True

    def poll(self, session: FetchSession, told: list[Told]) -> list[FetchedPartition]:
        """One round trip."""
        return session._read(FrameReader(self.answer(self.receive(session), told)), self.version)

    def receive(self, session: FetchSession) -> Request:
        return decode(b"".join(session._request(self.version)), self.version)

    def answer(self, request: Request, told: list[Told]) -> bytes:
        """Follow the session rules: epoch 0 opens, a wrong id or epoch is refused, -1 closes."""
        if request.epoch in {0, -1}:
            self.partitions = dict(request.asked)
            opens = request.epoch == 0 and self.has_room
            self.session_id, self.epoch = (self.session_id + 1, 1) if opens else (0, 0)
            return encode(0, self.session_id, told, self.version)
        if request.session_id != self.session_id:
            return encode(70, 0, [], self.version)
        if request.epoch != self.epoch:
            return encode(71, 0, [], self.version)
        self.partitions |= request.asked
        for key in request.forgotten:  # after what is new, as brokers do it
            del self.partitions[key]
        self.epoch += 1
        return encode(0, self.session_id, told, self.version)

    def restart(self) -> None:
        """Forget the session, as a broker does."""
        self.session_id, self.epoch, self.partitions = self.session_id + 100, 1, {}


def decode(body: bytes, version: int) -> Request:
    reader = FrameReader(body)
    limits = (reader.i32(), reader.i32(), reader.i32(), reader.i32())
    isolation, session_id, epoch = reader.i8(), reader.i32(), reader.i32()
    asked: dict[Key, Asked] = {}
    for _ in range(reader.uvarint() - 1):
        topic = _topic(reader, version)
        for _ in range(reader.uvarint() - 1):
            number, leader_epoch, offset, last_epoch = reader.i32(), reader.i32(), reader.i64(), reader.i32()
            assert reader.i64() == -1  # log start: only followers tell it
            key = (topic, number)
            assert key not in asked
            asked[key] = Asked(leader_epoch, offset, last_epoch, reader.i32())
            assert reader.tags() == {}
        assert reader.tags() == {}
    forgotten: list[Key] = []
    for _ in range(reader.uvarint() - 1):
        topic = _topic(reader, version)
        forgotten += [(topic, reader.i32()) for _ in range(reader.uvarint() - 1)]
        assert reader.tags() == {}
    assert reader.compact_string() == ""
    assert reader.tags() == {}
    assert reader.at == len(body)
    return Request(limits, isolation, session_id, epoch, asked, forgotten)


def _topic(reader: FrameReader, version: int) -> str:
    return reader.uuid() if version >= 13 else reader.compact_string() or ""


def encode(error: int, session_id: int, told: list[Told], version: int) -> bytes:
    topics: dict[str, list[Told]] = {}
    for one in told:
        topics.setdefault(one.key[0], []).append(one)
    out = [struct.pack(">ihi", 0, error, session_id), unsigned_varint(len(topics) + 1)]
    for topic, parts in topics.items():
        out += [uuid.UUID(topic).bytes if version >= 13 else compact_string(topic), unsigned_varint(len(parts) + 1)]
        out += [_encode_partition(part) for part in parts]
        out.append(b"\x00")
    return b"".join([*out, b"\x00"])


def _encode_partition(part: Told) -> bytes:
    out = [struct.pack(">ihqqq", part.key[1], part.error, *part.marks)]
    if part.aborted is None:
        out.append(b"\x00")
    else:
        out.append(unsigned_varint(len(part.aborted) + 1))
        out += [struct.pack(">qq", *pair) + b"\x00" for pair in part.aborted]
    out += [struct.pack(">i", -1), unsigned_varint(len(part.records) + 1), part.records]
    if part.diverging is None:
        out.append(b"\x00")
    else:
        ends = struct.pack(">iq", *part.diverging) + b"\x00"
        out.append(b"\x01\x00" + unsigned_varint(len(ends)) + ends)
    return b"".join(out)
