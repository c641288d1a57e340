"""Records with their partition, number and checksum, readable in any console consumer. Pure.

    value = b"<partition> <sequence> <created_ns> <crc32 in hex> <body>"

The checksum covers everything else that the producer decides: key, value and headers.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import NamedTuple

from twinlog.kafka.clients import Headers, LogRecord, NewRecord

_HEADERS: Headers = (("origin", b"twinlog demo"), ("empty", b""), ("null", None))
_KEYS = 1_000
_BODY = b"the quick brown fox jumps over the lazy dog, again and again and again"


class Stamp(NamedTuple):
    """Who a record says it is, and whether its checksum agrees."""

    partition: int
    sequence: int
    created_ns: int
    sound: bool


def make_record(partition: int, sequence: int, created_ns: int) -> NewRecord:
    """Make the record of that number."""
    key = b"order-%d" % (sequence % _KEYS)
    who = b"%d %d %d" % (partition, sequence, created_ns)
    value = b"%s %08x %s" % (who, _crc(key, who, _BODY, _HEADERS), _BODY)
    return NewRecord(key, value, _HEADERS, created_ns // 1_000_000)


def read_stamp(record: LogRecord) -> Stamp | None:
    """Read who a record is; None when it does not say so."""
    parts = (record.value or b"").split(b" ", 4)
    if len(parts) != 5 or not all(part.isdigit() for part in parts[:3]):
        return None
    who = b" ".join(parts[:3])
    crc = b"%08x" % _crc(record.key or b"", who, parts[4], record.headers)
    return Stamp(int(parts[0]), int(parts[1]), int(parts[2]), sound=crc == parts[3])


def fingerprint(record: LogRecord) -> int:
    """Return 64 bits over all that a mirror must keep: key, value, headers in order, time.

    Over the written-out form, in which null differs from empty and no two records run into the same bytes.
    """
    kept = repr((record.key, record.value, record.headers, record.timestamp_ms)).encode()
    return int.from_bytes(hashlib.blake2b(kept, digest_size=8).digest(), "big")


def _crc(key: bytes, who: bytes, body: bytes, headers: Headers) -> int:
    return zlib.crc32(b"%s %s %s %s" % (key, who, body, repr(headers).encode()))
