"""The replication connection to PostgreSQL: slot, start, changes, confirmations. Runs in a Python worker.

libpq speaks the protocol; psycopg gives access to it. Ordinary statements go over a connection of their own.
"""

from __future__ import annotations

import select
import struct
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import make_conninfo

from twinlog.errors import ChangesLost, ChangesUnreadable
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Retriable
from twinlog.pipelines.sources.postgres.pgoutput import EPOCH_US, lsn_of, lsn_text
from twinlog.pipelines.sources.postgres.settings import PostgresSettings

_OPTIONS: Final = (
    "-c datestyle=ISO -c timezone=UTC -c extra_float_digits=1 -c intervalstyle=iso_8601 -c bytea_output=hex"
)
_END_S: Final = 3.0
"""How long closing waits for the server."""
_DATA, _ALIVE = ord("w"), ord("k")
_MISSING, _BUSY, _LIMIT = "42704", "55006", "53400"


def conninfo(s: PostgresSettings, **more: str) -> str:
    options = {
        "host": s.host, "port": str(s.port), "user": s.user, "dbname": s.database, "sslmode": s.sslmode,
        "options": _OPTIONS, "application_name": "twinlog", "connect_timeout": "10", **more,
    }  # fmt: skip
    if s.password.reveal():
        options["password"] = s.password.reveal()
    if s.sslrootcert:
        options["sslrootcert"] = s.sslrootcert
    return make_conninfo("", **options)


def connected(s: PostgresSettings) -> psycopg.Connection[Any]:
    """A connection for statements. Raises Retriable."""
    try:
        return psycopg.connect(conninfo(s), autocommit=True)
    except psycopg.OperationalError as error:
        raise Retriable(f"{s.host}:{s.port}: {error}") from error


@dataclass(frozen=True)
class NewSlot:
    """A slot that was just made: changes from `lsn` on are kept, `snapshot` shows the rows as they were there."""

    lsn: int
    snapshot: str


