"""Events of a binary log of MySQL or MariaDB: what they are and what is in them. Pure.

Numbers are little-endian. Every event has a header of 19 bytes: time, type, server, length, end position, flags.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

import pyarrow as pa

_HEADER: Final = struct.Struct("<IBIIIH")
HEADER_SIZE: Final = 19
_CHECKSUM_SIZE: Final = 4
_STANDALONE: Final = 1


class Kind(IntEnum):
    """Types of events that matter here; all others are only counted."""

    QUERY = 2
    STOP = 3
    ROTATE = 4
    FORMAT = 15
    XID = 16
    TABLE_MAP = 19
    HEARTBEAT = 27
    GTID = 33
    ANONYMOUS = 34
    XA_PREPARE = 38
    PARTIAL_UPDATE = 39
    TRANSACTION_PAYLOAD = 40
    HEARTBEAT_2 = 41
    GTID_TAGGED = 42
    MARIADB_GTID = 162
    QUERY_COMPRESSED = 165


ROWS: Final[dict[int, tuple[str, int, bool]]] = {
    23: ("c", 1, False), 24: ("u", 1, False), 25: ("d", 1, False),
    30: ("c", 2, False), 31: ("u", 2, False), 32: ("d", 2, False),
    166: ("c", 1, True), 167: ("u", 1, True), 168: ("d", 1, True),
    169: ("c", 2, True), 170: ("u", 2, True), 171: ("d", 2, True),
}  # fmt: skip
"""Events with rows: what they do, the version of their header, and whether MariaDB compressed them."""


class Event(NamedTuple):
    """One event; `body` begins behind the header and ends before the checksum."""

    at_s: int
    kind: int
    server_id: int
    start: int  # where it begins in the file; 0 for events that the server made up
    end: int
    body: Any


def read_event(data: Any, checksums: bool) -> Event:
    at_s, kind, server, size, end, _ = _HEADER.unpack_from(data)
    body = data[HEADER_SIZE : size - (_CHECKSUM_SIZE if checksums else 0)]
    return Event(at_s, kind, server, end - size if end else 0, end, body)


def has_checksums(event: Event) -> bool:
    """Whether events behind this format description end with a checksum; it always has one itself, or room for it."""
    return bool(event.body) and event.body[-1 - _CHECKSUM_SIZE] == 1


def format_event(data: Any) -> Event:
    """A format description; its last bytes are the kind of checksum and the checksum."""
    return read_event(data, checksums=False)


def rotate(event: Event) -> tuple[str, int]:
    """The file that follows, and where."""
    return bytes(event.body[8:]).decode(), int.from_bytes(event.body[:8], "little")


@dataclass(frozen=True)
class Gtid:
    """The beginning of a transaction that has a name."""

    name: str
    alone: bool  # one statement follows, and no commit
    at_us: int | None = None  # when it was committed, if that is told


def mariadb_gtid(event: Event) -> Gtid:
    number, domain, flags = struct.unpack_from("<QIB", event.body)
    return Gtid(f"{domain}-{event.server_id}-{number}", alone=bool(flags & _STANDALONE))


def mysql_gtid(event: Event) -> Gtid:
    """MySQL's GTID event. Statements follow it: BEGIN of a transaction, or one that stands alone."""
    sid, number = bytes(event.body[1:17]).hex(), struct.unpack_from("<Q", event.body, 17)[0]
    name = f"{sid[:8]}-{sid[8:12]}-{sid[12:16]}-{sid[16:20]}-{sid[20:]}:{number}"
    return Gtid(name, alone=False, at_us=_committed_at(event))


def _committed_at(event: Event) -> int | None:
    """When it was first committed: behind the two logical clocks, in 7 bytes each; the top bit says that two follow."""
    if len(event.body) < 49:
        return None
    first = int.from_bytes(event.body[42:49], "little")
    if first >> 55 and len(event.body) >= 56:
        return int.from_bytes(event.body[49:56], "little") & ((1 << 55) - 1)
    return first & ((1 << 55) - 1)


@dataclass(frozen=True)
class Query:
    """A statement as text."""

    thread: int
    database: str
    text: str


def query(event: Event) -> Query:
    body = event.body
    thread, _, name, _, status = struct.unpack_from("<IIBHH", body)
    at = 13 + status
    text = body[at + name + 1 :]
    if event.kind == Kind.QUERY_COMPRESSED:
        text = uncompressed(text)
    return Query(thread, bytes(body[at : at + name]).decode(), bytes(text).decode(errors="replace"))


class RowsHead(NamedTuple):
    """What stands before the rows of an event."""

    table_id: int
    columns: int
    whole: bool  # every column is there, in both images
    rows: Any


def rows_head(event: Event) -> RowsHead:
    op, version, compressed = ROWS[event.kind]
    body = event.body
    table_id = int.from_bytes(body[:6], "little")
    at = 8 if version == 1 else 8 + struct.unpack_from("<H", body, 8)[0]
    count, at = length_coded(body, at)
    size = (count + 7) // 8
    images = 2 if op == "u" else 1
    everything = (1 << count) - 1
    whole = all(
        int.from_bytes(body[at + n * size : at + (n + 1) * size], "little") & everything == everything
        for n in range(images)
    )
    rows = bytes(body[at + images * size :])
    return RowsHead(table_id, count, whole, uncompressed(rows) if compressed else rows)


def length_coded(data: Any, at: int) -> tuple[int, int]:
    """A number whose first byte says how long it is, and where it ends."""
    first = data[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


def uncompressed(data: Any) -> bytes:
    """What MariaDB compressed: a byte with the length of the length, the length, then zlib's bytes."""
    return zlib.decompress(bytes(data[1 + (data[0] & 7) :]))


def payload(event: Event) -> Iterator[Event]:
    """The events of a transaction that MySQL compressed as a whole."""
    at, packed, plain_size, data = 0, 255, 0, b""
    body = bytes(event.body)
    while at < len(body):
        field, at = length_coded(body, at)
        if field == 0:
            data = body[at:]
            break
        size, at = length_coded(body, at)
        value, _ = length_coded(body, at)
        if field == 2:
            packed = value
        elif field == 3:
            plain_size = value
        at += size
    plain = pa.decompress(data, plain_size, codec="zstd", asbytes=True) if packed == 0 else data
    at = 0
    while at < len(plain):
        size = struct.unpack_from("<I", plain, at + 9)[0]
        inner = read_event(plain[at : at + size], checksums=False)
        yield inner._replace(start=event.start, end=event.end)
        at += size
