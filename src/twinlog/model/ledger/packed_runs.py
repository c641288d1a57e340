"""The offset map as bytes: about one byte per transaction, where JSON needs thirty. Pure.

    version │ first record │ last record │ stretches │ stretch │ stretch │ …
            │ source target│ source target│          │

A stretch is written as a difference to the one before it. All numbers are varints of 7 bits per byte; one that may be
negative is zigzag-coded. Most holes are equal (one marker behind each transaction), so a stretch says only where it
differs from what the one before it lets expect:

    length << 3 | flags      1: another hole on the source   2: another hole on the target   4: more than one run
    [source hole] [target hole]
    [times - 2 << 2 | flags  1, 2: the holes between its runs are not those before it] [source hole] [target hole]

An empty map is no bytes at all. The tail of a `RunMap` is written as the last stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from twinlog.model.ledger.runs import RunMap, Stretch
from twinlog.model.ledger.varints import put, put_signed, take, take_signed

VERSION: Final = 1


class Edges(NamedTuple):
    """The first and the last record of a map, on both sides."""

    first_source: int
    first_target: int
    last_source: int
    last_target: int


def pack(runs: RunMap) -> bytes:
    """The bytes of a map; `unpack` reads them."""
    return Packer().pack(runs)


@dataclass
class Packer:
    """Packs one map again and again while it grows: what was packed before is not touched again.

    Only the last stretch and the tail may still change, so all before them are kept as bytes.
    """

    _body: bytearray = field(default_factory=bytearray)
    _kept: int = 0  # stretches in `_body`
    _after: _Place | None = None

    def pack(self, runs: RunMap) -> bytes:
        """The bytes of the map as it is now. It must be the map of the calls before, grown."""
        stretches = runs.as_stretches()
        if not stretches:
            return b""
        final = max(self._kept, len(runs.stretches) - 1)
        self._after = _append(self._body, stretches[self._kept : final], self._after)
        self._kept = final
        first, last = stretches[0], stretches[-1].run(stretches[-1].times - 1)
        packed = bytearray([VERSION])
        put_signed(packed, first.source)
        put_signed(packed, first.target)
        put_signed(packed, last.source_end - 1 - first.source)
        put_signed(packed, last.target_end - 1 - first.target)
        put_signed(packed, len(stretches))
        packed += self._body
        _append(packed, stretches[final:], self._after)
        return bytes(packed)


def edges_of(packed: bytes) -> Edges | None:
    """The first and the last record of a packed map, without unpacking it; None when it is empty."""
    if not packed:
        return None
    source, target, length, far_length, _, _ = _head(packed)
    return Edges(source, target, source + length, target + far_length)


def unpack(packed: bytes) -> RunMap:
    """Read what `pack` wrote. Raises ValueError when the bytes are not a map."""
    if not packed:
        return RunMap()
    source_end, target_end, _, _, count, at = _head(packed)
    expected_source = expected_target = 0
    stretches: list[Stretch] = []
    make = Stretch._make
    try:
        for _ in range(count):
            token = packed[at]
            at += 1
            if token > 0x7F:
                token, at = take(packed, at - 1)
            length = token >> 3
            source_hole, target_hole = expected_source, expected_target
            if token & 1:
                source_hole, at = take_signed(packed, at)
            if token & 2:
                target_hole, at = take_signed(packed, at)
            source, target = source_end + source_hole, target_end + target_hole
            expected_source, expected_target = source_hole, target_hole
            if token & 4:
                more, at = take(packed, at)
                if more & 1:
                    expected_source, at = take_signed(packed, at)
                if more & 2:
                    expected_target, at = take_signed(packed, at)
                times = (more >> 2) + 2
                source_step, target_step = length + expected_source, length + expected_target
                source_end = source + (times - 1) * source_step + length
                target_end = target + (times - 1) * target_step + length
                stretches.append(make((source, target, length, source_step, target_step, times)))
            else:
                source_end, target_end = source + length, target + length
                stretches.append(make((source, target, length, length, length, 1)))
    except IndexError:
        raise ValueError("the bytes of the offset map end too early") from None
    return RunMap.of(stretches)


class _Place(NamedTuple):
    """Where the next stretch is expected: the ends of the last one, and its holes."""

    source_end: int
    target_end: int
    source_hole: int
    target_hole: int


def _append(into: bytearray, stretches: Sequence[Stretch], after: _Place | None) -> _Place | None:
    """Append the bytes of some stretches; returns what the next one is compared with."""
    if not stretches:
        return after
    expected = after or _Place(stretches[0].source, stretches[0].target, 0, 0)
    source_end, target_end, expected_source, expected_target = expected
    for source, target, length, source_step, target_step, times in stretches:
        source_hole, target_hole = source - source_end, target - target_end
        flags = (source_hole != expected_source) | (target_hole != expected_target) << 1 | (times > 1) << 2
        put(into, length << 3 | flags)
        if flags & 1:
            put_signed(into, source_hole)
        if flags & 2:
            put_signed(into, target_hole)
        expected_source, expected_target = source_hole, target_hole
        source_end, target_end = source + length, target + length
        if times > 1:
            between, far_between = source_step - length, target_step - length
            flags = (between != source_hole) | (far_between != target_hole) << 1
            put(into, (times - 2) << 2 | flags)
            if flags & 1:
                put_signed(into, between)
            if flags & 2:
                put_signed(into, far_between)
            expected_source, expected_target = between, far_between
            source_end += (times - 1) * source_step
            target_end += (times - 1) * target_step
    return _Place(source_end, target_end, expected_source, expected_target)


def _head(packed: bytes) -> tuple[int, int, int, int, int, int]:
    """First source and target, distances to the last ones, stretches, and where they begin."""
    if packed[0] != VERSION:
        raise ValueError(f"version {packed[0]} of the offset map is not known here")
    numbers, at = [], 1
    try:
        for _ in range(5):
            number, at = take_signed(packed, at)
            numbers.append(number)
    except IndexError:
        raise ValueError("the bytes of the offset map end too early") from None
    source, target, length, far_length, count = numbers
    return source, target, length, far_length, count, at
