"""Batches as a source broker would hand them out, made from plain records; and records read back from batches."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import google_crc32c
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from hypothesis import strategies as st

from twinlog.wire.batch import BatchHeader, read_header
from twinlog.wire.codec import OpenRecord, PlainRecord

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
LEADER_EPOCH: Final = 7
LATER: Final = 1_000  # records are encoded at a later time and set back: the encoder mistakes a first time of -1
_FIELDS: Final = struct.Struct(">qiibIhiqqqhii")
_NAMES: Final = BatchHeader._fields


class Signature(NamedTuple):
    """Who wrote a batch."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1


UNSIGNED: Final = Signature()


@dataclass(frozen=True)
class Made:
    """The bytes of one batch and what a consumer reads from it."""

    data: bytes
    records: tuple[PlainRecord, ...]
    next_offset: int


def rewritten(batch: bytes, **fields: int) -> bytes:
    """The batch with other header fields, and the checksum that belongs to them."""
    header = dict(zip(_NAMES, _FIELDS.unpack_from(batch), strict=True)) | fields
    body = _FIELDS.pack(*(header[name] for name in _NAMES))[21:] + batch[_FIELDS.size :]
    header["crc"] = fields.get("crc", google_crc32c.value(body))
    return _FIELDS.pack(*(header[name] for name in _NAMES))[:21] + body


def make_batch(
    records: Sequence[PlainRecord],
    codec: int = NONE,
    *,
    base: int | None = None,
    next_offset: int | None = None,
    signature: Signature = UNSIGNED,
    flags: int = 0,
) -> Made:
    """A v2 batch from `base` to `next_offset`: wider than its records where compaction took some."""
    first = records[0].offset if base is None else base
    after = records[-1].offset + 1 if next_offset is None else next_offset
    builder = DefaultRecordBatchBuilder(2, codec, 0, *signature, 1 << 30)
    for record in records:
        assert builder.append(record.offset - first, record.timestamp + LATER, record.key, record.value, record.headers)
    data = bytes(builder.build())
    header = read_header(data)
    times = {"base_timestamp": header.base_timestamp - LATER, "max_timestamp": header.max_timestamp - LATER}
    data = rewritten(
        data,
        base_offset=first,
        leader_epoch=LEADER_EPOCH,
        attributes=header.attributes | flags,
        last_offset_delta=after - first - 1,
        **times,
    )
    return Made(data, tuple(records), after)


def append_time(made: Made, time_ms: int) -> Made:
    """The batch as a log-append-time topic keeps it: one time for all its records."""
    attributes = int.from_bytes(made.data[21:23], "big") | 0x08
    data = rewritten(made.data, attributes=attributes, max_timestamp=time_ms)
    return Made(data, tuple(record._replace(timestamp=time_ms) for record in made.records), made.next_offset)


def make_legacy(magic: Literal[0, 1], records: Sequence[PlainRecord], codec: int = NONE) -> Made:
    """A message set of the old formats: no headers, and in magic 0 no times."""
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 30)
    first = records[0].offset if magic == 1 and codec else 0  # inner offsets of magic 1 are relative
    for record in records:
        builder.append(record.offset - first, record.timestamp, record.key, record.value)
    data = bytes(builder.build())
    if codec:
        data = struct.pack(">q", records[-1].offset) + data[8:]
    kept = tuple(r._replace(headers=[], timestamp=-1 if magic == 0 else r.timestamp) for r in records)
    return Made(data, kept, records[-1].offset + 1)


def plain(records: Iterable[OpenRecord]) -> list[PlainRecord]:
    """Records that compare by every field."""
    return [PlainRecord(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in records]


def read_back(batch: bytes) -> list[PlainRecord]:
    """What a consumer reads from one v2 batch; offsets count from its base offset."""
    return plain(DefaultRecordBatch(batch))


def at(offset: int, value: bytes = b"value", *, key: bytes | None = b"key", timestamp: int = 1_000) -> PlainRecord:
    """A record of no particular content."""
    return PlainRecord(offset, timestamp, key, value, [])


# --- strategies -------------------------------------------------------------------------------------------------------

_bytes_or_null = st.none() | st.binary(max_size=12)
_headers = st.lists(st.tuples(st.sampled_from(["", "a", "ä", "trace"]), _bytes_or_null), max_size=3)
_contents = st.tuples(st.integers(-1, 1 << 42), _bytes_or_null, _bytes_or_null, _headers)
KINDS: Final = ("plain", "plain", "plain", "append time", "magic 0", "magic 1")


@st.composite
def batches(draw: st.DrawFn, first: int = 0, *, dense: bool = False, kinds: Sequence[str] = KINDS) -> Made:
    """Any batch a source may hold from `first` on."""
    offset = first
    records = []
    for contents in draw(st.lists(_contents, min_size=1, max_size=5)):
        offset += 0 if dense else draw(st.sampled_from([0, 0, 0, 1, 3]))
        records.append(PlainRecord(offset, *contents))
        offset += 1
    codec = draw(st.sampled_from([NONE, GZIP, SNAPPY, LZ4, ZSTD]))
    repeat = draw(st.sampled_from([0, 0, 20]))  # long enough to be worth compressing
    records = [r._replace(value=None if r.value is None else r.value + b"-filling" * repeat) for r in records]
    kind = draw(st.sampled_from(kinds))
    if kind.startswith("magic"):
        magic: Literal[0, 1] = 0 if kind == "magic 0" else 1
        codecs = [GZIP, SNAPPY, LZ4] if magic else [GZIP, SNAPPY]  # lz4 of magic 0 was never readable by others
        return make_legacy(magic, records, codec if codec in codecs else NONE)
    spare = 0 if dense else draw(st.sampled_from([0, 0, 2]))
    made = make_batch(records, codec, base=first, next_offset=offset + spare)
    return append_time(made, draw(st.integers(0, 1 << 42))) if kind == "append time" else made


@st.composite
def logs(draw: st.DrawFn, *, max_batches: int = 6, dense: bool = False) -> list[Made]:
    """A stretch of a source log: batches in offset order, with holes between them."""
    log: list[Made] = []
    offset = draw(st.integers(0, 50))
    for _ in range(draw(st.integers(0, max_batches))):
        offset += 0 if dense else draw(st.sampled_from([0, 0, 0, 1, 5]))
        log.append(draw(batches(offset, dense=dense)))
        offset = log[-1].next_offset
    return log


def payload(log: Iterable[Made]) -> bytes:
    """The batches as they lie in a fetch answer."""
    return b"".join(made.data for made in log)
