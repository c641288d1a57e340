"""The binary log of MySQL and MariaDB: events, rows and values, beside an encoder of the tests' own."""

from __future__ import annotations

import json
import struct
import zlib
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.pipelines.settings import read_settings
from twinlog.pipelines.sources.binlog import events
from twinlog.pipelines.sources.binlog import table_map as log
from twinlog.pipelines.sources.binlog.columns import column_of, column_schema, logged_column, same_layout
from twinlog.pipelines.sources.binlog.connection import Packets
from twinlog.pipelines.sources.binlog.events import Event
from twinlog.pipelines.sources.binlog.gtids import MariaDbGtids, MySqlGtids
from twinlog.pipelines.sources.binlog.json_binary import json_text
from twinlog.pipelines.sources.binlog.rows import UnknownKind, walk_of
from twinlog.pipelines.sources.binlog.settings import BinlogSettings
from twinlog.pipelines.sources.binlog.table_map import LogColumn
from twinlog.pipelines.sources.binlog.values import log_maker, text_maker, zoned

CONFIG = {"database.hostname": "h", "database.user": "u", "database.server.id": "7", "topic.prefix": "p"}
SETTINGS = read_settings(BinlogSettings, CONFIG)
DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


def event_of(kind: int, body: bytes, *, server: int = 1, end: int = 1000) -> Event:
    data = struct.pack("<IBIIIH", 5, kind, server, 19 + len(body), end, 0) + body
    return events.read_event(data, checksums=False)


def decimal_bytes(text: str, precision: int, scale: int) -> bytes:
    """As the manual of MySQL describes it: nine digits in four bytes, the first bit turned, negative ones inverted."""
    sign, number = text.startswith("-"), text.lstrip("-")
    whole, _, part = number.partition(".")
    whole, part = whole.rjust(precision - scale, "0") if precision > scale else "", part.ljust(scale, "0")
    first, last = len(whole) % 9, scale % 9
    groups = [whole[:first], *(whole[n : n + 9] for n in range(first, len(whole), 9))]
    groups += [*(part[n : n + 9] for n in range(0, scale - last, 9)), part[scale - last :]]
    made = b"".join(int(one).to_bytes(DIGITS[len(one)], "big") for one in groups if one)
    made = bytes([made[0] | 0x80]) + made[1:]
    return bytes(one ^ 0xFF for one in made) if sign else made


def walked(columns: list[LogColumn], data: bytes) -> list[list[Any]]:
    found: list[list[Any]] = [[] for _ in columns]
    walk_of(columns)(data, *(one.append for one in found))
    return found


@given(st.integers(1, 30), st.integers(0, 30), st.data())
def test_decimals(precision: int, scale: int, data: st.DataObject) -> None:
    scale = min(scale, precision)
    values = data.draw(st.lists(st.integers(-(10**precision) + 1, 10**precision - 1), min_size=1, max_size=5))
    texts = [format(Decimal(f"{one}E-{scale}"), "f") for one in values]
    meta = precision | scale << 8
    raw = b"".join(b"\x00" + decimal_bytes(one, precision, scale) for one in texts)
    (column,) = walked([LogColumn(log.NEWDECIMAL, meta, nullable=True)], raw)
    facts = logged_column(LogColumn(log.NEWDECIMAL, meta, nullable=True, name="d"), "", in_key=False)
    schema = column_schema(facts, SETTINGS)
    made = log_maker(facts, schema, SETTINGS)(column)
    assert made.to_pylist() == [Decimal(one) for one in texts]


def packed_datetime(at: datetime, precision: int) -> bytes:
    whole = ((at.year * 13 + at.month) << 5 | at.day) << 17 | at.hour << 12 | at.minute << 6 | at.second
    size = (precision + 1) // 2
    part = at.microsecond // (10**6, 10_000, 100, 1)[size]
    return (whole + 0x8000000000).to_bytes(5, "big") + part.to_bytes(size, "big")


