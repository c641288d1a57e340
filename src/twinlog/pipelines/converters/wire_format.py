"""Confluent's wire format: a zero byte, the schema's id in four bytes, the record. Pure.

00 | 00 00 00 2a | body                      Avro, JSON Schema
00 | 00 00 00 2a | message indexes | body    Protobuf; see `indexes_at`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow.compute

from twinlog.pipelines.records import ConversionFailed

pc: Any = pyarrow.compute
HEAD_BYTES: Final = 5
_MAGIC: Final = b"\x00"
_MOST_INDEXES: Final = 100
SERIALIZATION: Final = "org.apache.kafka.common.errors.SerializationException"


def split(data: bytes) -> tuple[int, bytes]:
    """Schema id and the rest. Raises ConversionFailed."""
    if len(data) < HEAD_BYTES:
        raise ConversionFailed(f"a record of {len(data)} bytes has no schema id", SERIALIZATION)
    if data[:1] != _MAGIC:
        raise ConversionFailed("Unknown magic byte!", SERIALIZATION)
    return int.from_bytes(data[1:HEAD_BYTES], "big"), data[HEAD_BYTES:]


def split_all(column: Any) -> tuple[int, Any] | None:
    """Schema id and the rest of a column of records that have one id; None: they do not."""
    first = column[0].as_py()[:HEAD_BYTES]
    if len(first) != HEAD_BYTES or first[:1] != _MAGIC or not pc.all(pc.starts_with(column, first)).as_py():
        return None
    return split(first)[0], pc.binary_replace_slice(column, 0, HEAD_BYTES, b"")


def head(schema_id: int) -> bytes:
    return _MAGIC + schema_id.to_bytes(4, "big")


def indexes_at(data: bytes) -> tuple[tuple[int, ...], int]:
    """Which message of a Protobuf file, from the outermost in, and where the body begins. Raises ConversionFailed.

    The first message is written as one zero byte; otherwise the count and the indexes follow as zigzag varints.
    """
    count, at = _zigzag(data, 0)
    if count == 0:
        return (0,), at
    if not 0 < count <= _MOST_INDEXES:
        raise ConversionFailed(f"{count} message indexes", SERIALIZATION)
    indexes = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        indexes.append(index)
    return tuple(indexes), at


def written_indexes(indexes: Sequence[int]) -> bytes:
    if tuple(indexes) == (0,):
        return b"\x00"
    return b"".join(_varint(number << 1) for number in (len(indexes), *indexes))


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise ConversionFailed("the message indexes end too early", SERIALIZATION)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