class Replication:
    """One replication connection."""

    def __init__(self, s: PostgresSettings) -> None:
        self._s = s
        self.where = self.place(s)
        self._pg = pq.PGconn.connect(conninfo(s, replication="database").encode())
        if self._pg.status != pq.ConnStatus.OK:
            reason = self._pg.error_message.decode(errors="replace").strip()
            self._pg.finish()
            raise Retriable(f"{self.where}: {reason}")
        self._flushed = 0
        self.server_end = 0  # everything before this place was sent
        self._answered_at = time.monotonic()

    @staticmethod
    def place(s: PostgresSettings) -> str:
        return f"{s.host}:{s.port}/{s.database}"

    def create_slot(self) -> NewSlot:
        """Make the slot. The snapshot lives as long as this connection does nothing else."""
        name = sql.Identifier(self._s.slot).as_string()
        return self._made(f"CREATE_REPLICATION_SLOT {name} LOGICAL pgoutput EXPORT_SNAPSHOT")

    def _made(self, command: str) -> NewSlot:
        result = self._run(command)
        lsn, snapshot = result.get_value(0, 1), result.get_value(0, 2)
        return NewSlot(lsn_of((lsn or b"").decode()), (snapshot or b"").decode())

    def view(self) -> NewSlot:
        """A place in the log, and a snapshot of the rows as they were there. Its slot goes with this connection."""
        name = f"{self._s.slot[:40]}_view_{uuid.uuid4().hex[:8]}"
        return self._made(f"CREATE_REPLICATION_SLOT {name} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT")

    def start(self, lsn: int) -> None:
        """Begin to receive changes of transactions that end behind `lsn`. Raises ChangesLost, Retriable."""
        name = sql.Identifier(self._s.slot).as_string()
        publication = sql.Literal(self._s.publication).as_string()
        options = f"proto_version '1', publication_names {publication}"
        command = f"START_REPLICATION SLOT {name} LOGICAL {lsn_text(lsn)} ({options})"
        self._run(command, lsn, expect=pq.ExecStatus.COPY_BOTH)
        self._flushed = lsn
        self._pg.nonblocking = 1

    def _run(self, command: str, lsn: int = 0, expect: pq.ExecStatus = pq.ExecStatus.TUPLES_OK) -> Any:
        result = self._pg.exec_(command.encode())
        if result.status == expect:
            return result
        code = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        message = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message).decode()
        if code == _MISSING or "can no longer" in message or "invalidated" in message:
            raise ChangesLost(self.where, message, lsn_text(lsn))
        if code in {_BUSY, _LIMIT} or not code:
            raise Retriable(f"{self.where}: {message}")
        raise ChangesUnreadable(self.where, message)

    def next(self, wait_s: float) -> tuple[int, memoryview] | None:
        """The next message with its LSN; None when nothing came in time. Raises Retriable."""
        size, data = self._pg.get_copy_data(1)
        if size == 0:
            self._answer()
            ready, _, _ = select.select([self._pg.socket], [], [], wait_s)
            if not ready:
                return None
            self._consume()
            size, data = self._pg.get_copy_data(1)
        if size > 0:
            return self._message(data)
        if size == 0:
            return None
        result = self._pg.get_result()
        reason = "the server ended the stream" if result is None else result.error_message.decode(errors="replace")
        raise Retriable(f"{self.where}: {reason.strip()}")

    def _consume(self) -> None:
        try:
            self._pg.consume_input()
        except psycopg.OperationalError as error:
            raise Retriable(f"{self.where}: {error}") from error

    def _message(self, data: memoryview) -> tuple[int, memoryview] | None:
        if data[0] == _DATA:
            return struct.unpack_from(">q", data, 1)[0], data[25:]
        if data[0] == _ALIVE:
            end, _, wants = struct.unpack_from(">qqB", data, 1)
            self.server_end = end
            if wants:
                self._answer(now=True)
        return None

    def confirm(self, lsn: int) -> None:
        """The server may forget what stands before `lsn`."""
        self._flushed = max(self._flushed, lsn)

    def ask(self) -> None:
        """Let the server say how far it has sent."""
        self._answer(now=True, back=True)

    def _answer(self, *, now: bool = False, back: bool = False) -> None:
        elapsed = time.monotonic() - self._answered_at
        if not now and elapsed < self._s.status_ms / 1000:
            return
        self._answered_at = time.monotonic()
        at = SYSTEM_CLOCK.now_us() - EPOCH_US
        self._pg.put_copy_data(struct.pack(">cqqqqB", b"r", self._flushed, self._flushed, self._flushed, at, back))
        self._flush()

    def _flush(self) -> None:
        while self._pg.flush():
            select.select([], [self._pg.socket], [], 1.0)

    def close(self) -> None:
        """Tell what is confirmed, and end. The slot is free when this returns, if the server answers in time."""
        try:
            if self._flushed:
                self._answer(now=True)
                self._pg.put_copy_end(None)
                self._flush()
                self._drain()
        except psycopg.Error:
            pass  # the connection is broken: the server frees the slot when it notices
        self._pg.finish()

    def _drain(self) -> None:
        until = time.monotonic() + _END_S
        while time.monotonic() < until:
            size, _ = self._pg.get_copy_data(1)
            if size < 0:
                return
            if size == 0:
                select.select([self._pg.socket], [], [], _END_S / 10)
                self._pg.consume_input()


def slot_exists(db: psycopg.Connection[Any], slot: str) -> bool:
    return db.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", (slot,)).fetchone() is not None


def wal_end(db: psycopg.Connection[Any]) -> int:
    """The place up to which the server, or a standby, has its log."""
    (row,) = db.execute(
        "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END"
        " - '0/0'::pg_lsn)::bigint"
    ).fetchall()
    return int(row[0])


Wanted = Callable[[str, str], bool]


def ensure_publication(db: psycopg.Connection[Any], s: PostgresSettings, tables: list[tuple[str, str]]) -> None:
    """Make the publication unless it is there. Raises ChangesUnreadable."""
    if db.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", (s.publication,)).fetchone():
        return
    if s.autocreate == "disabled":
        raise ChangesUnreadable(f"{s.host}:{s.port}/{s.database}", f"there is no publication {s.publication}, and "
                                "publication.autocreate.mode=disabled forbids to make it")  # fmt: skip
    name = sql.Identifier(s.publication)
    if s.autocreate == "all_tables":
        db.execute(sql.SQL("CREATE PUBLICATION {} FOR ALL TABLES").format(name))
    elif s.autocreate == "filtered":
        listed = sql.SQL(", ").join(sql.Identifier(*table) for table in tables)
        db.execute(sql.SQL("CREATE PUBLICATION {} FOR TABLE {}").format(name, listed))
    else:
        db.execute(sql.SQL("CREATE PUBLICATION {}").format(name))
