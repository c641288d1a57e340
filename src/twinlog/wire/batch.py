"""The v2 record batch: reading its header, and re-addressing it without opening it.

Runs on executors, in the hot path. A batch is 61 bytes of header and then the records, compressed or not:

    0        8      12     16 17    21     23      27       35      43      51     53      57     61
    |base    |length|leader|m |crc  |attri-|last   |base    |max    |producer|epoch|base   |record|records …
    |offset  |      |epoch |  |     |butes |delta  |time    |time   |id      |     |seq.   |count |

The checksum covers byte 21 to the end. Everything a mirror must change (who wrote it, its place in the writer's
sequence) lies in the header, so key, value, headers, times, order and compression are carried untouched (R3, R4).
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

import google_crc32c

HEADER_BYTES: Final = 61
_SIGNED_FROM: Final = 21
LOG_OVERHEAD: Final = 12  # base offset and length, which `length` does not count
_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_REST: Final = struct.Struct(">hiqqqhii")
_PREFIX: Final = struct.Struct(">qiib")
_SCAN: Final = struct.Struct(">qiib4xhi16xq")
_TINY: Final = struct.Struct(">8xi4xb4xh34xi")

LEGACY_BYTES: Final = 26  # the smallest message of magic 0
READABLE_MAGICS: Final = frozenset({0, 1, 2})

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
_MAGIC_AT: Final = 16
_MARKED: Final = TRANSACTIONAL | CONTROL
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


class BatchHeader(NamedTuple):
    """The thirteen header fields, in wire order."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + LOG_OVERHEAD

    @property
    def next_offset(self) -> int:
        """The first offset behind this batch. The old formats carry the offset of their last message."""
        return self.base_offset + (self.last_offset_delta + 1 if self.magic == 2 else 1)

    @property
    def is_readable(self) -> bool:
        """Of a format that we know, and long enough to be one."""
        shortest = HEADER_BYTES if self.magic == 2 else LEGACY_BYTES
        return self.magic in READABLE_MAGICS and self.size >= shortest

    @property
    def codec(self) -> int:
        """Compression, as Kafka numbers it."""
        return self.attributes & CODEC_MASK

    @property
    def is_control(self) -> bool:
        """A transaction marker: never copied."""
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Part of a transaction, or the marker that ends one."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_dense(self) -> bool:
        """Every offset between first and last has a record (compaction makes holes)."""
        return self.record_count == self.last_offset_delta + 1


def read_header(buffer: bytes | memoryview, at: int = 0) -> BatchHeader:
    """Read the header of the batch that starts at `at`."""
    return BatchHeader._make(_HEADER.unpack_from(buffer, at))


def _short_header(buffer: bytes | memoryview, at: int) -> BatchHeader | None:
    """A message of the old formats may be shorter than a v2 header: only its first four fields mean something."""
    if len(buffer) - at < LEGACY_BYTES:
        return None
    return BatchHeader._make((*_PREFIX.unpack_from(buffer, at), 0, 0, 0, 0, 0, -1, -1, -1, 0))


def walk(buffer: bytes | memoryview) -> Iterator[tuple[int, BatchHeader]]:
    """Every complete batch of a fetch answer with its place; a broker may cut the last one off, which is left out."""
    at, end = 0, len(buffer)
    while at + LOG_OVERHEAD < end:
        header = read_header(buffer, at) if end - at >= HEADER_BYTES else _short_header(buffer, at)
        if header is None:
            return
        if not header.is_readable:
            yield at, header  # the caller decides what a broken batch means; nothing behind it can be found
            return
        if at + header.size > end:
            return
        yield at, header
        at += header.size


class PlainStretch(NamedTuple):
    """The beginning of a buffer that holds nothing but ordinary batches: where it ends, and what the last one says."""

    end: int
    next_offset: int
    leader_epoch: int
    is_all: bool  # nothing follows but a batch that the broker cut off


