"""Tables of a real MariaDB: rows and positions in one transaction, bad rows, new columns, deletes, late rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from tests.kit.jdbc_tables import PLACE, SCHEMA, batch_of, read_all, shift_clock

from twinlog.local.mariadb import MariaDb
from twinlog.pipelines.api import Owner, Retriable, Sink, Source, Superseded
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.schemas import DECIMAL, SCALE, TIMESTAMP, Schema, struct

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    server = MariaDb(tmp_path_factory.mktemp("mariadb"))
    server.start()
    yield server
    server.stop()


def sink_of(db: MariaDb, **config: str) -> Sink:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    made = connector("io.confluent.connect.jdbc.JdbcSinkConnector", {"connection.url": db.url, **keys})
    assert isinstance(made, Sink)
    return made


def source_of(db: MariaDb, **config: str) -> Source:
    keys = {"topic.prefix": "p-", **{key.replace("_", "."): value for key, value in config.items()}}
    made = connector("io.aiven.connect.jdbc.JdbcSourceConnector", {"connection.url": db.url, **keys})
    assert isinstance(made, Source)
    return made


@pytest.mark.proves("R30")
def test_rows_and_positions_are_stored_together(db: MariaDb) -> None:
    sink = sink_of(db, auto_create="true", insert_mode="upsert", pk_mode="record_value", pk_fields="id")
    assert sink.open(Owner("a", 1), [PLACE]) == {}
    values = [{"id": 1, "name": "x"}, {"id": 2, "name": None}, {"id": 1, "name": "quo'te\\,\n%s"}]
    assert not sink.put(batch_of("people", values))
    assert db.rows("SELECT count(*) FROM people") == [(0,)]
    sink.flush({PLACE: 3})
    sink.close()
    assert db.rows("SELECT * FROM people ORDER BY id") == [(1, "quo'te\\,\n%s"), (2, None)]
    assert sink.positions("a") == {PLACE: 3}


@pytest.mark.proves("R30")
def test_what_was_not_flushed_is_not_there_and_an_older_owner_adds_nothing(db: MariaDb) -> None:
    old, young = sink_of(db, auto_create="true"), sink_of(db, auto_create="true")
    old.open(Owner("c", 1), [PLACE])
    old.put(batch_of("owned", [{"id": 1, "name": "old"}]))
    young.open(Owner("c", 2), [PLACE])
    young.put(batch_of("owned", [{"id": 2, "name": "young"}]))
    young.flush({PLACE: 1})
    with pytest.raises((Retriable, Superseded)):
        old.flush({PLACE: 1})
    old.close()
    with pytest.raises(Superseded):
        old.open(Owner("c", 1), [PLACE])
    assert db.rows("SELECT id FROM owned") == [(2,)]
    young.close()


@pytest.mark.proves("R31")
def test_bad_rows_are_found_and_the_others_are_kept(db: MariaDb) -> None:
    db.run("CREATE TABLE strict_ones (id BIGINT PRIMARY KEY, name VARCHAR(3), CHECK (id <> 5))")
    sink = sink_of(db, insert_mode="upsert", pk_mode="record_value", pk_fields="id")
    sink.open(Owner("d", 1), [PLACE])
    values = [{"id": n, "name": "long" if n in {3, 6} else "ok"} for n in range(8)]
    rejected = sink.put(batch_of("strict_ones", values))
    assert [one.row for one in rejected] == [3, 5, 6]
    assert "too long" in rejected[0].reason
    assert "CONSTRAINT" in rejected[1].reason
    sink.flush({PLACE: 8})
    sink.close()
    assert db.rows("SELECT count(*) FROM strict_ones") == [(5,)]


@pytest.mark.proves("R31")
def test_a_table_that_vanished_is_no_fault_of_the_rows(db: MariaDb) -> None:
    sink = sink_of(db, auto_create="true")
    sink.open(Owner("v", 1), [PLACE])
    sink.put(batch_of("vanishing", [{"id": 1, "name": "x"}]))
    sink.flush({PLACE: 1})
    db.run("DROP TABLE vanishing")
    with pytest.raises(Retriable, match="vanishing"):
        sink.put(batch_of("vanishing", [{"id": 2, "name": "y"}]))
    sink.close()
    sink.open(Owner("v", 1), [PLACE])
    assert not sink.put(batch_of("vanishing", [{"id": 2, "name": "y"}]))
    sink.flush({PLACE: 2})
    sink.close()
    assert db.rows("SELECT id FROM vanishing") == [(2,)]


def test_a_new_field_becomes_a_column_and_types_are_kept(db: MariaDb) -> None:
    wider = struct(
        *[(one.name, one.schema) for one in SCHEMA.fields],
        ("at", Schema("int64", True, TIMESTAMP, 1)),
        ("price", Schema("bytes", True, DECIMAL, 1, parameters=((SCALE, "2"),))),
        ("raw", Schema("bytes", True)),
    )
    sink = sink_of(db, auto_create="true", auto_evolve="true")
    sink.open(Owner("e", 1), [PLACE])
    sink.put(batch_of("growing", [{"id": 1, "name": "x"}]))
    sink.flush({PLACE: 1})
    row = {"id": 2, "name": "y", "at": 1_700_000_000_123, "price": Decimal("-1.50"), "raw": b"\x00\xff"}
    sink.put(batch_of("growing", [row], wider))
    sink.flush({PLACE: 2})
    sink.close()
    rows = db.rows("SELECT id, CAST(at AS CHAR), price, raw FROM growing ORDER BY id")
    assert rows == [(1, None, None, None), (2, "2023-11-14 22:13:20.123", Decimal("-1.50"), b"\x00\xff")]


@pytest.mark.parametrize(
    ("contract", "columns", "ids", "told"),
    [
        ("evolve", {"id", "name", "more"}, {1, 2}, []),
        ("freeze", {"id", "name"}, {1, 2}, []),
        ("discard", {"id", "name"}, {1}, [True]),
        ("fail", {"id", "name"}, {1}, [False]),
    ],
)
def test_a_contract_says_what_becomes_of_a_new_field(
    db: MariaDb, contract: str, columns: set[str], ids: set[int], told: list[bool]
) -> None:
    table = f"contract_{contract}"
    db.run(f"CREATE TABLE {table} (id BIGINT, name TEXT)")
    wider = struct(*[(one.name, one.schema) for one in SCHEMA.fields], ("more", Schema("int32", True)))
    sink = sink_of(db, schema_contract=contract)
    batches = [batch_of(table, [{"id": 1, "name": "x"}]), batch_of(table, [{"id": 2, "name": "y", "more": 3}], wider)]
    sink.open(Owner(table, 1), [PLACE])
    try:
        first, refused = [sink.put(batch) for batch in batches]
    except Retriable:  # the first row holds a lock on the table: it is given up, and put again
        assert contract == "evolve"
        sink.close()
        sink.open(Owner(table, 1), [PLACE])
        first, refused = [sink.put(batch) for batch in batches]
    assert not first
    sink.flush({PLACE: 2})
    sink.close()
    assert [one.left_out for one in refused] == told
    found = db.rows(f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'")  # noqa: S608
    assert {name for (name,) in found} == columns
    assert {key for (key,) in db.rows(f"SELECT id FROM {table}")} == ids  # noqa: S608


def test_a_record_without_a_value_deletes_its_row(db: MariaDb) -> None:
    sink = sink_of(
        db, auto_create="true", insert_mode="upsert", pk_mode="record_key", pk_fields="k", delete_enabled="true"
    )
    sink.open(Owner("g", 1), [PLACE])
    sink.put(batch_of("gone", [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}], keys=["a", "b"]))
    sink.put(batch_of("gone", [None, {"id": 3, "name": "z"}], keys=["a", "c"]))
    sink.flush({PLACE: 4})
    sink.close()
    assert db.rows("SELECT k FROM gone ORDER BY k") == [("b",), ("c",)]


@pytest.mark.proves("R30")
def test_a_row_that_commits_late_is_not_lost(db: MariaDb) -> None:
    db.run("CREATE TABLE late (id BIGINT AUTO_INCREMENT PRIMARY KEY, name TEXT)")
    source = source_of(db, mode="incrementing", incrementing_column_name="id", table_whitelist="late")
    (place,) = source.partitions()
    with db.connect() as slow, slow.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO late (name) VALUES ('late')")
        db.run("INSERT INTO late (name) VALUES ('early')")
        rows, start = read_all(source, place)
        assert [one["name"] for one in rows] == ["early"]
        cursor.execute("COMMIT")
    rows, start = read_all(source, place, start)
    assert [one["name"] for one in rows] == ["late"]
    assert read_all(source, place, start)[0] == []


def test_positions_that_somebody_deleted_are_stored_anew(db: MariaDb) -> None:
    for statement in ("DELETE FROM twinlog_positions", "DROP TABLE twinlog_positions"):
        sink = sink_of(db, auto_create="true", table_name_format="unplaced")
        sink.open(Owner("unplaced", 1), [PLACE])
        sink.put(batch_of("t", [{"id": 1, "name": "a"}]))
        sink.flush({PLACE: 1})
        db.run(statement)
        sink.put(batch_of("t", [{"id": 2, "name": "b"}]))
        with pytest.raises(Retriable, match="twinlog_positions"):
            sink.flush({PLACE: 2})
        sink.close()
        assert sink.open(Owner("unplaced", 1), [PLACE]) == {}  # the task knows where it was
        sink.put(batch_of("t", [{"id": 2, "name": "b"}]))
        sink.flush({PLACE: 2})
        assert sink.positions("unplaced") == {PLACE: 2}
        sink.close()
        assert [tuple(row) for row in db.rows("SELECT id FROM unplaced ORDER BY id")] == [(1,), (2,)]
        db.run("DROP TABLE unplaced")


@pytest.mark.proves("R30")
def test_a_late_row_is_not_lost_to_a_wrong_clock(db: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    shift_clock(monkeypatch, -1)
    db.run("CREATE TABLE clocks (id BIGINT AUTO_INCREMENT PRIMARY KEY, name TEXT)")
    source = source_of(
        db, mode="incrementing", incrementing_column_name="id", table_whitelist="clocks", gap_watch_ms="1"
    )
    (place,) = source.partitions()
    with db.connect() as slow, slow.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO clocks (name) VALUES ('late')")
        db.run("INSERT INTO clocks (name) VALUES ('early')")
        rows, start = read_all(source, place)
        for _ in range(3):
            time.sleep(0.4)  # the server tells the begin of a transaction in whole seconds
            more, start = read_all(source, place, start)
            rows += more
        assert [one["name"] for one in rows] == ["early"]
        cursor.execute("COMMIT")
    assert [one["name"] for one in read_all(source, place, start)[0]] == ["late"]


def test_every_chunk_can_be_started_from_and_a_column_that_comes_is_read(db: MariaDb) -> None:
    db.run(
        "CREATE TABLE many (id BIGINT PRIMARY KEY, at DATETIME(3), amount DECIMAL(10,2), raw BLOB, note TEXT, "
        "flag TINYINT, day DATE, t TIME, big BIGINT UNSIGNED)",
        "INSERT INTO many SELECT seq, TIMESTAMP('2026-01-01') + INTERVAL FLOOR(seq / 3) SECOND, seq / 7, x'00ff', "
        "IF(seq % 2 = 0, CONCAT('a\"b,', CHAR(10 USING utf8mb4), seq), NULL), 1, '2026-02-03', '04:05:06', 7 "
        "FROM seq_1_to_50",
    )
    source = source_of(
        db, mode="timestamp+incrementing", incrementing_column_name="id", timestamp_column_name="at",
        table_whitelist="many", batch_max_rows="7", validate_non_null="false",
    )  # fmt: skip
    (place,) = source.partitions()
    starts: list[Any] = [None, *[dict(chunk.next) for chunk in source.read(place, None, lambda: False)]]
    rows, start = read_all(source, place)
    assert [one["id"] for one in rows] == list(range(1, 51))
    assert (rows[0]["amount"], rows[0]["raw"], rows[1]["note"]) == (Decimal("0.14"), b"\x00\xff", 'a"b,\n2')
    done = 0
    for one in starts:
        rest, _ = read_all(source, place, one)
        assert [row["id"] for row in rest] == list(range(done + 1, 51))
        done = min(done + 7, 50)
    db.run("ALTER TABLE many ADD COLUMN extra INT", "INSERT INTO many (id, at, extra) VALUES (51, '2026-01-02', 9)")
    rows, _ = read_all(source, place, start)
    assert [(row["id"], row["extra"]) for row in rows] == [(51, 9)]
