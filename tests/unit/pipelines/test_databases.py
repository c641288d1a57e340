"""Pure rules of JDBC connectors: URLs, columns, statements, gaps, which row of a key counts."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.config.security.secrets import Secret
from twinlog.pipelines.databases.addresses import read_address, search_path
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.schemas import DECIMAL, TIMESTAMP, Schema, struct
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.sinks.jdbc.arrays import csv_bytes, last_per_key
from twinlog.pipelines.sinks.jdbc.settings import JdbcSinkSettings
from twinlog.pipelines.sinks.jdbc.tables import ColumnPlan, TableRefused, Words, columns_of
from twinlog.pipelines.sources.jdbc.columns import schema_of
from twinlog.pipelines.sources.jdbc.gaps import Gaps
from twinlog.pipelines.sources.jdbc.queries import Position, Queries
from twinlog.pipelines.sources.jdbc.settings import JdbcSourceSettings
from twinlog.pipelines.sources.jdbc.source import JdbcSource

VALUE = struct(("id", Schema("int64")), ("name", Schema("string", optional=True)))


def test_an_address_is_read_from_a_jdbc_url() -> None:
    one = read_address("jdbc:postgresql://db:5433/shop?user=u&password=p%40ss&sslmode=require")
    assert (one.product, one.host, one.port, one.database, one.user) == ("postgresql", "db", 5433, "shop", "u")
    assert one.password.reveal() == "p@ss"
    assert "p@ss" not in repr(one) + str(one)
    assert read_address("jdbc:mariadb://h/d", "me", Secret("x")).port == 3306


@pytest.mark.parametrize("url", ["postgresql://h/d?password=hunter2", "jdbc:oracle:thin:hunter2@h"])
def test_a_wrong_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_address(url)
    assert "hunter2" not in str(refused.value)


def settings(**config: str) -> JdbcSinkSettings:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    return read_settings(JdbcSinkSettings, {"connection.url": "jdbc:mysql://h/d", **keys})


def test_columns_come_from_key_value_or_coordinates() -> None:
    key = struct(("k", Schema("int32")))
    of_key = columns_of(settings(pk_mode="record_key"), key, VALUE)
    assert [(one.name, one.is_key, one.place) for one in of_key] == [
        ("k", True, "key"), ("id", False, "value"), ("name", False, "value"),
    ]  # fmt: skip
    of_kafka = columns_of(settings(pk_mode="kafka"), None, VALUE)
    assert [one.name for one in of_kafka][:3] == ["__connect_topic", "__connect_partition", "__connect_offset"]
    of_value = columns_of(settings(pk_mode="record_value", pk_fields="name"), None, VALUE)
    assert [(one.name, one.is_key) for one in of_value] == [("name", True), ("id", False)]
    only = columns_of(settings(fields_whitelist="name"), None, VALUE)
    assert [one.name for one in only] == ["name"]


@pytest.mark.parametrize(
    ("config", "key", "value"),
    [
        ({"pk_mode": "record_key"}, None, VALUE),
        ({"pk_mode": "record_key"}, Schema("string"), VALUE),
        ({"pk_mode": "record_value", "pk_fields": "nothing"}, None, VALUE),
        ({}, None, Schema("string")),
        ({}, None, struct(("a", Schema("array", values=Schema("int32"))))),
    ],
)
def test_records_that_fit_no_table_are_refused(config: dict[str, str], key: Schema | None, value: Schema) -> None:
    with pytest.raises(TableRefused):
        columns_of(settings(**config), key, value)


def test_statements_quote_names_and_keep_keys() -> None:
    columns = [
        ColumnPlan('i"d', Schema("int64"), "value", is_key=True),
        ColumnPlan("n", Schema("string", True), "value"),
    ]
    words = Words("postgresql")
    assert words.create("s.t", columns) == (
        'CREATE TABLE "s"."t" ("i""d" BIGINT NOT NULL, "n" TEXT NULL, PRIMARY KEY("i""d"))'
    )
    assert words.upsert("t", columns, "SELECT 1").endswith('ON CONFLICT ("i""d") DO UPDATE SET "n" = EXCLUDED."n"')
    assert words.upsert("t", columns[:1], "SELECT 1").endswith("DO NOTHING")
    mysql = Words("mysql")
    assert mysql.upsert("t", columns, "VALUES (1)").endswith("ON DUPLICATE KEY UPDATE `n` = VALUES(`n`)")
    decimal = ColumnPlan("d", Schema("bytes", True, DECIMAL, 1, parameters=(("scale", "3"),)), "value")
    assert mysql.type(decimal) == "DECIMAL(65,3)"
    assert words.type(ColumnPlan("t", Schema("int64", True, TIMESTAMP, 1), "value")) == "TIMESTAMP"


def test_a_column_that_old_rows_cannot_have_is_not_added() -> None:
    with pytest.raises(TableRefused, match="not optional"):
        Words("mysql").add("t", [ColumnPlan("x", Schema("int32"), "value")])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers()), max_size=20))
def test_the_last_row_of_each_key_counts(rows: list[tuple[int, int]]) -> None:
    table = pa.table(
        {"k": pa.array([k for k, _ in rows], pa.int64()), "v": pa.array([v % 2**60 for _, v in rows], pa.int64())}
    )
    kept = {row["k"]: row["v"] for row in last_per_key(table, ["k"]).to_pylist()}
    assert kept == {k: v % 2**60 for k, v in rows}


def test_null_and_empty_text_differ_for_copy() -> None:
    assert csv_bytes(pa.table({"a": ["", None, 'x"y'], "b": [b"\x01", None, b""]})) == b'"","\\x01"\n,\n"x""y","\\x"\n'


def test_types_of_databases_become_schemas() -> None:
    assert schema_of("postgresql", "timestamp without time zone", nullable=True).name == TIMESTAMP
    assert schema_of("mysql", "int(10) unsigned", nullable=False) == Schema("int64")
    assert schema_of("mysql", "decimal(10,2)", nullable=False).scale == 2
    assert schema_of("mysql", "decimal(10,2)", nullable=False, numeric="best_fit") == Schema("double")
    assert schema_of("postgresql", "numeric(4,0)", nullable=True, numeric="precision_only") == Schema("int16", True)
    assert schema_of("postgresql", "jsonb", nullable=True) == Schema("string", True)


def test_queries_ask_for_rows_behind_the_position() -> None:
    s = read_settings(
        JdbcSourceSettings,
        {
            "connection.url": "x", "topic.prefix": "p", "mode": "timestamp+incrementing",
            "incrementing.column.name": "id", "timestamp.column.name": "ts",
        },
    )  # fmt: skip
    text = Queries(s, Words("mysql"), "d.t").rows(Position(7, 5), 9, 3).text
    assert text.startswith("SELECT * FROM `d`.`t` WHERE `ts` < ")
    assert "AND `id` > 7) OR" in text
    assert text.endswith("ORDER BY `ts` ASC, `id` ASC LIMIT 3")


@given(st.sets(st.integers(1, 40)), st.data())
def test_every_missing_number_is_watched_until_it_comes(numbers: set[int], data: st.DataObject) -> None:
    """Numbers become visible in any order; whatever is below the highest one read is a gap or was read."""
    gaps, high, seen = Gaps({}), 0, set[int]()
    left = set(numbers)
    while left:
        visible = data.draw(st.sets(st.sampled_from(sorted(left)), min_size=1))
        left -= visible
        new = sorted(n for n in visible if n > high)
        again = [n for n in visible if n in gaps.since]
        assert set(new) | set(again) == visible
        gaps = Gaps.parse(str(gaps.after(high, again, 5)))
        gaps = gaps.after(high, new, 5)
        seen |= visible
        high = max([high, *new])
    assert seen | set(gaps.since) == set(range(1, high + 1))


def test_a_gap_is_given_up_when_nobody_can_fill_it() -> None:
    gaps = Gaps({3: 1000})
    assert gaps.without_old(2000, 5000, None) == gaps
    assert gaps.without_old(9000, 5000, None) == Gaps({})
    assert gaps.without_old(9000, 5000, oldest_open_ms=900) == gaps
    assert gaps.without_old(9000, 5000, oldest_open_ms=1500) == Gaps({})


def test_a_preview_of_a_table_asks_for_few_rows() -> None:
    keys = {"connection.url": "jdbc:postgresql://h/d", "topic.prefix": "p-"}
    bulk = connector(
        "io.confluent.connect.jdbc.JdbcSourceConnector", {**keys, "mode": "bulk", "query.suffix": "WHERE x"}
    )
    assert isinstance(bulk, JdbcSource)
    assert bulk.limited(3).s.suffix == "WHERE x LIMIT 3"
    growing = {**keys, "mode": "incrementing", "incrementing.column.name": "id"}
    made = connector("io.confluent.connect.jdbc.JdbcSourceConnector", growing)
    assert isinstance(made, JdbcSource)
    assert (made.limited(3).s.batch, made.limited(3).s.suffix) == (3, "")


def test_the_schema_of_the_url_counts_and_otherwise_that_of_the_user() -> None:
    assert search_path(read_address("jdbc:postgresql://h/d")) == ""
    assert search_path(read_address("jdbc:postgresql://h/d?currentSchema=my%20copy")) == " -c search_path=my\\ copy"
