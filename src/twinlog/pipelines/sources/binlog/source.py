"""The MySQL and MariaDB sources: changes in Debezium's record shape, from the binary log. Runs in a Python worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Final

import pymysql

from twinlog.errors import ChangesLost
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, Finding, Offset, Retriable, Schema, SourcePartition
from twinlog.pipelines.sources.binlog.boundary import Boundary
from twinlog.pipelines.sources.binlog.catalogue import Catalogue
from twinlog.pipelines.sources.binlog.changes import Changes
from twinlog.pipelines.sources.binlog.checks import findings
from twinlog.pipelines.sources.binlog.connection import Log, asked, connected, log_end, said, server_of
from twinlog.pipelines.sources.binlog.reading import View, consistent_view
from twinlog.pipelines.sources.binlog.schema_changes import schemas_of
from twinlog.pipelines.sources.binlog.settings import BinlogSettings
from twinlog.pipelines.sources.binlog.snapshot import Snapshot
from twinlog.pipelines.sources.debezium.envelope import HEARTBEAT, HEARTBEAT_KEY, heartbeat, position_only

_WAIT_S: Final = 0.25
_IDLE_S: Final = 5.0
"""How often the position moves while only other tables change."""


_SNAPSHOT: Final = frozenset({"snapshot", "table", "key", "after", "whole"})


class _BinlogSource:
    """Changes of a server with a binary log."""

    connector: ClassVar[str]
    settings: ClassVar = BinlogSettings
    waits = True

    def __init__(self, s: BinlogSettings) -> None:
        self.s = s
        self.catalogue = Catalogue(s, self.connector)
        self._at = SourcePartition({"server": s.prefix})
        self._log: Log | None = None
        self._db: Any = None
        self._changes: Changes | None = None
        self._moved_at = self._beat_at = time.monotonic()

    def partitions(self) -> Sequence[SourcePartition]:
        return [self._at]

    def check(self) -> Iterable[Finding]:
        yield from findings(self.s, self.connector, self.catalogue)

    def streams(self) -> Iterable[tuple[str, Schema | None, Schema]]:
        with connected(self.s) as db:
            for database, name in self.catalogue.load(db):
                table = self.catalogue.stream(database, name).table
                yield table.topic, table.key_schema, table.value
        if self.s.schema_changes:
            yield (self.s.prefix, *schemas_of(self.connector))
        if self.s.heartbeat_ms:
            yield f"{self.s.heartbeat_topics}.{self.s.prefix}", HEARTBEAT_KEY, HEARTBEAT

    def read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        try:
            yield from self._read(at, start, stop)
        except Retriable:
            self.close()
            raise
        except (pymysql.Error, OSError) as error:
            self.close()
            raise Retriable(f"{self.s.where}: {said(error)}") from error

    def _read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        if start is None or (start.get("snapshot") and not start.get("snapshot_completed")):
            yield from self._first(at, start, stop)
            return
        if self.s.snapshot == "initial_only":
            threading.Event().wait(_WAIT_S)
            return
        try:
            changes = self._streaming(start)
            yield from changes.chunks(at, stop, _WAIT_S)
        except ChangesLost:
            self.close()
            if self.s.snapshot != "when_needed":
                raise
            yield from self._first(at, None, stop)
            return
        yield from self._quiet(at, changes)

    def _first(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        """Read the rows that are there, as they are at one position of the log. Changes behind it follow."""
        self.close()
        if start is not None and "table" not in start:
            start = None  # a snapshot that another program began: it is made anew
        if self.s.snapshot not in {"initial", "initial_only", "when_needed"}:
            db = self.statements()
            yield position_only(f"{self.s.prefix}.snapshot", at, log_end(db, server_of(db)))
            return
        if start is None:
            with consistent_view(self.s) as view:
                yield from self._rows(at, view, None, stop)
            return
        yield from self._continued(at, start, stop)

    def _continued(self, at: SourcePartition, start: Offset, stop: Callable[[], bool]) -> Iterator[Chunk]:
        """The rest of a snapshot that was interrupted.

        What was handed on is brought to the place of the new view first, by its changes. `initial_only` wants none.
        """
        if self.s.snapshot == "initial_only":
            with consistent_view(self.s) as view:
                yield from self._rows(at, view, start, stop)
            return
        place = {key: start[key] for key in _SNAPSHOT & start.keys()}
        self._log = Log(self.s, start)
        changes = Changes(
            self.s, self._log, self.catalogue, start, connector=self.connector, statements=self.statements,
            boundary=Boundary(start, self.statements),
        )  # fmt: skip

        def up_to(end: Offset) -> Iterator[Chunk]:
            return (marked(chunk, place) for chunk in changes.chunks_up_to(end, at, stop, _WAIT_S))

        # Most of it before the view is opened: the server keeps old rows for an open view.
        yield from up_to(log_end(self.statements(), self._log.server))
        while not stop():
            with consistent_view(self.s) as view:
                if changes.stands(view.position) > 0:
                    # The log already has a transaction whose rows the view does not show yet.
                    threading.Event().wait(_WAIT_S)
                    continue
                yield from up_to(view.position)
                if not stop():
                    self.close()
                    yield from self._rows(at, view, start, stop)
            return

    def _rows(self, at: SourcePartition, view: View, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        snapshot = Snapshot(self.s, self.connector, self.catalogue, view, view.position)
        return snapshot.chunks(at, start, view.position, stop)

    def _streaming(self, start: Offset) -> Changes:
        """The open log if it stands at `start`, or a new one."""
        if self._changes is not None and self._changes.told == dict(start):
            return self._changes
        self.close()
        self._log = Log(self.s, start)
        self._changes = Changes(
            self.s, self._log, self.catalogue, start, connector=self.connector, statements=self.statements
        )
        return self._changes

    def statements(self) -> Any:
        """A connection for statements; a new one if the last one was lost."""
        if self._db is not None and self._db.open:
            with suppress(pymysql.Error, OSError):
                self._db.ping()
                return self._db
        self._db = connected(self.s)
        return self._db

    def _quiet(self, at: SourcePartition, changes: Changes) -> Iterator[Chunk]:
        """Heartbeats, and positions that move without records."""
        now = time.monotonic()
        position = changes.position
        if self.s.heartbeat_ms and now - self._beat_at >= self.s.heartbeat_ms / 1000:
            self._beat_at = now
            if self.s.heartbeat_query:
                asked(self.statements(), self.s.heartbeat_query)
            topic = f"{self.s.heartbeat_topics}.{self.s.prefix}"
            changes.told = position
            yield heartbeat(topic, self.s.prefix, at, position, SYSTEM_CLOCK.now_us())
        elif position != changes.told and now - self._moved_at >= _IDLE_S:
            changes.told = position
            yield position_only(f"{self.s.prefix}.position", at, position)
        else:
            return
        self._moved_at = now

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
        if self._db is not None and self._db.open:
            self._db.close()
        self._log = self._db = self._changes = None


def marked(chunk: Chunk, place: Offset) -> Chunk:
    """A chunk of changes whose position also says how far the snapshot came."""
    then = {**chunk.next, **place}
    return replace(chunk, next=then, others=tuple(replace(other, next=then) for other in chunk.others))


class MariaDbSource(_BinlogSource):
    """Changes of a MariaDB server."""

    also: ClassVar = ("io.debezium.connector.mariadb.MariaDbConnector",)
    connector = "mariadb"


class MySqlSource(_BinlogSource):
    """Changes of a MySQL server."""

    also: ClassVar = ("io.debezium.connector.mysql.MySqlConnector",)
    connector = "mysql"
