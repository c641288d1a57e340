"""Protobuf's bytes: numbers of variable length and fields with a length."""

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_LONGEST = 70


class BrokenBytes(Exception):
    """The bytes are no message of Protobuf."""


class Builder:
    """A message: its fields are printed in the order of their numbers."""

    def __init__(self) -> None:
        self._fields: list[tuple[int, bytes]] = []

    def text(self, number: int, value: str) -> None:
        self.message(number, value.encode("utf-8", "replace"))

    def message(self, number: int, value: bytes) -> None:
        self._fields.append((number, varint(number << 3 | _BYTES) + varint(len(value)) + value))

    def number(self, number: int, value: int) -> None:
        self._fields.append((number, varint(number << 3 | _VARINT) + varint(value & 0xFFFFFFFFFFFFFFFF)))

    def empty(self) -> bool:
        return not self._fields

    def done(self) -> bytes:
        return b"".join(part for _, part in sorted(self._fields, key=lambda field: field[0]))


def varint(value: int) -> bytes:
    """A number, seven bits in each byte."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def fields_of(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field. Raises BrokenBytes."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise BrokenBytes
        if wire == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        size = _SIZES.get(wire)
        if wire == _BYTES:
            size, at = _read_varint(data, at)
        if size is None or at + size > len(data):
            raise BrokenBytes
        yield number, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift >= _LONGEST:
            raise BrokenBytes
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
