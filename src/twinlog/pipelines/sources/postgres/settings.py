"""Keys of the PostgreSQL source: Debezium's."""

from __future__ import annotations

from twinlog.config.security.places import leads_to_hosts, leads_to_path
from twinlog.config.security.secrets import Secret
from twinlog.pipelines.settings import Setting, setting


@setting
class PostgresSettings:
    """Keys of io.debezium.connector.postgresql.PostgresConnector."""

    host: str = Setting("database.hostname", "where the database listens", leads=leads_to_hosts)
    port: int = Setting("database.port", "its port", 5432, at_least=1)
    user: str = Setting("database.user", "a user with the right REPLICATION")
    password: Secret = Setting("database.password", "password", Secret(""))
    database: str = Setting("database.dbname", "name of the database")
    sslmode: str = Setting("database.sslmode", "as libpq has it: disable, prefer, require, verify-full", "prefer")
    sslrootcert: str = Setting("database.sslrootcert", "PEM file with the authorities", "", leads=leads_to_path)
    prefix: str = Setting("topic.prefix", "first part of the topics' names", also=("database.server.name",))
    plugin: str = Setting("plugin.name", "output plug-in of the database", "pgoutput", choices=("pgoutput",))
    slot: str = Setting("slot.name", "replication slot; made if it is not there", "debezium")
    drop_slot: bool = Setting(
        "slot.drop.on.stop", "of no meaning here: a slot stays until it is dropped", default=False
    )
    publication: str = Setting("publication.name", "publication; made if it is not there", "dbz_publication")
    autocreate: str = Setting(
        "publication.autocreate.mode", "which tables a new publication has", "all_tables",
        choices=("all_tables", "filtered", "disabled", "no_tables"),
    )  # fmt: skip
    schema_include: tuple[str, ...] = Setting("schema.include.list", "schemas, as regular expressions", ())
    schema_exclude: tuple[str, ...] = Setting("schema.exclude.list", "schemas that are left out", ())
    table_include: tuple[str, ...] = Setting("table.include.list", "tables: schema.table, as regular expressions", ())
    table_exclude: tuple[str, ...] = Setting("table.exclude.list", "tables that are left out", ())
    column_include: tuple[str, ...] = Setting("column.include.list", "columns: schema.table.column", ())
    column_exclude: tuple[str, ...] = Setting("column.exclude.list", "columns that are left out", ())
    snapshot: str = Setting(
        "snapshot.mode", "whether the rows that are there are read first", "initial",
        choices=("initial", "initial_only", "no_data", "never", "when_needed"),
    )  # fmt: skip
    snapshot_rows: int = Setting("snapshot.fetch.size", "rows read at once", 10_240, at_least=1)
    batch_rows: int = Setting("max.batch.size", "changes of one table handed on at once", 2048, at_least=1)
    tombstones: bool = Setting("tombstones.on.delete", "a null value follows a delete", default=True)
    skipped: tuple[str, ...] = Setting("skipped.operations", "c, u, d, t; none: all are handed on", ("t",))
    decimals: str = Setting(
        "decimal.handling.mode", "form of numeric columns", "precise", choices=("precise", "double", "string")
    )
    times: str = Setting(
        "time.precision.mode", "form of times", "adaptive",
        choices=("adaptive", "adaptive_time_microseconds", "connect"),
    )  # fmt: skip
    binary: str = Setting("binary.handling.mode", "form of bytea", "bytes", choices=("bytes", "base64", "hex"))
    unavailable: str = Setting(
        "unavailable.value.placeholder", "stands for large values that the update did not touch",
        "__debezium_unavailable_value",
    )  # fmt: skip
    heartbeat_ms: int = Setting("heartbeat.interval.ms", "pause between heartbeats; 0: none", 0, at_least=0)
    heartbeat_topics: str = Setting("topic.heartbeat.prefix", "first part of the heartbeats' topic",
                                    "__debezium-heartbeat")  # fmt: skip
    heartbeat_query: str = Setting("heartbeat.action.query", "statement that is run at each heartbeat", "")
    status_ms: int = Setting("status.update.interval.ms", "pause between two confirmations", 10_000, at_least=1)
