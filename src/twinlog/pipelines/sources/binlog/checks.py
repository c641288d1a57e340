"""What a MySQL or MariaDB server must be set to, and which rights the user needs. Runs on the driver, for validate."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pymysql
from pymysql.constants import COMMAND

from twinlog.errors import ChangesUnreadable
from twinlog.pipelines.api import Finding, Retriable
from twinlog.pipelines.sources.binlog.catalogue import Catalogue
from twinlog.pipelines.sources.binlog.connection import asked, connected, log_end, said, server_of, variable
from twinlog.pipelines.sources.binlog.settings import BinlogSettings


def findings(s: BinlogSettings, connector: str, catalogue: Catalogue) -> Iterator[Finding]:
    try:
        with connected(s) as db:
            yield from _of_server(s, connector, db)
            yield from _of_rights(s, db)
            yield from _of_tables(catalogue, db)
    except ChangesUnreadable as error:
        yield Finding("database.user", error.problem)
    except (Retriable, pymysql.Error, OSError) as error:
        yield Finding("database.hostname", said(error))
    if s.history_topic or s.history_servers:
        yield Finding("schema.history.internal.kafka.topic", "is not used: the log and the tables tell the columns",
                      "info")  # fmt: skip


def _of_server(s: BinlogSettings, connector: str, db: Any) -> Iterator[Finding]:
    mariadb = server_of(db).mariadb
    if mariadb != (connector == "mariadb"):
        other = "mariadb.MariaDbConnector" if mariadb else "mysql.MySqlConnector"
        yield Finding("connector.class", f"the server is {'MariaDB' if mariadb else 'MySQL'}: "
                      f"io.debezium.connector.{other} is the class for it", "warning")  # fmt: skip
    if variable(db, "log_bin").upper() not in {"ON", "1"}:
        yield Finding("database.hostname", "the server writes no binary log", remedy="Start it with log_bin=ON.")
        return
    for name, wanted in (("binlog_format", "ROW"), ("binlog_row_image", "FULL")):
        value = variable(db, name).upper()
        if value and value != wanted:
            yield Finding("database.hostname", f"{name} of the server is {value}; changes are read from {wanted} only",
                          remedy=f"SET GLOBAL {name}={wanted}; sessions that are open keep the old value.")  # fmt: skip
    if variable(db, "binlog_row_metadata").upper() != "FULL":
        yield Finding(
            "database.hostname", "the log does not name columns (binlog_row_metadata is not FULL): a table that is "
            "altered while the connector is stopped or far behind cannot be read", "warning",
            "SET GLOBAL binlog_row_metadata=FULL.",
        )  # fmt: skip
    if variable(db, "server_id") == str(s.server_id):
        yield Finding("database.server.id", "this is the number of the server itself; take another one")


def _of_rights(s: BinlogSettings, db: Any) -> Iterator[Finding]:
    try:
        log_end(db, server_of(db))
    except pymysql.Error as error:
        yield Finding("database.user", f"may not ask where the log ends: {said(error)}",
                      remedy=f"GRANT REPLICATION CLIENT ON *.* TO {s.user}.")  # fmt: skip
    body = struct.pack("<IB", s.server_id, 0) + struct.pack("<BBHII", 0, 0, 0, 0, 0)
    with suppress(pymysql.Error, OSError), connected(s) as other:
        try:
            other._execute_command(COMMAND.COM_REGISTER_SLAVE, body)
            other._read_ok_packet()
        except pymysql.Error as error:
            yield Finding("database.user", f"may not read the log: {said(error)}",
                          remedy=f"GRANT REPLICATION SLAVE ON *.* TO {s.user}.")  # fmt: skip


def _of_tables(catalogue: Catalogue, db: Any) -> Iterator[Finding]:
    tables = catalogue.load(db)
    if not tables:
        yield Finding("table.include.list", "no table is chosen, or the user may not SELECT from any that is")
    for database, name in tables:
        try:
            stream = catalogue.stream(database, name)
        except ValueError as error:
            yield Finding("column.exclude.list", f"{database}.{name}: {error}")
            continue
        if not stream.table.key:
            yield Finding("table.include.list", f"{stream.full} has no key: its records have none, too", "warning")
        try:
            asked(db, f"SELECT 1 FROM `{database.replace('`', '``')}`.`{name.replace('`', '``')}` LIMIT 0")
        except pymysql.Error as error:
            yield Finding("database.user", f"may not read {stream.full}: {said(error)}",
                          remedy="GRANT SELECT on the table; the rows that are there are read first.")  # fmt: skip
