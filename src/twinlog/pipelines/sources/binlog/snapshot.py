"""The rows that are there before changes are read, table by table, in the order of their keys. Runs in a Python worker.

Tables whose key is one whole number are cut into ranges of the key, and several connections read ranges at once; what
they read is handed on in its order. Each chunk's position names the table and the last key, so a snapshot that was
interrupted continues behind it:

    {"snapshot": true, "file": "bin.000001", "pos": 4711, "table": "shop.orders", "key": "id int", "after": "1007",
     "whole": false}

A view shows all rows as they were at one position of the log, and the chunks name that position. After an interruption
there is another view at a later position. First the changes between both positions follow, of rows that were handed on
(`boundary.py`); so no record of a row is older than the one before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final

import pyarrow as pa

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, Offset, SourcePartition
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.sources.binlog.boundary import literals
from twinlog.pipelines.sources.binlog.catalogue import Catalogue, Stream
from twinlog.pipelines.sources.binlog.columns import INTEGERS
from twinlog.pipelines.sources.binlog.connection import asked
from twinlog.pipelines.sources.binlog.key_order import behind, described, keys_of, literal, quoted
from twinlog.pipelines.sources.binlog.reading import View, columns_of
from twinlog.pipelines.sources.binlog.settings import BinlogSettings
from twinlog.pipelines.sources.debezium.envelope import chunk_of_columns, own_version, position_only
from twinlog.pipelines.table_ranges import ranges

_TALL: Final = 4
"""A range of keys that holds so many times the rows that were expected is read in pieces."""


@dataclass(frozen=True)
class Part:
    """Some rows of a table, in the order of its key."""

    stream: Stream
    after: tuple[str, ...]  # keys behind this one, as literals of SQL
    up_to: int | None  # a number, if the table is cut into ranges
    limit: int
    last: bool  # nothing of the table comes behind its range


@dataclass(frozen=True)
class Rows:
    """What a part brought."""

    part: Part
    columns: list[list[bytes | None]]
    reached: tuple[str, ...]
    more: bool  # the limit was met

    @property
    def count(self) -> int:
        return len(self.columns[0]) if self.columns else 0


class Snapshot:
    """One pass over the tables."""

    def __init__(self, s: BinlogSettings, connector: str, catalogue: Catalogue, view: View, position: Offset) -> None:
        self._s, self._connector, self._catalogue, self._view = s, connector, catalogue, view
        self._position = dict(position)
        self._free: SimpleQueue[Any] = SimpleQueue()

    def chunks(
        self, at: SourcePartition, start: Offset | None, done: Offset, stop: Callable[[], bool]
    ) -> Iterator[Chunk]:
        """Rows behind `start`; the last chunk's position is `done`."""
        parts = self._parts(self._view.connections[0], start)
        ahead = deque[Future[Rows]]()
        for connection in self._view.connections:
            self._free.put(connection)
        pool = ThreadPoolExecutor(len(self._view.connections))
        try:
            while not stop():
                while len(ahead) <= len(self._view.connections) and (part := next(parts, None)) is not None:
                    ahead.append(pool.submit(self._read, part))
                if not ahead:
                    yield position_only(f"{self._s.prefix}.snapshot", at, done)
                    return
                yield from self._handed_on(ahead.popleft().result(), at, stop)
        finally:
            for reading in ahead:
                reading.cancel()
            self._view.close()  # ends what is still being read
            pool.shutdown(cancel_futures=True)

    def _parts(self, db: Any, start: Offset | None) -> Iterator[Part]:
        """All parts of all tables. Bounds are asked for before the first part is read: connections are busy later."""
        reached = None if start is None else str(start.get("table"))
        made: list[Part] = []
        for database, name in sorted(self._catalogue.load(db), key=".".join):
            stream = self._catalogue.stream(database, name)
            if reached is not None and (stream.full < reached or (stream.full == reached and start.get("whole"))):  # type: ignore[union-attr]
                continue
            # A table whose key was altered is read again from its beginning.
            continues = start is not None and stream.full == reached and start.get("key") == described(stream)
            after = literals(start) if continues and start is not None else ()
            made += self._of_table(db, stream, after)
        return iter(made)

    def _of_table(self, db: Any, stream: Stream, after: tuple[str, ...]) -> Iterator[Part]:
        keys = keys_of(stream)
        if len(keys) != 1 or keys[0].kind not in INTEGERS:
            # Where the next part begins is known when this one was read; without a key there is one part only.
            yield Part(stream, after, None, self._s.snapshot_rows if keys else 0, last=True)
            return
        key, table = quoted(keys[0].name), _table(stream)
        where = f" WHERE {key} > {after[0]}" if after else ""
        low, high = asked(db, f"SELECT MIN({key}), MAX({key}) FROM {table}{where}")[0]
        rows = asked(
            db, "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
            [stream.database, stream.name],
        )[0][0]  # fmt: skip
        if low is None:
            return
        cut = ranges(int(low), int(high), -(-int(rows or 1) // self._s.snapshot_rows))
        for n, piece in enumerate(cut):
            behind = after if n == 0 else (str(cut[n - 1].high or 0),)
            last = n == len(cut) - 1
            yield Part(stream, behind, int(high) if last else piece.high, _TALL * self._s.snapshot_rows, last)

    def _read(self, part: Part) -> Rows:
        """In a thread."""
        db = self._free.get()
        try:
            keys = keys_of(part.stream)
            width = len(part.stream.columns)
            columns = columns_of(db, self._select(part), width + len(keys))
        finally:
            self._free.put(db)
        literals, columns = columns[width:], columns[:width]
        count = len(columns[0]) if columns else 0
        reached = tuple((literal[-1] or b"NULL").decode() for literal in literals) if count else part.after
        return Rows(part, columns, reached, more=bool(part.limit) and count >= part.limit)

    def _select(self, part: Part) -> str:
        keys = keys_of(part.stream)
        shown = [self._catalogue.selected(part.stream), *(literal(key) for key in keys)]
        names = [quoted(key.name) for key in keys]
        where = [behind(keys, part.after)] if part.after else []
        where += [f"{names[0]} <= {part.up_to}"] if part.up_to is not None else []
        text = f"SELECT {', '.join(shown)} FROM {_table(part.stream)}"
        text += f" WHERE {' AND '.join(where)}" if where else ""
        text += f" ORDER BY {', '.join(names)}" if names else ""
        return text + (f" LIMIT {part.limit}" if part.limit else "")

    def _handed_on(self, rows: Rows, at: SourcePartition, stop: Callable[[], bool]) -> Iterator[Chunk]:
        """A part, and the rest of it if it was longer than expected."""
        while True:
            part = rows.part
            whole = part.last and not rows.more
            reached = rows.reached if rows.more or part.up_to is None else (str(part.up_to),)
            then = self._position | {
                "snapshot": True, "table": part.stream.full, "key": described(part.stream),
                "after": "\x1f".join(reached), "whole": whole,
            }  # fmt: skip
            if rows.count:
                yield self._chunk(rows, at, then)
            if not rows.more or stop():
                return
            rows = self._read(Part(part.stream, rows.reached, part.up_to, part.limit, part.last))

    def _chunk(self, rows: Rows, at: SourcePartition, then: Offset) -> Chunk:
        stream, count = rows.part.stream, rows.count
        kind = arrow_type(stream.table.row)
        arrays = []
        for n, (make, raw) in enumerate(zip(stream.makers, rows.columns, strict=True)):
            made = make(raw)
            want = kind.field(n).type
            arrays.append(made if made.type == want else made.cast(want))
        after = pa.StructArray.from_arrays(arrays, fields=[kind.field(n) for n in range(kind.num_fields)])
        now = int(SYSTEM_CLOCK.now_s() * 1_000_000)
        source = {
            "version": own_version(), "connector": self._connector, "name": self._s.prefix, "ts_ms": now // 1000,
            "ts_us": now, "ts_ns": now * 1000, "snapshot": "true", "db": stream.database, "table": stream.name,
            "server_id": 0, "file": self._position["file"], "pos": self._position["pos"], "row": 0,
        }  # fmt: skip
        told = pa.repeat(pa.scalar(source, arrow_type(stream.table.source)), count)
        return chunk_of_columns(stream.table, at, then, ops=pa.repeat("r", count), before=pa.nulls(count, kind),
                                after=after, source=told, now_us=now, tombstones=False)  # fmt: skip


def _table(stream: Stream) -> str:
    return f"{quoted(stream.database)}.{quoted(stream.name)}"