@given(st.lists(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31)), min_size=1, max_size=4), st.integers(0, 6))  # noqa: DTZ001
def test_datetimes_and_dates(moments: list[datetime], precision: int) -> None:
    keep = 10 ** (6 - precision)
    moments = [one.replace(microsecond=one.microsecond // keep * keep) for one in moments]
    columns = [LogColumn(log.DATETIME2, precision, nullable=False, name="t"), LogColumn(log.DATE, 0, nullable=False)]
    raw = b"".join(
        b"\x00" + packed_datetime(one, precision) + (one.year << 9 | one.month << 5 | one.day).to_bytes(3, "little")
        for one in moments
    )
    times, days = walked(columns, raw)
    facts = logged_column(columns[0], "", in_key=False)
    schema = column_schema(facts, SETTINGS)
    unit = timedelta(milliseconds=1) if precision <= 3 else timedelta(microseconds=1)
    epoch = datetime(1970, 1, 1)  # noqa: DTZ001
    # Before 1970 Java's and Arrow's division cut towards zero; the columns have whole units, so nothing is cut.
    assert log_maker(facts, schema, SETTINGS)(times).to_pylist() == [(one - epoch) // unit for one in moments]
    day = logged_column(columns[1], "", in_key=False)
    made = log_maker(day, column_schema(day, SETTINGS), SETTINGS)(days)
    assert made.to_pylist() == [(one.date() - date(1970, 1, 1)).days for one in moments]


def test_dates_that_are_none_are_null_and_where_that_is_forbidden_the_beginning_of_time() -> None:
    for nullable, nothing in ((True, None), (False, 0)):
        facts = logged_column(LogColumn(log.DATE, 0, nullable=nullable, name="d"), "", in_key=False)
        assert log_maker(facts, column_schema(facts, SETTINGS), SETTINGS)([0]).to_pylist() == [nothing]
        moment = logged_column(LogColumn(log.DATETIME2, 0, nullable=nullable, name="d"), "", in_key=False)
        assert log_maker(moment, column_schema(moment, SETTINGS), SETTINGS)([0]).to_pylist() == [nothing]


@pytest.mark.parametrize(("micros", "precision"), [(-3020399 * 10**6, 0), (-500_000, 1), (45296000789, 6), (0, 3)])
def test_times(micros: int, precision: int) -> None:
    size = (precision + 1) // 2
    seconds, part = divmod(abs(micros), 10**6)
    whole = (seconds // 3600) << 12 | seconds // 60 % 60 << 6 | seconds % 60
    packed = whole << 8 * size | (part // (10**6, 10_000, 100, 1)[size])
    raw = (0x800000 << 8 * size) + (packed if micros >= 0 else -packed)
    column = LogColumn(log.TIME2, precision, nullable=True, name="t")
    (values,) = walked([column], b"\x00" + raw.to_bytes(3 + size, "big") + b"\x01")
    facts = logged_column(column, "", in_key=False)
    assert log_maker(facts, column_schema(facts, SETTINGS), SETTINGS)(values).to_pylist() == [micros, None]


def test_timestamps_have_the_digits_of_their_column() -> None:
    micros = pa.array([1767323045678901, None], pa.int64())
    assert zoned(micros, 0).to_pylist() == ["2026-01-02T03:04:05Z", None]
    assert zoned(micros, 3).to_pylist() == ["2026-01-02T03:04:05.678Z", None]
    assert zoned(micros, 6).to_pylist() == ["2026-01-02T03:04:05.678901Z", None]
    # Debezium leaves zeros at the end out.
    ends = pa.array([1767323045060000, 1767323050000000], pa.int64())
    assert zoned(ends, 3).to_pylist() == ["2026-01-02T03:04:05.06Z", "2026-01-02T03:04:10Z"]
    assert zoned(ends, 3, padded=True).to_pylist() == ["2026-01-02T03:04:05.060Z", "2026-01-02T03:04:10.000Z"]


@given(st.lists(st.tuples(*[st.none() | st.integers(0, 250)] * 9), min_size=1, max_size=6))
def test_rows_with_nulls_anywhere(rows: list[tuple[int | None, ...]]) -> None:
    columns = [LogColumn(log.VARCHAR, 20 if n % 2 else 300, nullable=True) for n in range(8)]
    columns.append(LogColumn(log.INT24, 0, nullable=True))
    data = b""
    for row in rows:
        nulls = sum(1 << n for n, one in enumerate(row) if one is None)
        data += nulls.to_bytes(2, "little")
        for n, one in enumerate(row[:8]):
            if one is not None:
                data += one.to_bytes(1 if n % 2 else 2, "little") + b"x" * one
        data += b"" if row[8] is None else (-row[8]).to_bytes(3, "little", signed=True)
    found = walked(columns, data)
    assert [[None if one is None else len(one) for one in column] for column in found[:8]] == [
        [row[n] for row in rows] for n in range(8)
    ]
    assert found[8] == [None if row[8] is None else -row[8] for row in rows]


def test_a_kind_that_is_not_known_is_named() -> None:
    with pytest.raises(UnknownKind, match="kind 11"):
        walk_of([LogColumn(11, 0, nullable=True)])


def table_map_body(names: list[str]) -> bytes:
    def part(kind: int, data: bytes) -> bytes:
        return bytes([kind, len(data)]) + data

    kinds = bytes([log.LONG, log.VARCHAR, log.STRING, log.NEWDECIMAL, log.STRING])
    meta = struct.pack("<H", 80) + bytes([log.ENUM, 1]) + bytes([10, 2]) + bytes([0xEE, 0x20])
    body = (9).to_bytes(6, "little") + b"\x01\x00" + b"\x04shop\x00" + b"\x01t\x00" + b"\x05" + kinds
    body += bytes([len(meta)]) + meta + b"\x1e"
    if names:
        body += (
            part(1, b"\x80") + part(2, b"\x2d\x01\x3f") + part(4, b"".join(bytes([len(n)]) + n.encode() for n in names))
        )
        body += part(6, b"\x02\x01a\x02bc") + part(8, b"\x00")
    return body


def test_a_table_map_with_everything() -> None:
    found = log.read_table_map(event_of(19, table_map_body(["id", "name", "kind", "price", "long"])))
    assert (found.database, found.table, found.key, found.full) == ("shop", "t", (0,), True)
    assert [(one.name, one.kind, one.meta, one.nullable) for one in found.columns] == [
        ("id", log.LONG, 0, False), ("name", log.VARCHAR, 80, True), ("kind", log.ENUM, 1, True),
        ("price", log.NEWDECIMAL, 10 | 2 << 8, True), ("long", log.STRING, 0x120, True),
    ]  # fmt: skip
    assert found.columns[0].unsigned
    assert not found.columns[3].unsigned
    assert found.columns[2].values == (b"a", b"bc")
    assert (found.columns[1].collation, found.columns[4].collation) == (45, log.BINARY)
    assert not log.read_table_map(event_of(19, table_map_body([]))).full


@pytest.mark.parametrize(
    ("text", "octets", "kind", "meta"),
    [("int(10) unsigned", None, log.LONG, 0), ("varchar(20)", 80, log.VARCHAR, 80), ("decimal(10,2)", None, 246, 522),
     ("enum('a','b,c')", None, log.ENUM, 1), ("set('a','b')", None, log.SET, 1), ("mediumtext", 16777215, log.BLOB, 3),
     ("datetime(6)", None, log.DATETIME2, 6), ("bit(12)", None, log.BIT, 1 << 8 | 4), ("char(5)", 20, log.STRING, 20)],
)  # fmt: skip
def test_a_definition_and_the_log_are_compared(text: str, octets: int | None, kind: int, meta: int) -> None:
    column = column_of("c", text, nullable=True, octets=octets, charset=None, in_key=False, default=None)
    assert same_layout(column, LogColumn(kind, meta, nullable=True))
    assert not same_layout(column, LogColumn(kind, meta, nullable=False))
    assert not same_layout(column, LogColumn(log.DOUBLE, 8, nullable=True))


def test_events_of_transactions() -> None:
    assert events.rotate(event_of(4, struct.pack("<Q", 4) + b"bin.000002")) == ("bin.000002", 4)
    gtid = events.mariadb_gtid(event_of(162, struct.pack("<QIB", 366, 2, 1), server=9))
    assert (gtid.name, gtid.alone) == ("2-9-366", True)
    sid = bytes(range(16))
    clocks = b"\x02" + bytes(16)
    body = b"\x00" + sid + struct.pack("<Q", 7) + clocks + (1767323045678901).to_bytes(7, "little")
    mysql = events.mysql_gtid(event_of(33, body))
    assert mysql == events.Gtid("00010203-0405-0607-0809-0a0b0c0d0e0f:7", alone=False, at_us=1767323045678901)
    body = struct.pack("<IIBHH", 77, 0, 4, 0, 3) + b"abc" + b"shop\x00" + b"ALTER TABLE t"
    assert events.query(event_of(2, body)) == events.Query(77, "shop", "ALTER TABLE t")


def test_compressed_rows_and_transactions() -> None:
    rows = b"\x00\x05\x00\x00\x00" * 20
    packed = bytes([0x82, 0, len(rows)]) + zlib.compress(rows)
    head = events.rows_head(event_of(166, (9).to_bytes(6, "little") + b"\x01\x00" + b"\x01\x01" + packed))
    assert (head.table_id, head.columns, head.whole, head.rows) == (9, 1, True, rows)
    partial = events.rows_head(event_of(30, (9).to_bytes(6, "little") + b"\x01\x00" + b"\x02\x00" + b"\x02\x01" + rows))
    assert not partial.whole
    inner = struct.pack("<IBIIIH", 5, 16, 1, 27, 0, 0) + struct.pack("<Q", 4711)
    squeezed = pa.compress(inner * 2, codec="zstd", asbytes=True)
    fields = b"\x02\x01\x00" + b"\x03\x01" + bytes([2 * len(inner)]) + b"\x01\x01" + bytes([len(squeezed)]) + b"\x00"
    found = list(events.payload(event_of(40, fields + squeezed)))
    assert [one.kind for one in found] == [16, 16]


def test_sets_of_transactions() -> None:
    maria = MariaDbGtids("1-5-9,0-1-366")
    maria.add("0-2-367")
    assert str(maria) == "0-2-367,1-5-9"
    one = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    mysql = MySqlGtids(f"{one}:1-5:8")
    mysql.add(f"{one}:6")
    assert str(mysql) == f"{one}:1-6:8"
    mysql.add(f"{one}:7")
    assert str(mysql) == f"{one}:1-8"
    assert mysql.encoded() == struct.pack("<Q", 1) + bytes.fromhex(one.replace("-", "")) + struct.pack("<QQQ", 1, 1, 9)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=8), st.integers(1, 20))
def test_packets_of_blocks(packets: list[bytes], size: int) -> None:
    data = b"".join(len(one).to_bytes(3, "little") + b"\x00" + one for one in packets)
    blocks = iter([data[n : n + size] for n in range(0, len(data), size)])
    reader = Packets(lambda: next(blocks))
    assert [reader.next() for _ in packets] == packets


def test_a_long_packet_that_waits_in_between() -> None:
    packet = bytes(1_000_000)
    data = len(packet).to_bytes(3, "little") + b"\x00" + packet
    blocks: list[Any] = [data[:600_000], TimeoutError(), data[600_000:]]

    def block() -> bytes:
        one = blocks.pop(0)
        if isinstance(one, Exception):
            raise one
        return bytes(one)

    reader = Packets(block)
    with pytest.raises(TimeoutError):
        reader.next()
    assert reader.next() == packet


def small(kind: int, value: bytes) -> tuple[int, bytes]:
    return kind, value


def json_object(entries: dict[str, tuple[int, bytes]]) -> bytes:
    """A small object: inline values are given with two bytes, others as they are."""
    count = len(entries)
    head = 4 + 4 * count + 3 * count
    keys, values, key_table, value_table = b"", b"", b"", b""
    for name in entries:
        key_table += struct.pack("<HH", head + len(keys), len(name))
        keys += name.encode()
    for kind, value in entries.values():
        if kind in {4, 5, 6}:
            value_table += bytes([kind]) + value.ljust(2, b"\x00")
        else:
            value_table += bytes([kind]) + struct.pack("<H", head + len(keys) + len(values))
            values += value
    body = key_table + value_table + keys + values
    return b"\x00" + struct.pack("<HH", count, 4 + len(body)) + body


def test_json_of_mysql() -> None:
    inner = json_object({"x": small(12, b"\x03abc")})[1:]
    raw = json_object({
        "a": small(5, struct.pack("<h", -3)), "b": small(4, b"\x01"), "n": small(4, b"\x00"),
        "d": small(11, struct.pack("<d", 1.5)), "q": small(9, struct.pack("<q", 2**40)), "o": small(0, inner),
        "z": small(15, bytes([246, 7, 4, 2]) + decimal_bytes("12.50", 4, 2)),
    })  # fmt: skip
    assert json.loads(json_text(raw)) == {
        "a": -3,
        "b": True,
        "n": None,
        "d": 1.5,
        "q": 2**40,
        "o": {"x": "abc"},
        "z": 12.5,
    }
    assert json_text(b'{"a": 1}') == '{"a": 1}'  # MariaDB's form


def test_texts_of_a_select_are_what_the_log_gives() -> None:
    column = column_of("t", "time(6)", nullable=True, octets=None, charset=None, in_key=False, default=None)
    schema = column_schema(column, SETTINGS)
    assert text_maker(column, schema, SETTINGS)([b"-1.000000", None]).to_pylist() == [-1, None]
    decimal = column_of("d", "decimal(6,2)", nullable=True, octets=None, charset=None, in_key=False, default=None)
    made = text_maker(decimal, column_schema(decimal, SETTINGS), SETTINGS)([b"-1.50"])
    assert made.to_pylist() == [Decimal("-1.50")]
