"""Rows that are too large for Spark's JVM, in pieces: cut in the reader's Python worker, joined in the writer's.

The JVM holds a row several times on its way from worker to worker. One of a hundred megabytes in each task would fill
its heap, and a JVM without memory ends all links (R8). So no row is larger than some megabytes, whatever records are.

    head, 10 MB  ─▶  +, 4 MB   +, 4 MB   head, 2 MB  ─▶  head, 10 MB        rows of a task stay in order
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from twinlog.flow.row import Row

PIECE_BYTES: Final = 4 << 20
MORE: Final = b"+"
"""The head of a piece that others follow. Heads of rows are empty, or longer than this."""


def in_pieces(rows: Iterable[Row], piece_bytes: int = PIECE_BYTES) -> Iterator[Row]:
    """Rows as they are, large ones in pieces. Nothing is copied."""
    for row in rows:
        size = len(row.payload)
        if size <= piece_bytes:
            yield row
            continue
        payload = memoryview(row.payload)
        last = size - (size % piece_bytes or piece_bytes)
        for at in range(0, last, piece_bytes):
            yield Row(MORE, payload[at : at + piece_bytes])
        yield Row(row.head, payload[last:])


def joined(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows that were cut."""
    pieces: list[bytes | memoryview] = []
    for row in rows:
        if row.head == MORE:
            pieces.append(row.payload)
        elif pieces:
            whole = b"".join([*pieces, row.payload])
            pieces = []
            yield row._replace(payload=whole)
        else:
            yield row
