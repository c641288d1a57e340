"""Opening batches: decode, slice, merge, split. Everything that cannot be done on the header alone.

Runs on executors. The record codec is aiokafka's (Cython). A batch is opened only when `flow.shape` finds a reason to;
compression stays what the producer chose.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from aiokafka.record import MemoryRecords
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from twinlog.model.routes.provenance import HEADER as PROVENANCE
from twinlog.wire.batch import CODEC_MASK, BatchHeader, read_header

NO_TIME: Final = -1
_ZSTD: Final = 4
_NO_LIMIT: Final = 1 << 30  # the builder grows as it is filled; our own limits are checked on the finished batch


class OpenRecord(Protocol):
    """One record outside its batch (aiokafka's own object). `offset` is its source offset."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> list[tuple[str, bytes | None]]: ...


class PlainRecord(NamedTuple):
    """A record of our own making."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class SealedBatch(NamedTuple):
    """A batch ready for its stamp, and the source offsets of its records in order."""

    data: bytes
    header: BatchHeader
    offsets: Sequence[int]


def open_batch(data: bytes) -> list[OpenRecord]:
    """Decode every record. With log-append time they all carry the batch's time, as a consumer would see it (R4)."""
    if data[16] != 2:
        return _open_legacy(data)
    return list(DefaultRecordBatch(data))


def _open_legacy(data: bytes) -> list[OpenRecord]:
    """A message set of magic 0 or 1; magic 0 has no times, which Kafka writes as -1."""
    messages = MemoryRecords(data).next_batch()
    return [PlainRecord(m.offset, -1 if m.timestamp is None else m.timestamp, m.key, m.value, []) for m in messages]


def content_of(record: OpenRecord) -> int:
    """A number that two records share when they are equal in every field but the offset; good within one process.

    Headers of provenance do not count: they hold the time of the copy.
    """
    headers = tuple(header for header in record.headers if header[0] != PROVENANCE)
    return hash((record.timestamp, record.key, record.value, headers))


def legacy_codec(data: bytes) -> int:
    """The compression of a message set of magic 0 or 1."""
    return data[17] & CODEC_MASK


def legacy_checksum_holds(data: bytes) -> bool:
    """The old formats sign everything behind the checksum with CRC-32."""
    return zlib.crc32(data[16:]) == int.from_bytes(data[12:16], "big")


def seal(records: Sequence[OpenRecord], codec: int, limit: int | None = None) -> list[SealedBatch]:
    """Encode records into as few batches as `limit` bytes (compressed) allow; without a limit, into one or two.

    A batch that comes out too large is halved until it fits; a single record that does not fit comes out alone and
    too large, for the caller to judge (it alone knows the target's limit by name).
    """
    timeless = _timeless(records)
    if 0 < timeless < len(records):
        return seal(records[:timeless], codec, limit) + seal(records[timeless:], codec, limit)
    sealed = _encode(records, codec)
    if limit is None or len(sealed.data) <= limit or len(records) == 1:
        return [sealed]
    middle = len(records) // 2
    return seal(records[:middle], codec, limit) + seal(records[middle:], codec, limit)


def _timeless(records: Sequence[OpenRecord]) -> int:
    """How many records at the front have no time (-1).

    The encoder takes -1 for "no first record yet" and would give them the time of the first one that has one (R4), so
    they go into a batch of their own.
    """
    return next((index for index, record in enumerate(records) if record.timestamp != NO_TIME), len(records))


def _encode(records: Sequence[OpenRecord], codec: int) -> SealedBatch:
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, _NO_LIMIT)
    append = builder.append
    for delta, record in enumerate(records):
        append(delta, record.timestamp, record.key, record.value, record.headers)
    data = bytes(builder.build())
    return SealedBatch(data, read_header(data), [record.offset for record in records])


def seal_in_place(records: Sequence[OpenRecord], codec: int) -> bytes:
    """Encode records into batches that keep their offsets, as though a log had them; offsets may have holes."""
    if not records:
        return b""
    timeless = _timeless(records)
    if 0 < timeless < len(records):
        return seal_in_place(records[:timeless], codec) + seal_in_place(records[timeless:], codec)
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, _NO_LIMIT)
    append, first = builder.append, records[0].offset
    for record in records:
        append(record.offset - first, record.timestamp, record.key, record.value, record.headers)
    data: bytearray = builder.build()
    data[:8] = first.to_bytes(8, "big")  # the checksum does not cover it
    return bytes(data)


def merge(batches: bytes, codec: int) -> SealedBatch | None:
    """All records of some v2 batches as one batch, checksums verified; None when anything is wrong with any of them.

    The tight loop for tiny batches: nothing is built per batch but what the codec itself builds. Who gets None opens
    them one by one and finds out what is wrong.
    """
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, _NO_LIMIT)
    append, next_batch = builder.append, MemoryRecords(batches).next_batch
    offsets: list[int] = []
    note = offsets.append
    delta = 0
    try:
        while (batch := next_batch()) is not None:
            if not batch.validate_crc():
                return None
            for record in batch:
                if delta == 0 and record.timestamp == NO_TIME:
                    return None
                append(delta, record.timestamp, record.key, record.value, record.headers)
                note(record.offset)
                delta += 1
    except Exception:  # noqa: BLE001  the codec raises whatever its decompressor raises; the slow way names it
        return None
    data = bytes(builder.build())
    return SealedBatch(data, read_header(data), offsets)


def encode_pairs(pairs: Iterable[tuple[bytes, bytes | None]], timestamp_ms: int) -> SealedBatch:
    """One batch of plain key/value records, for the ledger; compressed, because entries of a shard are much alike."""
    return _encode([PlainRecord(0, timestamp_ms, key, value, []) for key, value in pairs], _ZSTD)
