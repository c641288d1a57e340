"""Connections to MySQL and MariaDB: statements, rows as raw texts, the binary log. Runs on the driver and in workers.

PyMySQL connects, authenticates and sends; what the server then streams is cut into packets here, in large blocks.
"""

from __future__ import annotations

import ssl
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pymysql
from pymysql.connections import MySQLResult
from pymysql.constants import COMMAND

from twinlog.errors import ChangesLost, ChangesUnreadable
from twinlog.pipelines.api import Offset, Retriable
from twinlog.pipelines.sources.binlog.gtids import MySqlGtids
from twinlog.pipelines.sources.binlog.settings import BinlogSettings

_BLOCK: Final = 1 << 18
_LONGEST: Final = 0xFFFFFF
_BEATS_S: Final = 10
_SILENCE_S: Final = 6 * _BEATS_S
"""How long a server that promised a sign of life every _BEATS_S may be silent."""
_NO_FILE, _FORBIDDEN = 1236, frozenset({1044, 1045, 1142, 1227})
_DUMP_GTID: Final = 0x1E
_SESSION: Final = "SET time_zone='+00:00', SESSION net_write_timeout=600, sql_mode=''"


def said(error: BaseException) -> str:
    return str(error.args[-1] if error.args else error)


def connected(s: BinlogSettings, **more: Any) -> Any:
    """A connection for statements. Raises Retriable, ChangesUnreadable."""
    try:
        return pymysql.connect(
            host=s.host, port=s.port, user=s.user, password=s.password.reveal(), charset="utf8mb4", autocommit=True,
            connect_timeout=max(1, s.connect_ms // 1000), init_command=_SESSION, **_tls(s), **more,
        )  # fmt: skip
    except (pymysql.Error, OSError) as error:
        if isinstance(error, pymysql.Error) and error.args and error.args[0] in _FORBIDDEN:
            raise ChangesUnreadable(s.where, said(error)) from None
        raise Retriable(f"{s.where}: {said(error)}") from None


def _tls(s: BinlogSettings) -> dict[str, Any]:
    """`preferred` takes TLS if the server has it; only the last two modes look at the server's certificate."""
    mode = s.ssl_mode.replace("-", "_")
    if mode in {"disabled", "disable"}:
        return {"ssl_disabled": True}
    if mode == "preferred":
        return {}
    context = ssl.create_default_context(cafile=s.ssl_ca or None)
    context.check_hostname = mode in {"verify_identity", "verify_full"}
    context.verify_mode = ssl.CERT_REQUIRED if mode.startswith("verify") else ssl.CERT_NONE
    if s.ssl_cert:
        context.load_cert_chain(s.ssl_cert, s.ssl_key or None)
    return {"ssl": context}


def asked(db: Any, text: str, values: Sequence[Any] | None = None) -> list[Any]:
    with db.cursor() as cursor:
        cursor.execute(text, values)
        return list(cursor.fetchall())


def one_row(db: Any, *texts: str) -> dict[str, Any]:
    """The first row of the first statement that the server knows, by the names of its columns in small letters."""
    for text in texts:
        try:
            with db.cursor(pymysql.cursors.DictCursor) as cursor:
                cursor.execute(text)
                row = cursor.fetchone()
        except pymysql.ProgrammingError:
            continue
        return {key.lower(): value for key, value in (row or {}).items()}
    return {}


def variable(db: Any, name: str) -> str:
    rows = asked(db, "SHOW GLOBAL VARIABLES LIKE %s", [name])
    return str(rows[0][1]) if rows else ""


@dataclass(frozen=True)
class Server:
    """What matters about a server."""

    mariadb: bool
    gtids: bool  # transactions have names


def server_of(db: Any) -> Server:
    mariadb = "mariadb" in str(asked(db, "SELECT VERSION()")[0][0]).lower()
    return Server(mariadb, gtids=mariadb or variable(db, "gtid_mode").upper().startswith("ON"))


def log_end(db: Any, server: Server) -> dict[str, Any]:
    """Where the log ends now: file, pos, and gtids if there are any. Empty when no log is written."""
    status = one_row(db, "SHOW BINARY LOG STATUS", "SHOW BINLOG STATUS", "SHOW MASTER STATUS")
    if not status:
        return {}
    made: dict[str, Any] = {"file": status["file"], "pos": int(status["position"])}
    if server.mariadb:
        gtids = asked(db, "SELECT BINLOG_GTID_POS(%s, %s)", [made["file"], made["pos"]])[0][0]
    else:
        gtids = str(status.get("executed_gtid_set") or "").replace("\n", "")
    return made | ({"gtids": gtids} if gtids and server.gtids else {})


class Packets:
    """Packets of a stream of blocks: a length of three bytes, a number, and so many bytes."""

    def __init__(self, block: Callable[[], bytes]) -> None:
        self._block = block
        self._data = b""
        self._at = 0

    def next(self) -> bytes:
        """The next packet. What `block` raises is raised; then the next call continues."""
        made = b""
        while True:
            data, at = self._data, self._at
            if len(data) - at >= 4:
                end = at + 4 + (data[at] | data[at + 1] << 8 | data[at + 2] << 16)
                if len(data) >= end:
                    self._at = end
                    if end - at - 4 < _LONGEST:
                        return made + data[at + 4 : end] if made else data[at + 4 : end]
                    made += data[at + 4 : end]
                    continue
                if end - at > 2 * _BLOCK:
                    self._gather(end - at)
                    continue
            self._data, self._at = data[at:] + self._block(), 0

    def _gather(self, size: int) -> None:
        """A long packet: its blocks are joined once."""
        parts = [self._data[self._at :]]
        have = len(parts[0])
        try:
            while have < size:
                parts.append(self._block())
                have += len(parts[-1])
        finally:
            self._data, self._at = b"".join(parts), 0


def raw_rows(db: Any, text: str) -> Iterator[bytes]:
    """The rows of a SELECT as the server sends them: each value with its length before it. Raises pymysql.Error."""
    db._execute_command(COMMAND.COM_QUERY, text)  # PyMySQL has no public door for raw rows
    head = MySQLResult(db)
    head.init_unbuffered_query()
    head.unbuffered_active = False  # it would read the rows itself when it is let go
    reader = db._rfile

    def block() -> bytes:
        data: bytes = reader.read1(_BLOCK)
        if not data:
            raise pymysql.OperationalError(2013, "the server closed the connection")
        return data

    packets = Packets(block)
    while True:
        packet = packets.next()
        if packet[:1] == b"\xfe" and len(packet) < 9:
            db._result = None  # all was read
            return
        if packet[:1] == b"\xff":
            raise pymysql.OperationalError(*_error(packet))
        yield packet


def _error(packet: bytes) -> tuple[int, str]:
    code = struct.unpack_from("<H", packet, 1)[0]
    text = packet[9:] if packet[3:4] == b"#" else packet[3:]
    return code, text.decode(errors="replace")


class Log:
    """A connection that receives the log from a position on."""

    def __init__(self, s: BinlogSettings, start: Offset) -> None:
        self._s = s
        self._start = start
        self._db: Any = connected(s)
        try:
            self.server = server_of(self._db)
            self.checksums = variable(self._db, "binlog_checksum").upper() == "CRC32"
            self._ask()
        except (pymysql.Error, OSError) as error:
            self.close()
            raise self._failed(error) from error
        self._packets = Packets(self._block)
        self._heard_at = time.monotonic()

    def _ask(self) -> None:
        s, start = self._s, self._start
        gtids = "" if s.ignore_gtids or not self.server.gtids else str(start.get("gtids") or "")
        statements = [
            "SET @master_binlog_checksum = @@binlog_checksum, @source_binlog_checksum = @@binlog_checksum",
            f"SET @master_heartbeat_period = {_BEATS_S * 10**9}, @source_heartbeat_period = {_BEATS_S * 10**9}",
        ]
        if self.server.mariadb:
            statements.append("SET @mariadb_slave_capability = 4")
            if gtids:
                statements.append(f"SET @slave_connect_state = {self._db.escape(gtids)}, @slave_gtid_strict_mode = 0, "
                                  "@slave_gtid_ignore_duplicates = 0")  # fmt: skip
        for statement in statements:
            asked(self._db, statement)
        host = b"twinlog"
        register = struct.pack("<IB", s.server_id, len(host)) + host + struct.pack("<BBHII", 0, 0, 0, 0, 0)
        self._db._execute_command(COMMAND.COM_REGISTER_SLAVE, register)
        self._db._read_ok_packet()
        file, pos = str(start["file"]).encode(), int(str(start["pos"]))
        if gtids and not self.server.mariadb:
            known = MySqlGtids(gtids).encoded()
            body = struct.pack("<HII", 4, s.server_id, 0) + struct.pack("<QI", 4, len(known)) + known
            self._db._execute_command(_DUMP_GTID, body)
            return
        if gtids:
            file, pos = b"", 4
        body = struct.pack("<IHI", pos, 0, s.server_id) + file
        self._db._execute_command(COMMAND.COM_BINLOG_DUMP, body)

    def next(self, wait_s: float) -> bytes | None:
        """The next event; None when nothing came in time. Raises ChangesLost, ChangesUnreadable, Retriable."""
        try:
            self._db._sock.settimeout(max(wait_s, 0.001))
            packet = self._packets.next()
        except TimeoutError:
            if time.monotonic() - self._heard_at > _SILENCE_S:
                raise Retriable(f"{self._s.where}: nothing was heard of the server for {_SILENCE_S} s") from None
            return None
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from error
        self._heard_at = time.monotonic()
        if packet[:1] == b"\x00":
            return packet[1:]
        if packet[:1] == b"\xff":
            raise self._failed(pymysql.OperationalError(*_error(packet)))
        raise Retriable(f"{self._s.where}: the server ended the log")

    def _block(self) -> bytes:
        data: bytes = self._db._sock.recv(_BLOCK)
        if not data:
            raise pymysql.OperationalError(2013, "the server closed the connection")
        return data

    def _failed(self, error: BaseException) -> Exception:
        """What an answer of the server means. A log that is gone comes back by no waiting."""
        code = error.args[0] if isinstance(error, pymysql.Error) and error.args else 0
        text = said(error)
        if code == _NO_FILE and "server_uuid" not in text and "server_id" not in text:
            at = self._start.get("gtids") or f"{self._start.get('file')}:{self._start.get('pos')}"
            return ChangesLost(self._s.where, text, str(at))
        if code in _FORBIDDEN:
            return ChangesUnreadable(self._s.where, text)
        return Retriable(f"{self._s.where}: {text}")

    def close(self) -> None:
        if self._db is not None:
            self._db._force_close()  # the server sends for ever: a polite end would wait for it
            self._db = None
