"""Rows of a SELECT as columns of raw texts. Runs in Python workers.

The server sends a row as one packet: before each value stands its length, 251 stands for null. As for the log, a
function is compiled that walks over the values of a packet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final

import pymysql

from twinlog.pipelines.api import Retriable
from twinlog.pipelines.sources.binlog.connection import Server, asked, connected, log_end, raw_rows, said, server_of
from twinlog.pipelines.sources.binlog.events import length_coded
from twinlog.pipelines.sources.binlog.settings import BinlogSettings

_TRIES: Final = 5
_BEGIN: Final = "START TRANSACTION WITH CONSISTENT SNAPSHOT"


@cache
def _walk(width: int) -> Callable[..., int]:
    names: dict[str, Any] = {"L": length_coded}
    appends = [f"a{n}" for n in range(width)]
    lines = ["def walk(packets, " + ", ".join(appends) + "):", " count = 0", " for b in packets:", "  p = 0"]
    for append in appends:
        lines += [
            "  n = b[p]",
            f"  if n < 251: {append}(b[p+1:p+1+n]); p += 1 + n",
            f"  elif n == 251: {append}(None); p += 1",
            f"  else: n, p = L(b, p); {append}(b[p:p+n]); p += n",
        ]
    exec(compile("\n".join([*lines, "  count += 1", " return count"]), "<packets>", "exec"), names)  # noqa: S102
    made: Callable[..., int] = names["walk"]
    return made


def columns_of(db: Any, text: str, width: int) -> list[list[bytes | None]]:
    """All rows of a SELECT, column by column."""
    columns: list[list[bytes | None]] = [[] for _ in range(width)]
    _walk(width)(raw_rows(db, text), *(column.append for column in columns))
    return columns


class View:
    """Connections that see the tables as they were at one position of the log."""

    def __init__(self, connections: list[Any], position: dict[str, Any]) -> None:
        self.connections, self.position = connections, position

    def close(self) -> None:
        for connection in self.connections:
            with suppress(pymysql.Error, OSError):
                connection._force_close()  # a query may be under way


@contextmanager
def consistent_view(s: BinlogSettings) -> Iterator[View]:
    """Open a consistent view of tables. MariaDB reports its position; MySQL needs a short lock. Raises Retriable."""
    opened: list[Any] = []
    try:
        view = View(opened, {})
        opened.extend(connected(s, read_timeout=3600) for _ in range(s.snapshot_threads))
        view.position = _position(s, opened)
        yield view
    except (pymysql.Error, OSError) as error:
        raise Retriable(f"{s.where}: {said(error)}") from error
    finally:
        View(opened, {}).close()


def _position(s: BinlogSettings, connections: list[Any]) -> dict[str, Any]:
    server = server_of(connections[0])
    if server.mariadb:
        for _ in range(_TRIES):
            positions = [_begin_and_look(connection) for connection in connections]
            if positions[0] and all(position == positions[0] for position in positions):
                return _with_gtids(connections[0], positions[0])
        if positions[0] and s.locking == "none":
            for connection in connections[1:]:  # tables change all the time: one connection is consistent by itself
                connection._force_close()
            del connections[1:]
            return _with_gtids(connections[0], _begin_and_look(connections[0]))
    return _locked(s, connections, server)


def _begin_and_look(db: Any) -> dict[str, Any]:
    asked(db, _BEGIN)
    status = {str(name).lower(): value for name, value in asked(db, "SHOW STATUS LIKE 'binlog_snapshot_%'")}
    if not status.get("binlog_snapshot_file"):
        return {}
    return {"file": status["binlog_snapshot_file"], "pos": int(status["binlog_snapshot_position"])}


def _with_gtids(db: Any, position: dict[str, Any]) -> dict[str, Any]:
    gtids = asked(db, "SELECT BINLOG_GTID_POS(%s, %s)", [position["file"], position["pos"]])[0][0]
    return position | ({"gtids": gtids} if gtids else {})


def _locked(s: BinlogSettings, connections: list[Any], server: Server) -> dict[str, Any]:
    """All tables are locked while the connections begin. Without the right to lock, the position comes first.

    Then rows can be newer than the position. Their changes follow from the log, so every table ends up right.
    """
    with connected(s) as lock_holder:
        if s.locking != "none":
            with suppress(pymysql.OperationalError):
                asked(lock_holder, "FLUSH TABLES WITH READ LOCK")
        position = log_end(lock_holder, server)
        for connection in connections:
            asked(connection, _BEGIN)
        asked(lock_holder, "UNLOCK TABLES")
    return position
