"""Keys of the JDBC source, Confluent's names."""

from __future__ import annotations

from twinlog.config.security.secrets import Secret
from twinlog.pipelines.databases.addresses import leads_to_database
from twinlog.pipelines.settings import Setting, setting

_MODES = ("bulk", "incrementing", "timestamp", "timestamp+incrementing")
_NUMERIC = ("none", "precision_only", "best_fit", "best_fit_eager_double")


@setting
class JdbcSourceSettings:
    """What the JDBC source can be told."""

    url: str = Setting("connection.url", "JDBC URL of the database", leads=leads_to_database)
    user: str = Setting("connection.user", "name of the user", "")
    password: Secret = Setting("connection.password", "password of the user", Secret(""))
    mode: str = Setting("mode", "how new rows are found", choices=_MODES)
    incrementing: str = Setting("incrementing.column.name", "column that only grows", "")
    timestamps: tuple[str, ...] = Setting("timestamp.column.name", "columns with the time of the last change", ())
    include: tuple[str, ...] = Setting("table.whitelist", "tables to read", (), also=("table.include.list",))
    exclude: tuple[str, ...] = Setting("table.blacklist", "tables to leave out", (), also=("table.exclude.list",))
    schema: str = Setting("schema.pattern", "schema of the tables", "")
    query: str = Setting("query", "a query instead of tables", "")
    suffix: str = Setting("query.suffix", "behind every query", "")
    prefix: str = Setting("topic.prefix", "before the name of the table")
    batch: int = Setting("batch.max.rows", "rows in one chunk", 5000, at_least=1)
    numeric: str = Setting("numeric.mapping", "what NUMERIC columns become", "none", choices=_NUMERIC)
    numeric_precision: bool = Setting("numeric.precision.mapping", "the same as precision_only", default=False)
    initial_ms: int | None = Setting("timestamp.initial", "where timestamps begin; -1 is now", None)
    delay_ms: int = Setting("timestamp.delay.interval.ms", "rows younger than this wait", 0, at_least=0)
    timezone: str = Setting("db.timezone", "time zone of the columns", "UTC")
    validate: bool = Setting("validate.non.null", "refuse columns that may be null", default=True)
    quote: str = Setting("quote.sql.identifiers", "when names are quoted", "always", choices=("always", "never"))
    rescan_ms: int = Setting("table.poll.interval.ms", "how often new tables are looked for", 60_000, at_least=1000)
    gap_ms: int = Setting("gap.watch.ms", "how long missing numbers are asked for again", 60_000, at_least=0)
    types: tuple[str, ...] = Setting("table.types", "TABLE, VIEW", ("TABLE",))
    dialect: str = Setting("dialect.name", "of no meaning here: the URL says it", "")
    isolation: str = Setting("transaction.isolation.mode", "of no meaning here: committed rows are read", "DEFAULT")
    granularity: str = Setting("timestamp.granularity", "of no meaning here: times are Timestamps", "connect_logical")
    catalog: str = Setting("catalog.pattern", "of no meaning here: the URL says it", "")
