"""Changes from the log, as chunks with positions. Runs in a Python worker.

A position is Debezium's. Inside a transaction it names the transaction's beginning and how many events of it are done:

    … XID | GTID  TABLE_MAP  WRITE_ROWS  TABLE_MAP  UPDATE_ROWS … XID
          pos                            event = 3
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from twinlog.errors import ChangesUnreadable
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, Offset, SourcePartition
from twinlog.pipelines.sources.binlog import events
from twinlog.pipelines.sources.binlog.boundary import Boundary
from twinlog.pipelines.sources.binlog.buffer import Buffer, Place
from twinlog.pipelines.sources.binlog.catalogue import Catalogue, Stream
from twinlog.pipelines.sources.binlog.connection import Log
from twinlog.pipelines.sources.binlog.events import ROWS, Event, Kind
from twinlog.pipelines.sources.binlog.gtids import MariaDbGtids, MySqlGtids
from twinlog.pipelines.sources.binlog.schema_changes import schema_change
from twinlog.pipelines.sources.binlog.settings import BinlogSettings
from twinlog.pipelines.sources.binlog.table_map import read_table_map, table_id
from twinlog.pipelines.sources.debezium.envelope import position_only

log = logging.getLogger("twinlog.pipelines.source")
_DDL: Final = re.compile(r"^\s*(/\*.*?\*/\s*)*(CREATE|ALTER|DROP|RENAME|TRUNCATE)\b", re.IGNORECASE | re.DOTALL)
_DML: Final = re.compile(r"^\s*(INSERT|UPDATE|DELETE|REPLACE|LOAD)\b", re.IGNORECASE)
_ENDS: Final = frozenset({"COMMIT", "ROLLBACK"})


class Changes:
    """The log behind one position."""

    def __init__(
        self, s: BinlogSettings, its_log: Log, catalogue: Catalogue, start: Offset, *, connector: str,
        statements: Callable[[], Any], boundary: Boundary | None = None,
    ) -> None:  # fmt: skip
        self._s, self._connector, self._log, self._catalogue = s, connector, its_log, catalogue
        self._statements = statements
        self._boundary = boundary  # of a snapshot that was interrupted: changes behind it are left out
        self._checksums = its_log.checksums
        self._file, self._pos = str(start["file"]), int(str(start["pos"]))
        known = str(start.get("gtids") or "")
        self._gtids = MariaDbGtids(known) if its_log.server.mariadb else MySqlGtids(known)
        self._restart_gtids = known
        self._reached = 0  # where the last event ends in its file
        self._gtid: events.Gtid | None = None
        self._inside = False
        self._events = 0  # of the open transaction
        self._skip_events = int(str(start.get("event") or 0))
        self._skip_rows = int(str(start.get("row") or 0))
        self._thread: int | None = None
        self._last_s = int(str(start.get("ts_sec") or 0))
        self._server_id = int(str(start.get("server_id") or 0))
        self._maps: dict[int, Stream | None] = {}
        self._known: dict[bytes, Stream | None] = {}
        self._buffers: dict[int, Buffer] = {}
        self._extra: list[Chunk] = []
        self._waiting = 0
        self.told: dict[str, Any] = dict(start)  # the position of the last chunk

    @property
    def position(self) -> dict[str, Any]:
        made: dict[str, Any] = {"ts_sec": self._last_s, "file": self._file, "pos": self._pos}
        if self._restart_gtids:
            made["gtids"] = self._restart_gtids
        made["server_id"] = self._server_id
        if self._inside or self._skip_events:
            # Until the skipped events have come again, they are done all the same.
            done = max(self._events, self._skip_events)
            made["event"] = done
            if self._skip_rows and self._events <= self._skip_events:
                made["row"] = self._skip_rows
        return made

    def chunks(self, at: SourcePartition, stop: Callable[[], bool], wait_s: float) -> Iterator[Chunk]:
        """Chunks until nothing comes for `wait_s`."""
        while not stop():
            data = self._log.next(0 if self._waiting else wait_s)
            if data is None:
                if not self._waiting:
                    return
                yield self._handed_on(at)
                continue
            self._event(data)
            if self._waiting >= self._s.batch_rows:
                yield self._handed_on(at)
        if self._waiting:
            yield self._handed_on(at)

    def chunks_up_to(
        self, end: Offset, at: SourcePartition, stop: Callable[[], bool], wait_s: float
    ) -> Iterator[Chunk]:
        """Chunks up to exactly a place between two transactions, and the position even if nothing was handed on."""
        while not stop() and self.stands(end) < 0:
            data = self._log.next(0 if self._waiting else wait_s)
            if data is not None:
                self._event(data)
            if self._waiting and (data is None or self._waiting >= self._s.batch_rows):
                yield self._handed_on(at)
        if self._waiting or self.position != self.told:
            yield self._handed_on(at)

    def stands(self, end: Offset) -> int:
        """-1 before a place between two transactions, 0 there, 1 behind it. Names of transactions count first."""
        inside = self._inside or bool(self._skip_events)
        mine, its = self._restart_gtids, str(end.get("gtids") or "")
        if self._log.server.gtids and bool(mine) == bool(its):
            kind = MariaDbGtids if self._log.server.mariadb else MySqlGtids
            reached, passed = kind(mine).covers(its), not kind(its).covers(mine)
        else:
            here, there = (self._file, self._pos), (str(end["file"]), int(str(end["pos"])))
            reached, passed = _in_order(here) >= _in_order(there), _in_order(here) > _in_order(there)
        return -1 if not reached else int(passed or inside)

    def _event(self, data: bytes) -> None:
        if data[4] == Kind.FORMAT:
            self._checksums = events.has_checksums(events.format_event(data))
            self._maps.clear()
            return
        event = events.read_event(data, self._checksums)
        if self._inside and not event.end:
            # MariaDB 11.4 and later leave the position out of events inside of a transaction.
            event = event._replace(start=self._reached, end=self._reached + len(data))
        self._reached = event.end or self._reached
        if event.kind == Kind.ROTATE:
            self._file, self._pos = events.rotate(event)
        elif event.kind == Kind.TRANSACTION_PAYLOAD:
            for inner in events.payload(event):
                self._handle(inner)
            self._count(event)
        elif event.kind not in {Kind.HEARTBEAT, Kind.HEARTBEAT_2}:
            self._handle(event)

    def _handle(self, event: Event) -> None:
        kind = event.kind
        if event.at_s:
            self._last_s, self._server_id = event.at_s, event.server_id
        if kind in ROWS:
            self._rows(event)
        elif kind == Kind.TABLE_MAP:
            self._table(event)
        elif kind == Kind.MARIADB_GTID:
            self._named(events.mariadb_gtid(event))
            self._begin(event)
        elif kind == Kind.GTID:
            self._named(events.mysql_gtid(event))
        elif kind in {Kind.QUERY, Kind.QUERY_COMPRESSED}:
            self._query(event)
        elif kind in {Kind.XID, Kind.XA_PREPARE}:
            self._end(event)
            return
        elif kind in {Kind.GTID_TAGGED, Kind.PARTIAL_UPDATE}:
            raise self._unreadable(f"the event of type {kind} is not known (tagged GTIDs, partial updates of JSON)")
        self._count(event)

    def _count(self, event: Event) -> None:
        if self._inside:
            self._events += 1
        elif event.end:
            self._pos = event.end

    def _named(self, gtid: events.Gtid) -> None:
        self._restart_gtids = str(self._gtids)
        self._gtid = gtid
        self._gtids.add(gtid.name)

    def _begin(self, event: Event) -> None:
        self._inside, self._events = True, 0
        if event.start:
            self._pos = event.start

    def _end(self, event: Event) -> None:
        self._inside, self._events, self._skip_events, self._skip_rows = False, 0, 0, 0
        self._restart_gtids = str(self._gtids)
        self._gtid = self._thread = None
        if event.end:
            self._pos = event.end

    def _query(self, event: Event) -> None:
        query = events.query(event)
        text = query.text.strip()
        upper = text[:20].upper()
        if upper == "BEGIN":
            self._thread = query.thread
            self._begin(event)
            return
        alone = not self._inside or (self._gtid is not None and self._gtid.alone)
        if upper in _ENDS or alone:
            if _DDL.match(text):
                self._altered(event, query)
            elif _DML.match(text):
                self._statement(text)
            self._end(event)
        elif _DML.match(text):
            self._statement(text)

    def _altered(self, event: Event, query: events.Query) -> None:
        """A table may have other columns from here on."""
        self._known.clear()
        self._catalogue.forget()
        done = self._inside and self._events < self._skip_events
        if self._s.schema_changes and not done and self._catalogue.wanted_database(query.database):
            self._extra.append(schema_change(self._s, self._connector, query, self._place(event)))
            self._waiting += 1

    def _statement(self, text: str) -> None:
        if self._s.failures == "fail":
            raise self._unreadable(
                f"a change is logged as a statement, without rows: {text[:100]!r}. A session had another binlog_format "
                "than ROW; event.processing.failure.handling.mode=warn passes over such changes"
            )
        log.warning("%s: %s:%d: a change without rows is passed over: %s", self._s.where, self._file, self._pos, text)

    def _unreadable(self, problem: str) -> ChangesUnreadable:
        return ChangesUnreadable(f"{self._s.where} at {self._file}:{self._pos}", problem)

    def _table(self, event: Event) -> None:
        text = bytes(event.body[6:])
        if text not in self._known:
            table_map = read_table_map(event)
            wanted = self._catalogue.wanted(table_map.database, table_map.table)
            stream = self._catalogue.stream_of(table_map, self._statements()) if wanted else None
            left_out = stream is not None and self._boundary is not None and self._boundary.is_before(stream)
            self._known[text] = None if left_out else stream
        self._maps[table_id(event)] = self._known[text]

    def _rows(self, event: Event) -> None:
        skip = 0
        if self._inside and self._events <= self._skip_events:
            if self._events < self._skip_events:
                return
            skip, self._skip_rows = self._skip_rows, 0
        op = ROWS[event.kind][0]
        stream = self._maps.get(int.from_bytes(event.body[:6], "little"))
        if stream is None or op in self._s.skipped:
            return
        head = events.rows_head(event)
        if not head.whole:
            raise self._unreadable(f"a change of {stream.full} has not all columns: binlog_row_image must be FULL")
        buffer = self._buffers.get(id(stream))
        if buffer is None:
            buffer = self._buffers[id(stream)] = Buffer(stream, self._connector, self._s.prefix)
        before = len(buffer)
        self._waiting += buffer.add(op, head.rows, self._place(event), skip) - before

    def _place(self, event: Event) -> Place:
        gtid = self._gtid
        at_us = gtid.at_us if gtid is not None and gtid.at_us else event.at_s * 1_000_000
        return Place(at_us, None if gtid is None else gtid.name, self._file, event.start, event.server_id, self._thread)

    def _handed_on(self, at: SourcePartition) -> Chunk:
        """What waits, as one chunk with the present position; those of other tables stand beside it."""
        now = int(SYSTEM_CLOCK.now_s() * 1_000_000)
        then = self.position
        buffers = [buffer for buffer in self._buffers.values() if self._kept(buffer)]
        made = [buffer.chunk(at, then, now_us=now, tombstones=self._s.tombstones) for buffer in buffers]
        made += [replace(chunk, partition=at, next=then) for chunk in self._extra]
        made = made or [position_only(f"{self._s.prefix}.position", at, then)]
        self._buffers, self._extra, self._waiting, self.told = {}, [], 0, then
        return replace(made[0], others=tuple(made[1:]))

    def _kept(self, buffer: Buffer) -> int:
        """How many changes are to be handed on."""
        boundary, stream = self._boundary, buffer.stream
        if boundary is not None and len(buffer) and boundary.divides(stream):
            buffer.keep(boundary.reaches(stream, buffer.keys()))
        return len(buffer)


def _in_order(place: tuple[str, int]) -> tuple[int, str, int]:
    """Files are numbered, and the number can have one digit more than before."""
    file, pos = place
    return len(file), file, pos
