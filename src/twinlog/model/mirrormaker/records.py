"""MirrorMaker 2's records: heartbeats, checkpoints, offset syncs and Connect's source offsets, byte for byte. Pure.

Java clients and console formatters read what we write here, and we read what MirrorMaker 2 left behind. All numbers are
big-endian, a text is its length in two bytes and UTF-8. Readers look at fields in order and ignore what follows them.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Final

VERSION: Final = 0
_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")
_TWO_I64: Final = struct.Struct(">qq")


class NotReadable(ValueError):
    """Bytes that MirrorMaker 2 did not write, or wrote in a version we do not know."""


@dataclass(frozen=True)
class Heartbeat:
    """`source` is alive and the pair's emitter reaches `target`."""

    source: str
    target: str
    timestamp_ms: int

    def key(self) -> bytes:
        return _text(self.source) + _text(self.target)

    def value(self) -> bytes:
        return _I16.pack(VERSION) + _I64.pack(self.timestamp_ms)

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> Heartbeat:
        keys, values = _Fields(key), _Fields(value)
        values.version()
        return cls(keys.text(), keys.text(), values.i64())


@dataclass(frozen=True)
class Checkpoint:
    """A group's position in both clusters; `topic` is the name on the target."""

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int
    metadata: str = ""

    def key(self) -> bytes:
        return _text(self.group) + _text(self.topic) + _I32.pack(self.partition)

    def value(self) -> bytes:
        return _I16.pack(VERSION) + _TWO_I64.pack(self.upstream, self.downstream) + _text(self.metadata)

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> Checkpoint:
        keys, values = _Fields(key), _Fields(value)
        values.version()
        where = keys.text(), keys.text(), keys.i32()
        return cls(*where, values.i64(), values.i64(), values.text())


@dataclass(frozen=True)
class OffsetSync:
    """The same record in both clusters; `topic` is the name on the source."""

    topic: str
    partition: int
    upstream: int
    downstream: int

    def key(self) -> bytes:
        return _text(self.topic) + _I32.pack(self.partition)

    def value(self) -> bytes:
        """The record's value; this one has no version."""
        return _TWO_I64.pack(self.upstream, self.downstream)

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> OffsetSync:
        keys, values = _Fields(key), _Fields(value)
        return cls(keys.text(), keys.i32(), values.i64(), values.i64())


@dataclass(frozen=True)
class SourceOffset:
    """Connect's memory of one partition: the last source offset that MirrorMaker 2 copied; None when it was deleted."""

    connector: str
    cluster: str
    topic: str
    partition: int
    last: int | None

    def key(self) -> bytes:
        """The record's key. Connect compares bytes, so the order of the fields is the one Java's maps have."""
        where = {"cluster": self.cluster, "partition": self.partition, "topic": self.topic}
        return json.dumps([self.connector, where], separators=(",", ":"), ensure_ascii=False).encode()

    def value(self) -> bytes | None:
        return None if self.last is None else json.dumps({"offset": self.last}, separators=(",", ":")).encode()

    @classmethod
    def read(cls, key: bytes | None, value: bytes | None) -> SourceOffset | None:
        """Read one record; None for the offsets of other connectors, which share the topic."""
        try:
            connector, where = json.loads(key or b"")
            if set(where) != {"cluster", "partition", "topic"}:
                return None
            last = None if value is None else json.loads(value).get("offset")
            return cls(
                str(connector),
                str(where["cluster"]),
                str(where["topic"]),
                int(where["partition"]),
                int(last) if last is not None and int(last) >= 0 else None,
            )
        except (ValueError, TypeError, AttributeError) as error:
            raise NotReadable(f"not a source offset of Connect: {key!r}: {error}") from error


def connect_offsets_topic(source: str) -> str:
    """Where MirrorMaker 2 in dedicated mode keeps its source offsets, on the target; always with dots."""
    return f"mm2-offsets.{source}.internal"


class _Fields:
    """Reads fields in order."""

    def __init__(self, data: bytes | None) -> None:
        if data is None:
            raise NotReadable("a record without key or value")
        self._data = data
        self._at = 0

    def version(self) -> None:
        version = int(_I16.unpack(self._take(2))[0])
        if version != VERSION:
            raise NotReadable(f"version {version} is not known, only {VERSION}")

    def i32(self) -> int:
        return int(_I32.unpack(self._take(4))[0])

    def i64(self) -> int:
        return int(_I64.unpack(self._take(8))[0])

    def text(self) -> str:
        size = int(_I16.unpack(self._take(2))[0])
        try:
            return self._take(size).decode()
        except UnicodeDecodeError as error:
            raise NotReadable(str(error)) from error

    def _take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if size < 0 or len(part) < size:
            raise NotReadable(f"{len(self._data)} bytes are too few")
        self._at += size
        return part


def _text(text: str) -> bytes:
    data = text.encode()
    if len(data) > 32_767:
        raise ValueError(f"{text[:40]}…: {len(data)} bytes do not fit into MirrorMaker 2's format")
    return _I16.pack(len(data)) + data
