"""Replicator's way of carrying positions: the time of the last record that a group has read. Pure.

The topic and the meaning are Replicator's, the bytes are ours where Replicator's are not public:

    key      group, topic, partition: texts as two bytes of length and UTF-8, the number in four bytes, big-endian
    value    the timestamp of the record before the committed position, eight bytes (as Replicator 5.0 to 5.3 wrote it)
    headers  twinlog.offset: the committed position; twinlog.equal: records of that very time read up to it
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

TIMESTAMPS_TOPIC: Final = "__consumer_timestamps"
PARTITIONS: Final = 50
MOST_KEPT: Final = 1_000_000
"""Records per partition whose times are remembered between two commits (R11)."""

_OFFSET: Final = "twinlog.offset"
_EQUAL: Final = "twinlog.equal"
_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")


class NotATimestamp(ValueError):
    """The bytes are not a timestamp in Twinlog's format."""


@dataclass(frozen=True)
class ConsumerTimestamp:
    """How far a group has read a partition of the source. `offset` and `equal` are unknown in Replicator's records."""

    group: str
    topic: str
    partition: int
    timestamp_ms: int
    offset: int | None = None
    equal: int | None = None

    def key(self) -> bytes:
        return _text(self.group) + _text(self.topic) + _I32.pack(self.partition)

    def value(self) -> bytes:
        return _I64.pack(self.timestamp_ms)

    def headers(self) -> tuple[tuple[str, bytes], ...]:
        """What only we say."""
        known = ((_OFFSET, self.offset), (_EQUAL, self.equal))
        return tuple((name, _I64.pack(number)) for name, number in known if number is not None)

    @classmethod
    def read(
        cls, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]] = ()
    ) -> ConsumerTimestamp:
        if key is None or value is None or len(value) < _I64.size:
            raise NotATimestamp(f"{len(value or b'')} bytes of value are too few")
        try:
            group, rest = _take_text(key)
            topic, rest = _take_text(rest)
            (partition,) = _I32.unpack(rest[: _I32.size])
            extras = {name: _I64.unpack(data)[0] for name, data in headers if name in {_OFFSET, _EQUAL} and data}
        except (struct.error, UnicodeDecodeError) as error:
            raise NotATimestamp(str(error)) from error
        return cls(group, topic, partition, _I64.unpack(value[:8])[0], extras.get(_OFFSET), extras.get(_EQUAL))


@dataclass
class ReadTimes:
    """The times of the records that one consumer read from one partition since its last commit."""

    offsets: list[int] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)  # timestamp, how many in a row have it

    def saw(self, offset: int, timestamp_ms: int) -> None:
        if self.offsets and offset <= self.offsets[-1]:  # the consumer went back
            self.forget()
        equal = self.times[-1][1] + 1 if self.times and self.times[-1][0] == timestamp_ms else 1
        self.offsets.append(offset)
        self.times.append((timestamp_ms, equal))
        if len(self.offsets) > 2 * MOST_KEPT:
            del self.offsets[:MOST_KEPT], self.times[:MOST_KEPT]

    def committed(self, position: int) -> tuple[int, int] | None:
        """Time of the last record before a position, and how many in a row have it; older ones are forgotten."""
        index = bisect_right(self.offsets, position - 1) - 1
        if index < 0:
            return None
        stamp = self.times[index]
        # The last one stays: the same position may be committed again.
        del self.offsets[:index], self.times[:index]
        return stamp

    def forget(self) -> None:
        """Begin anew: the partition was taken away, or the consumer went elsewhere."""
        self.offsets.clear()
        self.times.clear()


def _text(text: str) -> bytes:
    data = text.encode()
    return _I16.pack(len(data)) + data


def _take_text(data: bytes) -> tuple[str, bytes]:
    (size,) = _I16.unpack(data[:2])
    if size < 0 or len(data) < 2 + size:
        raise NotATimestamp("the key is cut short")
    return data[2 : 2 + size].decode(), data[2 + size :]
