"""Records that know who they are: each carries its load, partition, sequence number and a checksum over all the rest.

A record is made from (seed, partition, sequence) alone, plus its time, so two runs with one seed produce equal bytes.

    stamp = "TWIN" | crc32 u32 | flags u8 | seed u32 | partition u32 | sequence u64

The stamp leads the value; when the value is null or empty, the key; when both are spoken for, a header of its own.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

STAMP = struct.Struct(">4sIBIIQ")
STAMP_HEADER = "twin-stamp"
_MAGIC = b"TWIN"
_TIMED = 1
# Half as random as it looks: repeated stretches keep compression codecs busy but effective.
_FILLER = b"".join(zlib.crc32(i.to_bytes(4, "big")).to_bytes(4, "big") * (1 + i % 3) for i in range(24_000))
_MASK = (1 << 64) - 1


class Shape(Enum):
    """PLAIN records are small, equal in form and quick to make; VARIED ones hold every oddity Kafka allows."""

    PLAIN = "plain"
    VARIED = "varied"


class Record(NamedTuple):
    """What a producer sends."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int


class Stamp(NamedTuple):
    """Who a record is."""

    seed: int
    partition: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Damaged:
    """The record does not say who it is, or is not what it says."""

    reason: str


@dataclass(frozen=True, slots=True)
class RecordMaker:
    """Makes the records of one load.

    `keys` limits the keys to that many (for compaction). `timed` takes the timestamp into the checksum; switch it off
    when the topic replaces times by its own.
    """

    seed: int
    shape: Shape = Shape.VARIED
    max_bytes: int = 1_000
    keys: int | None = None
    timed: bool = True

    def record(self, partition: int, sequence: int, now_ms: int) -> Record:
        """Make the record of that number."""
        dice = _mixed(self.seed, partition, sequence)
        begin = dice % 65_536
        key: bytes | None
        value: bytes | None
        headers: Headers
        if self.shape is Shape.PLAIN:
            key, value, headers, timestamp_ms = b"", _filling(begin, self.max_bytes), (), now_ms
        else:
            key = _odd_key(dice)
            value = _odd_value(dice, _filling(begin, (dice >> 16) % (self.max_bytes + 1)))
            headers = _odd_headers(dice)
            # Producers' clocks go back as well as forth.
            timestamp_ms = now_ms - (dice >> 40) % 3_000
        key_is_fixed = False
        if self.keys is not None:
            key, key_is_fixed = b"k%d" % (sequence % self.keys), True
        flags = _TIMED if self.timed else 0
        crc = _crc(key, value, headers, timestamp_ms if self.timed else 0)
        stamp = STAMP.pack(_MAGIC, crc, flags, self.seed, partition, sequence)
        if value:
            value = stamp + value
        elif key and not key_is_fixed:
            key = stamp + key
        else:
            headers = (*headers, (STAMP_HEADER, stamp))
        return Record(key, value, headers, timestamp_ms)


def read_stamp(key: bytes | None, value: bytes | None, headers: Headers, timestamp_ms: int) -> Stamp | Damaged:
    """Find out who a record is and whether every byte of it is as it was made."""
    if value is not None and value[:4] == _MAGIC:
        stamp, value = value[: STAMP.size], value[STAMP.size :]
    elif key is not None and key[:4] == _MAGIC:
        stamp, key = key[: STAMP.size], key[STAMP.size :]
    elif headers and headers[-1][0] == STAMP_HEADER and headers[-1][1]:
        stamp, headers = headers[-1][1], headers[:-1]
    else:
        return Damaged("no stamp")
    if len(stamp) != STAMP.size:
        return Damaged("stamp cut short")
    _, crc, flags, seed, partition, sequence = STAMP.unpack(stamp)
    if crc != _crc(key, value, headers, timestamp_ms if flags & _TIMED else 0):
        return Damaged(f"checksum differs in the record that says it is {partition}/{sequence}")
    return Stamp(seed, partition, sequence)


def _filling(begin: int, size: int) -> bytes:
    if begin + size <= len(_FILLER):
        return _FILLER[begin : begin + size]
    return (_FILLER[begin:] + _FILLER * (size // len(_FILLER) + 1))[:size]


def _odd_key(dice: int) -> bytes | None:
    match dice >> 8 & 7:
        case 0:
            return None
        case 1:
            return b""
        case _:
            return b"key-%d" % (dice >> 11 & 0xFFF)


def _odd_value(dice: int, body: bytes) -> bytes | None:
    match dice >> 24 & 15:
        case 0:
            return None
        case 1:
            return b""
        case _:
            return body or b"-"


def _odd_headers(dice: int) -> Headers:
    match dice >> 32 & 7:
        case 0:
            return (("twice", b"first"), ("twice", b"second"), ("other", b"between"), ("twice", b"first"))
        case 1:
            return (("null", None), ("empty", b""), ("null", None))
        case 2:
            return (("", b"a header without a name"), ("naïve-ключ", b"\x00\xff\x80"))
        case 3:
            return (("trace", dice.to_bytes(8, "big")),)
        case _:
            return ()


def _crc(key: bytes | None, value: bytes | None, headers: Headers, timestamp_ms: int) -> int:
    # Lengths first, null apart from empty: no two different records may run into the same stream of bytes.
    head = b"%d %d %d" % (timestamp_ms, -1 if key is None else len(key), -1 if value is None else len(value))
    crc = zlib.crc32(value or b"", zlib.crc32(key or b"", zlib.crc32(head)))
    for name, content in headers:
        crc = zlib.crc32(b"%d %d" % (len(name), -1 if content is None else len(content)), crc)
        crc = zlib.crc32(content or b"", zlib.crc32(name.encode(), crc))
    return crc


def _mixed(seed: int, partition: int, sequence: int) -> int:
    """Throw 64 bits of dice that look random and are not; seeding a generator per record would cost ten times more."""
    x = (seed * 0x9E3779B97F4A7C15 + partition * 0xC2B2AE3D27D4EB4F + sequence * 0x165667B19E3779F9 + 1) & _MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & _MASK
    return x ^ x >> 31
