"""Parcels: records that no step looks into travel through Spark together. Packed by a reader, opened by the writer.

    topic  partition  offset  …  value                parcel
    a      0          4711       line 1        ─▶     the bytes of the whole Arrow batch, as one row of one column
    a      0          4712       line 2

As a row of its own a record is read and written again by the JVM, column by column. In a parcel it costs a copy of its
bytes. A pipeline may use them when the bytes of Kafka are what the connector takes: no transforms, and converters
that leave the bytes as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from twinlog.pipelines.api import Converter, Sink
from twinlog.pipelines.schemas import Schema

Plain: TypeAlias = Literal["text", "bytes", "document"]
"""What the bytes of a converter are, when it need not look at them: text, bytes, or the text of a JSON document."""
PARCEL_SQL: Final = "parcel binary"
_PARCEL: Final[Any] = pa.schema([("parcel", pa.binary())])
_ENDS: Final = struct.Struct("=ii")
_FORMS: Final[dict[str, tuple[frozenset[Plain], frozenset[Plain]]]] = {
    # By what a sink takes: the keys and the values that it gets as they are.
    "text": (frozenset({"text", "document"}), frozenset({"text", "document"})),
    "documents": (frozenset({"text", "document"}), frozenset({"document"})),
    "columns": (frozenset({"text", "document", "bytes"}), frozenset({"text", "document", "bytes"})),
    "lines": (frozenset(), frozenset()),
}


def plain(its: Converter) -> Plain | None:
    """What its bytes are; None: it must look at them."""
    function: Plain | None = getattr(its, "plain", None)
    return function


def reach_sink(converters: tuple[Converter, Converter], sink: Sink) -> bool:
    """Whether keys and values of Kafka reach a sink as they are, when no transform stands between them."""
    forms = _FORMS[sink.takes]
    return all(plain(its) in form for its, form in zip(converters, forms, strict=True))


def reach_kafka(key: Converter, value: Converter, streams: Sequence[tuple[str, Schema | None, Schema]]) -> bool:
    """Whether keys and values of a source are the bytes that Kafka gets, or become them by Arrow's kernels."""

    def is_made(its: Converter, schema: Schema) -> bool:
        return is_same(its, schema) or prints(its, schema)

    return bool(streams) and all((k is None or is_made(key, k)) and is_made(value, v) for _, k, v in streams)


def is_same(its: Converter, schema: Schema) -> bool:
    """Whether values of this schema are the converter's bytes."""
    kinds = {"text": "string", "bytes": "bytes"}
    return schema.name is None and kinds.get(plain(its) or "") == schema.type


def prints(its: Converter, schema: Schema) -> bool:
    """Whether the converter makes its bytes of whole Arrow columns."""
    can = getattr(its, "prints", None)
    return can is not None and bool(can(schema))


def packed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch as one row."""
    data: Any = batch.serialize()
    column: Any = pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(_ENDS.pack(0, data.size)), data])
    return pa.RecordBatch.from_arrays([column], schema=_PARCEL)


def opened(rows: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of rows, as views into them."""
    for some in rows:
        column: Any = some.column(0)
        for piece in column:
            yield pa.ipc.read_record_batch(piece.as_buffer(), schema)


def texts(column: Any) -> Any:
    """Bytes as text. What is no UTF-8 gets the sign for that, as in Java."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if data is None else data.decode(errors="replace") for data in column.to_pylist()])


__all__ = ["PARCEL_SQL", "is_same", "opened", "packed", "plain", "prints", "reach_kafka", "reach_sink", "texts"]