def scan_plain(buffer: bytes | memoryview, position: int, producers: Container[int] | None = None) -> PlainStretch:
    """Find how far the buffer holds only v2 batches outside of transactions, from `position` on; builds no headers.

    What a fetch brings is nearly always just that, and with tiny batches the headers would cost more than the rest.
    With `producers` the stretch ends before a batch of anybody else. It ends where the leader epoch changes, too.
    """
    at, size = 0, len(buffer)
    next_offset, epoch = position, -1
    unpack = _SCAN.unpack_from
    while at + HEADER_BYTES <= size:
        base, length, leader_epoch, magic, attributes, delta, producer = unpack(buffer, at)
        end = at + LOG_OVERHEAD + length
        special = magic != 2 or length < HEADER_BYTES - LOG_OVERHEAD or attributes & _MARKED
        special = special or (leader_epoch != epoch and at)
        if special or base < next_offset or delta < 0 or (producers is not None and producer not in producers):
            return PlainStretch(at, next_offset, epoch, is_all=False)
        if end > size:
            break
        at, next_offset, epoch = end, base + delta + 1, leader_epoch
    # Less than a v2 header is left: whole messages of the old formats are that short, cut off batches as well.
    is_all = size - at < LEGACY_BYTES or buffer[at + _MAGIC_AT] == 2
    return PlainStretch(at, next_offset, epoch, is_all)


def scan_tiny(buffer: bytes | memoryview, at: int, records: int, size: int, total: int) -> int:
    """Where a group of tiny batches of one compression ends: each at most `records` and `size`, all at most `total`."""
    start, end, first = at, len(buffer), -1
    unpack = _TINY.unpack_from
    while at + HEADER_BYTES <= end:
        length, magic, attributes, count = unpack(buffer, at)
        whole = LOG_OVERHEAD + length
        tiny = magic == 2 and 0 < count <= records and HEADER_BYTES < whole <= size
        if not tiny or at + whole > end or at + whole - start > total:
            break
        codec = attributes & CODEC_MASK
        if first < 0:
            first = codec
        elif codec != first:
            break
        at += whole
    return at


def checksum_holds(batch: bytes, header: BatchHeader) -> bool:
    """Whether the bytes are the ones the producer wrote. Checked before we sign them with a checksum of our own."""
    return bool(google_crc32c.value(batch[_SIGNED_FROM:]) == header.crc)


class CutBatch(NamedTuple):
    """A batch taken out of a buffer, header and records apart: who changes the header need not copy the records again.

    A message of the old formats has no such header: all of it is in `records`.
    """

    head: bytes
    records: bytes
    header: BatchHeader

    @property
    def data(self) -> bytes:
        """The batch in one piece."""
        return self.head + self.records

    @property
    def checksum_holds(self) -> bool:
        """The same as for a whole batch (v2 only)."""
        signed = google_crc32c.value(self.head[_SIGNED_FROM:])
        return bool(google_crc32c.extend(signed, self.records) == self.header.crc)


def cut(buffer: bytes | memoryview, at: int, header: BatchHeader) -> CutBatch:
    """Take the batch out that starts at `at`."""
    begin = at + HEADER_BYTES if header.magic == 2 else at
    return CutBatch(bytes(buffer[at:begin]), bytes(buffer[begin : at + header.size]), header)


class Stamp(NamedTuple):
    """Who writes: the shard's producer, and where in its sequence this batch stands."""

    producer_id: int
    producer_epoch: int
    base_sequence: int


def readdress(batch: bytes, header: BatchHeader, stamp: Stamp) -> bytes:
    """Give the batch our stamp: the whole of it, see `stamped_head`."""
    records = batch[HEADER_BYTES:]
    return stamped_head(records, header, stamp) + records


def stamped_head(records: bytes, header: BatchHeader, stamp: Stamp) -> bytes:
    """Our header for these records: base offset 0, no leader epoch, plain (not transactional), a new checksum.

    Only the codec survives of the attributes: a log-append-time batch is opened before it comes here, and the
    delete-horizon mark of compaction has no meaning in another log.
    """
    rest = _REST.pack(
        header.codec,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        *stamp,
        header.record_count,
    )
    crc = google_crc32c.extend(google_crc32c.value(rest), records)
    return b"".join((_PREFIX.pack(0, header.length, -1, 2), crc.to_bytes(4, "big"), rest))
