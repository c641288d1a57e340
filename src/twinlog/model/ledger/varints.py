"""Whole numbers in as few bytes as they need: seven bits per byte, the lowest first. Pure."""

from __future__ import annotations


def put(into: bytearray, number: int) -> None:
    """Append a number that is not negative."""
    while number > 0x7F:
        into.append(number & 0x7F | 0x80)
        number >>= 7
    into.append(number)


def put_signed(into: bytearray, number: int) -> None:
    """Append any number, zigzag-coded: 0, -1, 1, -2 are written as 0, 1, 2, 3."""
    put(into, number << 1 if number >= 0 else (-number << 1) - 1)


def take(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where the next one begins. Raises IndexError when it is cut off."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def take_signed(data: bytes, at: int) -> tuple[int, int]:
    """The same for what `put_signed` wrote."""
    number, at = take(data, at)
    return (-(number + 1) >> 1 if number & 1 else number >> 1), at
