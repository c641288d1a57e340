"""The PostgreSQL source: changes of tables in Debezium's record shape, by logical replication. Runs in a Python worker.

A position is Debezium's, with two members of our own: `end_lsn` is where the last finished transaction ends, `done` how
many changes of the next one were handed on. The server sends a transaction as a whole and always in the same order, so
counting is exact:

    … Commit | Begin  change change change  change … Commit
           end_lsn          done = 3
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Final

import psycopg
from psycopg import sql

from twinlog.errors import ChangesLost
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, Finding, Offset, Retriable, Schema, SourcePartition
from twinlog.pipelines.sources.debezium.envelope import HEARTBEAT, HEARTBEAT_KEY, heartbeat, position_only
from twinlog.pipelines.sources.postgres.boundary import Boundary
from twinlog.pipelines.sources.postgres.catalogue import Catalogue
from twinlog.pipelines.sources.postgres.changes import Changes
from twinlog.pipelines.sources.postgres.pgoutput import lsn_text
from twinlog.pipelines.sources.postgres.replication import (
    Replication,
    connected,
    ensure_publication,
    slot_exists,
    wal_end,
)
from twinlog.pipelines.sources.postgres.settings import PostgresSettings
from twinlog.pipelines.sources.postgres.snapshot import Snapshot

_WAIT_S: Final = 0.25
_IDLE_S: Final = 5.0
"""How often the position moves while only other tables change."""


_SNAPSHOT: Final = frozenset({"snapshot", "table", "key", "after", "whole"})


class PostgresSource:
    """Changes of a PostgreSQL database."""

    also: ClassVar = ("io.debezium.connector.postgresql.PostgresConnector",)
    settings: ClassVar = PostgresSettings
    waits = True

    def __init__(self, s: PostgresSettings) -> None:
        self.s = s
        self.catalogue = Catalogue(s)
        self._at = SourcePartition({"server": s.prefix})
        self._replication: Replication | None = None
        self._db: psycopg.Connection[Any] | None = None
        self._changes: Changes | None = None
        self._moved_at = self._beat_at = time.monotonic()

    def partitions(self) -> Sequence[SourcePartition]:
        return [self._at]

    def check(self) -> Iterable[Finding]:
        try:
            with connected(self.s) as db:
                yield from self._findings(db)
        except (Retriable, psycopg.Error) as error:
            yield Finding("database.hostname", str(error))

    def _findings(self, db: psycopg.Connection[Any]) -> Iterator[Finding]:
        level = db.execute("SHOW wal_level").fetchone()
        if level is None or level[0] != "logical":
            yield Finding("database.hostname", f"wal_level is {level and level[0]}, not logical", "error",
                          "Set wal_level=logical in postgresql.conf and restart the database.")  # fmt: skip
        may = db.execute("SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
        if may is None or not may[0]:
            yield Finding("database.user", "has no right to replicate", "error", "ALTER ROLE … REPLICATION")
        tables = self.catalogue.load(db)
        if not tables:
            yield Finding("table.include.list", "no table is chosen")
        for schema, name in (table for table, facts in tables.items() if not any(fact.in_key for fact in facts)):
            yield Finding(
                "table.include.list", f"{schema}.{name} has no primary key: its records have no key, and updates and "
                "deletes need REPLICA IDENTITY FULL", "warning",
            )  # fmt: skip

    def streams(self) -> Iterable[tuple[str, Schema | None, Schema]]:
        with connected(self.s) as db:
            for schema, name in self.catalogue.load(db):
                table = self.catalogue.stream(schema, name).table
                yield table.topic, table.key_schema, table.value
        if self.s.heartbeat_ms:
            yield f"{self.s.heartbeat_topics}.{self.s.prefix}", HEARTBEAT_KEY, HEARTBEAT

    def read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        try:
            yield from self._read(at, start, stop)
        except Retriable:
            self.close()
            raise
        except psycopg.OperationalError as error:
            self.close()
            raise Retriable(f"{self.s.host}:{self.s.port}: {error}") from error

    def _read(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        if start is None or start.get("snapshot"):
            yield from self._first(at, start, stop)
            return
        if self.s.snapshot == "initial_only":
            threading.Event().wait(_WAIT_S)
            return
        try:
            changes = self._streaming(start)
        except ChangesLost:
            if self.s.snapshot != "when_needed":
                raise
            yield from self._first(at, None, stop)
            return
        yield from changes.chunks(at, stop, _WAIT_S)
        yield from self._quiet(at, changes)

    def _first(self, at: SourcePartition, start: Offset | None, stop: Callable[[], bool]) -> Iterator[Chunk]:
        """Make the slot, and read the rows that are there. Changes from then on wait in the slot."""
        self.close()
        if start is not None and "table" not in start:
            start = None  # a snapshot that another program began: it is made anew
        db = self.statements()
        tables = self.catalogue.load(db)
        ensure_publication(db, self.s, list(tables))
        exists = slot_exists(db, self.s.slot)
        if self.s.snapshot in {"no_data", "never"}:
            yield position_only(f"{self.s.prefix}.snapshot", at, self._without_rows(db, exists=exists))
        elif not exists and start is not None:
            where = Replication.place(self.s)
            raise ChangesLost(where, f"the slot {self.s.slot} is gone", lsn_text(int(str(start["lsn"]))))
        elif start is None or self.s.snapshot == "initial_only":
            with self._view(permanent=not exists) as (reader, lsn):
                yield from self._rows(reader, lsn, at, start, stop)
        else:
            yield from self._continued(at, start, stop)

    def _without_rows(self, db: psycopg.Connection[Any], *, exists: bool) -> dict[str, Any]:
        """Where changes begin that a slot keeps; one that was made beforehand may keep earlier ones."""
        if not exists:
            with closing(Replication(self.s)) as replication:
                lsn = replication.create_slot().lsn
            return _position(lsn, lsn, 0)
        row = db.execute(
            "SELECT (confirmed_flush_lsn - '0/0'::pg_lsn)::bigint FROM pg_replication_slots WHERE slot_name = %s",
            (self.s.slot,),
        ).fetchone()
        lsn = int(row[0]) if row else 0
        return _position(lsn, lsn, 0)

    @contextmanager
    def _view(self, *, permanent: bool = False) -> Iterator[tuple[psycopg.Connection[Any], int]]:
        """A connection that sees all rows as they were at one place of the log, and that place.

        The server gives both with a new slot: the connector's own one, or one that is gone at once.
        """
        with connected(self.s) as reader, reader.transaction():
            with closing(Replication(self.s)) as replication:
                made = replication.create_slot() if permanent else replication.view()
                reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                reader.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(made.snapshot)))
            yield reader, made.lsn

    def _continued(self, at: SourcePartition, start: Offset, stop: Callable[[], bool]) -> Iterator[Chunk]:
        """The rest of a snapshot that was interrupted.

        What was handed on is brought to the place of the new view first, by its changes.
        """
        place = {key: start[key] for key in _SNAPSHOT & start.keys()}
        begun = {key: value for key, value in start.items() if key not in _SNAPSHOT}
        begun = begun if "end_lsn" in begun else _position(int(str(start["lsn"])), int(str(start["lsn"])), 0)
        with closing(Replication(self.s)) as replication:
            boundary = Boundary(start, self.statements)
            changes = Changes(self.s, replication, self.catalogue, self.statements(), begun, boundary=boundary)
            replication.start(changes.restart_lsn)

            def up_to(lsn: int) -> Iterator[Chunk]:
                for chunk in changes.chunks_up_to(lsn, at, stop, _WAIT_S):
                    yield replace(chunk, next={**chunk.next, **place})

            # Most of it before the view is opened: the server keeps old rows for an open view.
            yield from up_to(wal_end(self.statements()))
            if stop():
                return
            with self._view() as (reader, lsn):
                yield from up_to(lsn)
                if not stop():
                    replication.close()
                    yield from self._rows(reader, lsn, at, start, stop)

    def _rows(
        self, reader: psycopg.Connection[Any], lsn: int, at: SourcePartition, start: Offset | None,
        stop: Callable[[], bool],
    ) -> Iterator[Chunk]:  # fmt: skip
        snapshot = Snapshot(self.s, reader, self.catalogue, lsn)
        return snapshot.chunks(at, start, _position(lsn, lsn, 0), stop)

    def _streaming(self, start: Offset) -> Changes:
        """The open stream if it stands at `start`, or a new one."""
        if self._changes is not None and self._changes.told == dict(start):
            return self._changes
        self.close()
        replication = Replication(self.s)
        self._replication = replication
        changes = Changes(self.s, replication, self.catalogue, self.statements(), start)
        replication.start(changes.restart_lsn)
        self._changes = changes
        return changes

    def statements(self) -> psycopg.Connection[Any]:
        if self._db is None or self._db.closed:
            self._db = connected(self.s)
        return self._db

    def _quiet(self, at: SourcePartition, changes: Changes) -> Iterator[Chunk]:
        """Heartbeats, and positions that move without records."""
        now = time.monotonic()
        if self.s.heartbeat_ms and now - self._beat_at >= self.s.heartbeat_ms / 1000:
            self._beat_at = now
            if self.s.heartbeat_query:
                self.statements().execute(self.s.heartbeat_query.encode())
            topic = f"{self.s.heartbeat_topics}.{self.s.prefix}"
            yield heartbeat(topic, self.s.prefix, at, changes.position, SYSTEM_CLOCK.now_us())
        elif changes.position != changes.told and now - self._moved_at >= _IDLE_S:
            yield position_only(f"{self.s.prefix}.position", at, changes.position)
        else:
            return
        changes.told = dict(changes.position)
        self._moved_at = now

    def committed(self, at: SourcePartition, offset: Offset) -> None:  # noqa: ARG002
        if self._replication is not None and not offset.get("snapshot"):
            self._replication.confirm(int(str(offset.get("end_lsn", 0))))

    def close(self) -> None:
        if self._replication is not None:
            self._replication.close()
        if self._db is not None:
            self._db.close()
        self._replication = self._db = self._changes = None


def _position(lsn: int, end_lsn: int, done: int) -> dict[str, Any]:
    return {"lsn_proc": lsn, "lsn_commit": lsn, "lsn": lsn, "end_lsn": end_lsn, "done": done}
