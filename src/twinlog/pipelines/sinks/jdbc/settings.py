"""Keys of the JDBC sink, Confluent's and Debezium's names."""

from __future__ import annotations

from twinlog.config.security.secrets import Secret
from twinlog.pipelines.databases.addresses import leads_to_database
from twinlog.pipelines.settings import Setting, setting


@setting
class JdbcSinkSettings:
    """The settings of the JDBC sink."""

    url: str = Setting("connection.url", "JDBC URL of the database", leads=leads_to_database)
    user: str = Setting("connection.user", "name of the user", "", also=("connection.username",))
    password: Secret = Setting("connection.password", "password of the user", Secret(""))
    mode: str = Setting("insert.mode", "how rows are written", "insert", choices=("insert", "upsert", "update"))
    pk_mode: str = Setting(
        "pk.mode", "where the primary key comes from", "none",
        choices=("none", "kafka", "record_key", "record_value", "record_header"), also=("primary.key.mode",),
    )  # fmt: skip
    pk_fields: tuple[str, ...] = Setting("pk.fields", "fields of the primary key", (), also=("primary.key.fields",))
    create: bool = Setting("auto.create", "create missing tables", default=False)
    evolve: bool = Setting("auto.evolve", "add missing columns", default=False)
    evolution: str = Setting(
        "schema.evolution", "Debezium: basic creates and evolves", "none", choices=("none", "basic")
    )
    contract: str = Setting(
        "schema.contract",
        "for fields that the table lacks: auto.evolve decides, evolve adds them, freeze leaves the fields out, discard "
        "leaves the records out, fail refuses the records",
        "auto",
        choices=("auto", "evolve", "freeze", "discard", "fail"),
    )
    deletes: bool = Setting("delete.enabled", "a record without a value deletes its row", default=False)
    table: str = Setting("table.name.format", "name of the table", "${topic}", also=("collection.name.format",))
    fields: tuple[str, ...] = Setting("fields.whitelist", "fields of the value to write; empty: all", ())
    batch: int = Setting("batch.size", "rows in one statement", 3000, at_least=1)
    retries: int = Setting("max.retries", "of no meaning here: a passing fault is retried without end", 10)
    backoff_ms: int = Setting("retry.backoff.ms", "pause before a statement is tried again", 3000, at_least=0)
    timezone: str = Setting("db.timezone", "time zone of the columns", "UTC")
    quote: str = Setting("quote.sql.identifiers", "when names are quoted", "always", choices=("always", "never"))
    positions: str = Setting("positions.table", "table for the positions of connectors", "twinlog_positions")
    dialect: str = Setting("dialect.name", "of no meaning here: the URL says it", "")
