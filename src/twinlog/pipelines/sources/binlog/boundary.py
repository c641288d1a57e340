"""How far a snapshot came: which changes are of rows that it has handed on. Runs in a Python worker.

A snapshot hands on table after table in the order of their names, and rows in the order of their keys. So one place
divides the rows that are in Kafka from those that are still to be read:

    shop.items           shop.orders                     shop.prices
    ──────────────────── ──────────────┃──────────────── ────────────
    changes are handed on              ┃ changes are left out: the rows are read later than them
                                 table, after
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final

from twinlog.pipelines.api import Offset
from twinlog.pipelines.sources.binlog.catalogue import Stream
from twinlog.pipelines.sources.binlog.charsets import codec_of
from twinlog.pipelines.sources.binlog.columns import TEXTS, Column
from twinlog.pipelines.sources.binlog.connection import asked
from twinlog.pipelines.sources.binlog.key_order import described, keys_of, rank, ranks

_AT_ONCE: Final = 500
_COLLATION: Final = """
    SELECT CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLUMN_NAME = %s
"""


class Boundary:
    """The place of an interrupted snapshot."""

    def __init__(self, start: Offset, statements: Callable[[], Any]) -> None:
        self.table = str(start["table"])
        self._key = str(start.get("key") or "")
        self._after = literals(start)
        self._whole = bool(start.get("whole"))
        self._statements = statements
        self._collations: dict[str, str | None] = {}
        self._orders: dict[tuple[str, bytes], int] = {}

    def is_before(self, stream: Stream) -> bool:
        """No row of the table was handed on."""
        return stream.full > self.table or (stream.full == self.table and not self._whole and not self._after)

    def divides(self, stream: Stream) -> bool:
        """Some rows of the table were handed on. All counts as handed on where the log has another key."""
        return stream.full == self.table and not self._whole and self._key == described(stream)

    def reaches(self, stream: Stream, keys: Sequence[Sequence[Any]]) -> list[bool]:
        """For each change, by the raw values of its key: whether its row was handed on."""
        orders = [0] * len(keys[0])
        for column, text, raw in zip(keys_of(stream), self._after, keys, strict=True):
            open_ = [n for n, order in enumerate(orders) if not order]
            for n, order in zip(open_, self._compared(stream, column, text, [raw[n] for n in open_]), strict=True):
                orders[n] = order
        return [order <= 0 for order in orders]

    def _compared(self, stream: Stream, column: Column, text: str, raw: Sequence[Any]) -> list[int]:
        if column.kind in TEXTS:
            return self._of_texts(stream, column, text, raw)
        limit = rank(column, text)
        return [(value > limit) - (value < limit) for value in ranks(column, raw)]

    def _of_texts(self, stream: Stream, column: Column, text: str, raw: Sequence[bytes]) -> list[int]:
        """The server compares texts: it knows the collation of the column."""
        name = column.name
        unknown = iter(dict.fromkeys(value for value in raw if (name, value) not in self._orders))
        while values := list(islice(unknown, _AT_ONCE)):
            db = self._statements()
            form = self._form(db, stream, name)
            if form is None:
                return [-1] * len(raw)  # the column is gone: nothing more is read of it
            codec, limit = codec_of(column.charset) or "utf-8", form.format(text)
            made = [form.format(db.escape(value.decode(codec))) for value in values]
            shown = ", ".join(f"({value} > {limit}) - ({value} < {limit})" for value in made)
            self._orders |= {(name, value): int(order) for value, order in
                             zip(values, asked(db, f"SELECT {shown}")[0], strict=True)}  # fmt: skip
        return [self._orders[name, value] for value in raw]

    def _form(self, db: Any, stream: Stream, name: str) -> str | None:
        if name not in self._collations:
            rows = asked(db, _COLLATION, [stream.database, stream.name, name])
            self._collations[name] = f"CONVERT({{}} USING {rows[0][0]}) COLLATE {rows[0][1]}" if rows else None
        return self._collations[name]


def literals(start: Offset) -> tuple[str, ...]:
    """The last key that was handed on."""
    text = str(start.get("after") or "")
    return tuple(text.split("\x1f")) if text else ()
