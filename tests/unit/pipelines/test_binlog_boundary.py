"""Which changes of the log a snapshot that was interrupted has to hand on: the order of keys, and places in the log."""

from __future__ import annotations

import re
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.pipelines.schemas import Field
from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.sources.binlog.boundary import Boundary
from twinlog.pipelines.sources.binlog.catalogue import Stream, source_of
from twinlog.pipelines.sources.binlog.changes import Changes
from twinlog.pipelines.sources.binlog.columns import Column, column_schema
from twinlog.pipelines.sources.binlog.gtids import MariaDbGtids, MySqlGtids
from twinlog.pipelines.sources.binlog.key_order import behind, literal, rank, ranks
from twinlog.pipelines.sources.binlog.settings import BinlogSettings
from twinlog.pipelines.sources.debezium.envelope import Table

CONFIG = {"database.hostname": "h", "database.user": "u", "database.server.id": "7", "topic.prefix": "p"}
SETTINGS = read_settings(BinlogSettings, CONFIG)
CASES: list[tuple[str, dict[str, Any], str, Any]] = [
    ("int", {}, "-7", -7),
    ("bit", {"size": 9}, "5", 5),
    ("enum", {"values": ("z", "a")}, "2", 2),
    ("set", {"values": ("p", "q")}, "3", 3),
    ("year", {}, "2155", 255),
    ("float", {}, "1.100000023841858", 1.100000023841858),
    ("decimal", {"size": 20, "scale": 2}, "-12345678901234567.25", -1234567890123456725),
    ("varbinary", {"size": 9}, "x'00ff'", b"\x00\xff"),
    ("varbinary", {"size": 9}, "x''", b""),
    ("binary", {"size": 4}, "x'61620000'", b"ab"),
    ("date", {}, "'2026-02-28'", 2026 << 9 | 2 << 5 | 28),
    ("date", {}, "'0000-00-00'", 0),
    ("datetime", {}, "'2026-01-02 03:04:05'", (((2026 * 13 + 1) << 5 | 2) << 17) | 3 << 12 | 4 << 6 | 5),
    ("timestamp", {}, "'1970-01-02 00:00:01'", 86401),
    ("timestamp", {"size": 2}, "'1970-01-01 00:00:01.25'", 1 << 8 | 25),
    ("time", {}, "'-01:02:03'", -(1 << 12 | 2 << 6 | 3)),
    ("time", {"size": 6}, "'00:00:00.000007'", 7),
]


@pytest.mark.parametrize(("kind", "more", "text", "raw"), CASES, ids=str)
def test_a_key_of_a_table_equals_the_same_key_of_the_log(kind: str, more: dict[str, Any], text: str, raw: Any) -> None:
    column = Column("k", kind, nullable=False, **more)
    assert ranks(column, [raw]) == [rank(column, text)]


@given(st.lists(st.integers(-(10**20) + 1, 10**20 - 1), min_size=2, max_size=6))
def test_decimals_are_ordered_as_numbers(values: list[int]) -> None:
    column = Column("k", "decimal", nullable=False, size=20, scale=2)
    made = ranks(column, values)
    assert sorted(made) == [Decimal(value).scaleb(-2) for value in sorted(values)]


def test_lists_of_values_are_compared_by_their_numbers() -> None:
    keys = [Column("e", "enum", nullable=False, values=("z", "a")), Column("id", "int", nullable=False)]
    assert behind(keys, ("1", "5")) == "((`e` + 0 > 1) OR (`e` + 0 = 1 AND `id` > 5))"
    assert [literal(key) for key in keys] == ["`e` + 0", "`id`"]


def stream_of(name: str, *keys: Column) -> Stream:
    fields = tuple(Field(key.name, column_schema(key, SETTINGS)) for key in keys)
    table = Table(f"p.shop.{name}", fields, tuple(key.name for key in keys), source_of("mariadb"))
    return Stream("shop", name, table, keys, tuple(range(len(keys))), (), len(keys))


