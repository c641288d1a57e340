"""Keys of the MySQL and MariaDB sources: Debezium's."""

from __future__ import annotations

from typing import Final

from twinlog.config.security.places import leads_to_hosts, leads_to_path
from twinlog.config.security.secrets import Secret
from twinlog.pipelines.settings import Setting, setting

_HISTORY: Final = "of no meaning here: the log and the tables themselves tell the columns, there is no history to lose"


@setting
class BinlogSettings:
    """Keys of io.debezium.connector.mysql.MySqlConnector and io.debezium.connector.mariadb.MariaDbConnector."""

    host: str = Setting("database.hostname", "where the database listens", leads=leads_to_hosts)
    port: int = Setting("database.port", "its port", 3306, at_least=1)
    user: str = Setting("database.user", "a user with the rights SELECT and REPLICATION SLAVE")
    password: Secret = Setting("database.password", "password", Secret(""))
    server_id: int = Setting(
        "database.server.id", "number of this reader among all replicas of the server; no other one may have it",
        at_least=1,
    )  # fmt: skip
    ssl_mode: str = Setting(
        "database.ssl.mode", "disabled, preferred, required, verify_ca, verify_identity (MariaDB: disable, trust, "
        "verify-ca, verify-full)", "preferred",
        choices=("disabled", "preferred", "required", "verify_ca", "verify_identity", "disable", "trust", "verify-ca",
                 "verify-full"),
    )  # fmt: skip
    ssl_ca: str = Setting("database.ssl.ca", "PEM file with the authorities", "", leads=leads_to_path)
    ssl_cert: str = Setting("database.ssl.cert", "PEM file with our own certificate", "", leads=leads_to_path)
    ssl_key: str = Setting("database.ssl.key", "PEM file with its key", "", leads=leads_to_path)
    connect_ms: int = Setting("connect.timeout.ms", "how long connecting may take", 30_000, at_least=1)
    prefix: str = Setting("topic.prefix", "first part of the topics' names", also=("database.server.name",))
    database_include: tuple[str, ...] = Setting("database.include.list", "databases, as regular expressions", ())
    database_exclude: tuple[str, ...] = Setting("database.exclude.list", "databases that are left out", ())
    table_include: tuple[str, ...] = Setting("table.include.list", "tables: database.table, as regular expressions", ())
    table_exclude: tuple[str, ...] = Setting("table.exclude.list", "tables that are left out", ())
    column_include: tuple[str, ...] = Setting("column.include.list", "columns: database.table.column", ())
    column_exclude: tuple[str, ...] = Setting("column.exclude.list", "columns that are left out", ())
    snapshot: str = Setting(
        "snapshot.mode", "whether the rows that are there are read first", "initial",
        choices=("initial", "initial_only", "no_data", "schema_only", "never", "when_needed"),
    )  # fmt: skip
    snapshot_rows: int = Setting("snapshot.fetch.size", "rows read at once", 10_240, at_least=1)
    snapshot_threads: int = Setting(
        "snapshot.max.threads", "connections that read rows at the same time", 2, at_least=1
    )
    locking: str = Setting(
        "snapshot.locking.mode", "minimal: a short lock where a consistent position needs one; none: no lock",
        "minimal", choices=("minimal", "minimal_percona", "extended", "none"),
    )  # fmt: skip
    batch_rows: int = Setting("max.batch.size", "changes handed on at once", 2048, at_least=1)
    tombstones: bool = Setting("tombstones.on.delete", "a null value follows a delete", default=True)
    skipped: tuple[str, ...] = Setting("skipped.operations", "c, u, d, t; none: all are handed on", ("t",))
    decimals: str = Setting(
        "decimal.handling.mode", "form of decimal columns", "precise", choices=("precise", "double", "string")
    )
    bigints: str = Setting(
        "bigint.unsigned.handling.mode", "form of BIGINT UNSIGNED", "long", choices=("long", "precise")
    )
    times: str = Setting(
        "time.precision.mode", "form of times", "adaptive_time_microseconds",
        choices=("adaptive_time_microseconds", "connect"),
    )  # fmt: skip
    binary: str = Setting(
        "binary.handling.mode", "form of binary columns", "bytes", choices=("bytes", "base64", "base64-url-safe", "hex")
    )
    failures: str = Setting(
        "event.processing.failure.handling.mode", "what happens to a change that was logged as a statement",
        "fail", choices=("fail", "warn", "skip", "ignore"),
    )  # fmt: skip
    schema_changes: bool = Setting(
        "include.schema.changes", "statements that change tables go to the topic named as topic.prefix", default=True
    )
    heartbeat_ms: int = Setting("heartbeat.interval.ms", "pause between heartbeats; 0: none", 0, at_least=0)
    heartbeat_topics: str = Setting("topic.heartbeat.prefix", "first part of the heartbeats' topic",
                                    "__debezium-heartbeat")  # fmt: skip
    heartbeat_query: str = Setting("heartbeat.action.query", "statement that is run at each heartbeat", "")
    ignore_gtids: bool = Setting(
        "gtid.ignore.on.recovery", "continue by file and position, although the server has GTIDs", default=False
    )
    history_topic: str = Setting("schema.history.internal.kafka.topic", _HISTORY, "")
    history_servers: str = Setting(
        "schema.history.internal.kafka.bootstrap.servers", _HISTORY, "", leads=leads_to_hosts
    )

    @property
    def where(self) -> str:
        return f"{self.host}:{self.port}"
