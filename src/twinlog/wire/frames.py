"""Reading and writing the protocol's primitive types, old (plain) and new (flexible: compact lengths, tagged fields).

Pure; used by the hand-written requests of this room. The hot requests are written by hand because a fetch answer must
become slices of one buffer, not a tree of objects.
"""

from __future__ import annotations

import struct
import uuid
from typing import Final

_I8: Final = struct.Struct(">b")
_I16: Final = struct.Struct(">h")
_I32: Final = struct.Struct(">i")
_I64: Final = struct.Struct(">q")


def unsigned_varint(value: int) -> bytes:
    """Encode a length or count of a flexible message."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string(text: str | None) -> bytes:
    """A plain (16-bit length) string; None is length -1."""
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return _I16.pack(len(data)) + data


def compact_string(text: str | None) -> bytes:
    """A flexible string; None is length 0."""
    if text is None:
        return b"\x00"
    data = text.encode()
    return unsigned_varint(len(data) + 1) + data


class FrameReader:
    """A cursor over one answer. Bytes come out as views into it: nothing is copied."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes | bytearray, at: int = 0) -> None:
        self.data = memoryview(data)
        self.at = at

    def i8(self) -> int:
        value: int = _I8.unpack_from(self.data, self.at)[0]
        self.at += 1
        return value

    def i16(self) -> int:
        value: int = _I16.unpack_from(self.data, self.at)[0]
        self.at += 2
        return value

    def i32(self) -> int:
        value: int = _I32.unpack_from(self.data, self.at)[0]
        self.at += 4
        return value

    def i64(self) -> int:
        value: int = _I64.unpack_from(self.data, self.at)[0]
        self.at += 8
        return value

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def take(self, size: int) -> memoryview:
        view = self.data[self.at : self.at + size]
        self.at += size
        return view

    def string(self) -> str | None:
        size = self.i16()
        return None if size < 0 else bytes(self.take(size)).decode()

    def compact_string(self) -> str | None:
        size = self.uvarint()
        return None if size == 0 else bytes(self.take(size - 1)).decode()

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=bytes(self.take(16))))

    def tags(self) -> dict[int, memoryview]:
        """The tagged fields at the end of a flexible structure."""
        count = self.uvarint()
        if not count:
            return {}
        return {self.uvarint(): self.take(self.uvarint()) for _ in range(count)}