class Server:
    """Answers comparisons of texts without regard to capitals."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def escape(self, text: str) -> str:
        return f"'{text}'"

    def cursor(self) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, text: str, values: Any) -> None:
        self.asked.append(text)
        self.last, self.values = text, values

    def fetchall(self) -> list[Any]:
        if self.values:
            return [("utf8mb4", "utf8mb4_general_ci")]

        pairs = re.findall(r"\(CONVERT\('(.*?)' .*? > CONVERT\('(.*?)' .*?\) - \(", self.last)
        return [tuple((a.lower() > b.lower()) - (a.lower() < b.lower()) for a, b in pairs)]


def test_one_place_divides_the_rows_that_were_handed_on() -> None:
    number, name = Column("n", "int", nullable=False), Column("t", "varchar", nullable=False, charset="utf8mb4")
    stream, server = stream_of("orders", number, name), Server()
    start: dict[str, str | bool] = {
        "table": "shop.orders",
        "key": "n int\x1ft varchar",
        "after": "7\x1f'Bob'",
        "whole": False,
    }
    boundary = Boundary(start, lambda: server)
    assert [boundary.is_before(stream_of(other, number)) for other in ("items", "orders", "prices")] == [
        False, False, True,
    ]  # fmt: skip
    assert boundary.divides(stream)
    assert not boundary.divides(stream_of("items", number))
    assert not boundary.divides(stream_of("orders", number))  # another key: all of its changes are handed on
    keys: list[list[Any]] = [[3, 7, 7, 7, 9, 7], [b"x", b"anna", b"bOB", b"Cid", b"a", b"anna"]]
    assert boundary.reaches(stream, keys) == [True, True, True, False, False, True]
    assert boundary.reaches(stream, keys) == [True, True, True, False, False, True]
    assert len(server.asked) == 2  # the collation, and all texts at once
    whole = Boundary(start | {"whole": True}, lambda: server)
    assert not whole.is_before(stream)
    assert not whole.divides(stream)


@pytest.mark.parametrize(
    ("mine", "its", "covers"),
    [("", "", True), ("0-1-5", "", True), ("", "0-1-5", False), ("0-1-5", "0-2-5", True),
     ("0-1-4,1-1-9", "0-1-5", False), ("0-1-5,1-1-9", "0-1-5", True)],
)  # fmt: skip
def test_what_gtids_of_mariadb_cover(mine: str, its: str, covers: bool) -> None:
    assert MariaDbGtids(mine).covers(its) is covers


def test_what_gtids_of_mysql_cover() -> None:
    one, two = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "3e11fa47-71ca-11e1-9e33-c80aa9429563"
    mine = MySqlGtids(f"{one}:1-5:8-9,{two}:1")
    assert mine.covers(f"{one}:2-4:9")
    assert mine.covers("")
    assert not mine.covers(f"{one}:5-6")
    assert not MySqlGtids(f"{one}:1-5").covers(f"{two}:1")


@pytest.mark.parametrize(
    ("gtids", "start", "end", "stands"),
    [
        (True, {"file": "b.1", "pos": 9, "gtids": "0-1-5"}, {"file": "b.2", "pos": 4, "gtids": "0-1-5"}, 0),
        (True, {"file": "b.1", "pos": 9, "gtids": "0-1-5"}, {"file": "b.1", "pos": 4, "gtids": "0-1-6"}, -1),
        (True, {"file": "b.1", "pos": 4, "gtids": "0-1-6"}, {"file": "b.1", "pos": 9, "gtids": "0-1-5"}, 1),
        (True, {"file": "b.1", "pos": 4, "gtids": "0-1-5", "event": 2}, {"file": "b.1", "pos": 4, "gtids": "0-1-5"}, 1),
        (
            True,
            {"file": "b.1", "pos": 4, "gtids": "0-1-5", "event": 2},
            {"file": "b.1", "pos": 9, "gtids": "0-1-6"},
            -1,
        ),
        (True, {"file": "b.1", "pos": 400}, {"file": "b.1", "pos": 300}, 0),  # no transaction was logged yet
        (False, {"file": "b.999999", "pos": 9}, {"file": "b.1000000", "pos": 4}, -1),
        (False, {"file": "b.1", "pos": 9}, {"file": "b.1", "pos": 9}, 0),
        (False, {"file": "b.1", "pos": 10}, {"file": "b.1", "pos": 9}, 1),
    ],
)
def test_where_the_log_stands(gtids: bool, start: dict[str, Any], end: dict[str, Any], stands: int) -> None:
    log = SimpleNamespace(checksums=False, server=SimpleNamespace(mariadb=True, gtids=gtids))
    changes = Changes(SETTINGS, log, None, start, connector="mariadb", statements=lambda: None)  # type: ignore[arg-type]
    assert changes.stands(end) == stands
