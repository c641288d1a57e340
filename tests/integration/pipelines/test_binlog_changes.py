"""Change data capture from a real MariaDB: rows that are there, changes, deletes, altered tables; nothing twice."""

# ruff: noqa: S608  statements of tests

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.kit.binlog_changes import EVERY_TYPE, VALUES, config_of
from tests.kit.changes import drained, plain, source_of
from tests.kit.file_pipelines import records_of
from tests.kit.pipelines import JSON, pipelines
from tests.kit.waiting import wait_until

from twinlog.errors import ChangesLost, ChangesUnreadable
from twinlog.local.cluster import LocalCluster
from twinlog.local.mariadb import MariaDb
from twinlog.pipelines.api import Chunk, Offset, Retriable
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(420)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    server = MariaDb(tmp_path_factory.mktemp("mariadb"))
    server.start()
    yield server
    server.stop()


FIRST = {
    "id": 1, "ti": -128, "tu": 255, "si": -32768, "su": 65535, "mi": -8388608, "mu": 16777215, "iu": 4294967295,
    "bi": -(2**63), "bu": 2**63 - 1, "f": pytest.approx(1.1), "d": -2.5e-7, "de": Decimal("-12345678.90"),
    "dl": Decimal("12345678901234567890.0123456789"), "da": 20512, "ti0": -3020399000000, "ti6": 45296000789,
    "dt": -1000, "dt3": 1767323045678, "dt6": 253402300799999999, "ts": "2026-01-02T03:04:05Z",
    "ts3": "2026-01-02T03:04:05.06Z", "y": 2155, "b1": True, "b12": b"\x01\x08", "c": "ab", "vc": "Änn 🐘",
    "tx": "text", "bn": b"ab\0\0", "vb": b"\x00\xff", "bl": b"\x00\x01", "e": "y'z", "st": "p,r", "la": "é",
}  # fmt: skip


def test_every_type_is_the_same_from_the_table_and_from_the_log(db: MariaDb) -> None:
    db.run(EVERY_TYPE.format(name="types_a"), EVERY_TYPE.format(name="types_b"))
    db.run("SET time_zone = '+00:00'", *(f"INSERT INTO types_a VALUES ({row})" for row in VALUES))
    source = source_of(config_of(db, "types_a,types_b"))
    there, at = drained(source, None)
    db.run("INSERT INTO types_b SELECT * FROM types_a ORDER BY id")
    logged, at = drained(source, at, 3)
    assert [(one[1], one[2]) for one in there] == [("r", (1,)), ("r", (2,)), ("r", (3,))]
    assert there[0][4] == FIRST
    # As Debezium: a time has its zeros at the end where it comes from the log.
    unpadded = [one[4] | {"ts3": one[4]["ts3"] and re.sub(r"\.?0+Z", "Z", one[4]["ts3"])} for one in logged]
    assert unpadded == [one[4] for one in there]
    assert logged[0][4]["ts3"] == "2026-01-02T03:04:05.060Z"
    assert [one[0] for one in logged] == ["cdc.shop.types_b"] * 3
    source.close()


def test_changes_deletes_new_keys_and_altered_tables(db: MariaDb) -> None:
    db.run(
        "CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL)", "INSERT INTO people VALUES (1, 'Ann')"
    )
    source = source_of(config_of(db, "people"))
    found, at = drained(source, None)
    assert found == [("cdc.shop.people", "r", (1,), None, {"id": 1, "name": "Ann"})]
    db.run(
        "INSERT INTO people VALUES (2, 'Bob'), (3, 'Cid')",
        "UPDATE people SET name = 'Bea' WHERE id = 2",
        "UPDATE people SET id = 4 WHERE id = 3",
        "DELETE FROM people WHERE id = 1",
        "ALTER TABLE people ADD COLUMN shoe INT FIRST, MODIFY name VARCHAR(500)",
        "INSERT INTO people VALUES (42, 5, 'Dan')",
        "ALTER TABLE people DROP COLUMN name, ADD COLUMN born DATE",
        "INSERT INTO people VALUES (43, 6, '1970-01-02')",
    )
    # All of it is read only now: the table has other columns than the log had.
    found, at = drained(source, at, 10)
    assert [one[1:] for one in found] == [
        ("c", (2,), None, {"id": 2, "name": "Bob"}),
        ("c", (3,), None, {"id": 3, "name": "Cid"}),
        ("u", (2,), {"id": 2, "name": "Bob"}, {"id": 2, "name": "Bea"}),
        ("d", (3,), {"id": 3, "name": "Cid"}, None),
        ("tombstone", (3,), None, None),
        ("c", (4,), None, {"id": 4, "name": "Cid"}),
        ("d", (1,), {"id": 1, "name": "Ann"}, None),
        ("tombstone", (1,), None, None),
        ("c", (5,), None, {"shoe": 42, "id": 5, "name": "Dan"}),
        ("c", (6,), None, {"shoe": 43, "id": 6, "born": 1}),
    ]
    db.run("INSERT INTO people (id) VALUES (7)")
    assert [(one[1], one[2]) for one in drained(source, at, 1)[0]] == [("c", (7,))]
    source.close()


@pytest.mark.proves("R30")
def test_positions_are_those_of_the_log_and_need_no_gtids(db: MariaDb) -> None:
    db.run("CREATE TABLE places (id INT PRIMARY KEY)")
    source = source_of(config_of(db, "places", gtid_ignore_on_recovery="true"))
    _, at = drained(source, None)
    db.run("INSERT INTO places VALUES (1)", "INSERT INTO places VALUES (2), (3)")
    _, at = drained(source, at, 3)
    ((file, position, *_),) = db.rows("SHOW MASTER STATUS")
    assert at is not None
    assert "event" in at or (at["file"], at["pos"]) == (file, position)
    source.close()
    again = source_of(config_of(db, "places", gtid_ignore_on_recovery="true"))
    db.run("INSERT INTO places VALUES (4)")
    assert [one[2] for one in drained(again, at, 1)[0]] == [(4,)]
    again.close()


def test_a_log_that_does_not_name_columns_is_read_as_long_as_the_table_fits(db: MariaDb) -> None:
    db.run("CREATE TABLE nameless (id INT PRIMARY KEY, n INT UNSIGNED)", "SET GLOBAL binlog_row_metadata = NO_LOG")
    try:
        source = source_of(config_of(db, "nameless"))
        _, at = drained(source, None)
        db.run("INSERT INTO nameless VALUES (1, 4294967295)")
        found, at = drained(source, at, 1)
        assert found[0][4] == {"id": 1, "n": 4294967295}
        assert any("binlog_row_metadata" in one.message and one.level == "warning" for one in source.check())
        db.run("ALTER TABLE nameless ADD COLUMN late INT", "INSERT INTO nameless VALUES (2, 2, 2)")
        found, at = drained(source, at, 1)
        assert found[0][4] == {"id": 2, "n": 2, "late": 2}
        source.close()
        db.run("INSERT INTO nameless VALUES (3, 3, 3)", "ALTER TABLE nameless DROP COLUMN n")
        source = source_of(config_of(db, "nameless"))  # nothing tells it which columns there were
        with pytest.raises(ChangesUnreadable, match=r"2 columns now, 3 then.*binlog_row_metadata=FULL"):
            drained(source, at, 1)
        source.close()
    finally:
        db.run("SET GLOBAL binlog_row_metadata = FULL")


@pytest.mark.proves("R30")
@pytest.mark.parametrize("seed", [1, 2])
def test_wherever_it_is_interrupted_nothing_is_lost_or_doubled(db: MariaDb, seed: int) -> None:
    dice = random.Random(seed)
    one, two = f"a{seed}", f"b{seed}"
    db.run(f"CREATE TABLE {one} (id INT PRIMARY KEY, n INT)", f"INSERT INTO {one} SELECT seq, 0 FROM seq_1_to_20")
    db.run(f"CREATE TABLE {two} (k VARCHAR(9), id INT, n INT, PRIMARY KEY (k, id))",
           f"INSERT INTO {two} SELECT CONCAT('it''s', seq % 3), seq, 0 FROM seq_1_to_20")  # fmt: skip
    small = {"snapshot_fetch_size": "7", "max_batch_size": "3"}
    more = {"gtid_ignore_on_recovery": "true"} if seed == 2 else {}
    whole = source_of(config_of(db, f"{one},{two}", **small, **more))
    torn = config_of(db, f"{one},{two}", **small, **more)
    expected, at = drained(whole, None)
    assert len(expected) == 40
    found: list[Any] = []
    start: Offset | None = None

    def reads(source: Any, place: Any) -> Iterator[Iterator[Chunk]]:
        """Some calls: a new connection needs time until the first change comes."""
        return (source.read(place, start, lambda: False) for _ in range(20))

    def go_on() -> int:
        """Read with a new connection from the last position, and break off at a random chunk."""
        nonlocal start
        source = source_of(torn)
        (place,) = source.partitions()
        for chunk in itertools.chain.from_iterable(reads(source, place)):
            found.extend(plain(chunk))
            start = json.loads(json.dumps(dict(chunk.next)))
            if dice.random() < 0.2:
                break
        source.close()
        return len(found)

    wait_until(go_on, lambda _: start is not None and not start.get("snapshot"), within_s=120, what="snapshot")
    assert sorted(map(str, found)) == sorted(map(str, expected))
    found.clear()
    with db.connect() as client, client.cursor() as cursor:
        for _ in range(12):
            cursor.execute("BEGIN")
            for _ in range(dice.randint(0, 9)):
                row = dice.randint(1, 30)
                statements = [
                    f"INSERT INTO {one} VALUES ({row}, 1) ON DUPLICATE KEY UPDATE n = n + 1",
                    f"DELETE FROM {one} WHERE id = {row}",
                    f"UPDATE IGNORE {one} SET id = id + 100 WHERE id = {row}",
                    f"UPDATE {two} SET n = n + 1 WHERE id % 3 = {row % 3}",
                    f"INSERT IGNORE INTO {two} VALUES ('new', {row}, 0)",
                ]
                cursor.execute(dice.choice(statements))
            cursor.execute(dice.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
            if dice.random() < 0.2:
                cursor.execute("FLUSH BINARY LOGS")
    db.run(f"INSERT INTO {one} VALUES (9999, 0)")  # the last one: here all is read
    expected = []
    while not any(record[2] == (9999,) for record in expected):
        more_, at = drained(whole, at, 1)
        expected += more_
    whole.close()
    assert len(expected) > 20
    wait_until(go_on, lambda seen: seen >= len(expected), within_s=120, what="changes")

    def by_table(records: list[Any], name: str) -> list[Any]:
        return [record for record in records if record[0].endswith(f".{name}")]

    # Of one table in its order; tables have topics of their own.
    assert by_table(found, one) == by_table(expected, one)
    assert by_table(found, two) == by_table(expected, two)


def test_a_log_that_was_purged_is_told(db: MariaDb) -> None:
    db.run("CREATE TABLE gone (id INT PRIMARY KEY)")
    config = config_of(db, "gone")
    source = source_of(config)
    _, at = drained(source, None)
    source.close()
    db.run("INSERT INTO gone VALUES (1)", "FLUSH BINARY LOGS")
    ((last, *_),) = db.rows("SHOW MASTER STATUS")

    def purged() -> str:
        db.run(f"PURGE BINARY LOGS TO '{last}'")
        return str(db.rows("SHOW BINARY LOGS")[0][0])

    wait_until(purged, lambda first: first == last, within_s=30, what="a purged log")
    with pytest.raises(ChangesLost, match="cannot be read any more"):
        drained(source, at, 1)
    source.close()
    again = source_of(config | {"snapshot.mode": "when_needed"})
    db.run("INSERT INTO gone VALUES (2)")
    assert [(one[1], one[2]) for one in drained(again, at, 2)[0]] == [("r", (1,)), ("r", (2,))]
    again.close()


def test_a_server_that_is_killed_is_waited_for(tmp_path: Path) -> None:
    db = MariaDb(tmp_path / "own")
    db.start()
    try:
        db.run("CREATE TABLE t (id INT PRIMARY KEY)")
        source = source_of(config_of(db, "t"))
        _, at = drained(source, None)
        db.run("INSERT INTO t VALUES (1)")
        found, at = drained(source, at, 1)
        db.run("INSERT INTO t VALUES (2)")
        db.kill()
        (place,) = source.partitions()

        def fails() -> str:
            nonlocal at
            try:
                for chunk in source.read(place, at, lambda: False):
                    found.extend(plain(chunk))
                    at = dict(chunk.next)
            except Retriable as error:
                return str(error)
            return ""

        wait_until(fails, bool, within_s=30, what="a connection that is lost")
        db.start()
        db.run("INSERT INTO t VALUES (3)")
        found += drained(source, at, 3 - len(found))[0]
        assert [one[2] for one in found] == [(1,), (2,), (3,)]
        source.close()
    finally:
        db.stop()


def test_heartbeats_and_statements_that_alter(db: MariaDb) -> None:
    db.run("CREATE TABLE still (id INT PRIMARY KEY)", "CREATE TABLE beats (at TIMESTAMP)")
    config = config_of(db, "still", heartbeat_interval_ms="1", include_schema_changes="true", topic_prefix="told",
                       heartbeat_action_query="INSERT INTO shop.beats VALUES (now())")  # fmt: skip
    source = source_of(config)
    _, at = drained(source, None)
    (place,) = source.partitions()
    db.run("ALTER TABLE still ADD COLUMN n INT")
    chunks: list[Chunk] = []

    def look() -> set[str]:
        nonlocal at
        for chunk in source.read(place, at, lambda: False):
            chunks.append(chunk)
            at = dict(chunk.next)
        return {chunk.topic for chunk in chunks}

    wait_until(look, lambda seen: seen >= {"__debezium-heartbeat.told", "told"}, within_s=30, what="a heartbeat")
    source.close()
    told = next(chunk for chunk in chunks if chunk.topic == "told").rows.to_pylist()[0]  # type: ignore[union-attr]
    assert (told["key.databaseName"], told["ddl"]) == ("shop", "ALTER TABLE still ADD COLUMN n INT")
    assert db.rows("SELECT count(*) > 0 FROM beats") == [(1,)]


def test_what_is_missing_is_said_before_the_start(db: MariaDb) -> None:
    db.run("CREATE TABLE seen (id INT PRIMARY KEY, u UUID)", "CREATE OR REPLACE USER poor IDENTIFIED BY 'x'",
           "GRANT SELECT ON shop.seen TO poor")  # fmt: skip
    found = {one.key: one for one in source_of(config_of(db, "seen")).check()}
    assert "the type uuid of column u is not known" in found["column.exclude.list"].message
    assert not list(source_of(config_of(db, "seen", column_exclude_list="shop.seen.u")).check())
    poor = config_of(db, "seen", database_user="poor", database_password="x", column_exclude_list="shop.seen.u")
    remedies = [one.remedy for one in source_of(poor).check() if one.key == "database.user"]
    assert any("GRANT REPLICATION SLAVE" in one for one in remedies)
    assert any("GRANT REPLICATION CLIENT" in one for one in remedies)
    wrong = list(source_of(poor | {"database.password": "y"}).check())
    assert [(one.key, "Access denied" in one.message) for one in wrong] == [("database.user", True)]
    none = [one.message for one in source_of(config_of(db, "nothing_of_this_name")).check()]
    assert any("no table is chosen" in one for one in none)
    db.run("SET GLOBAL binlog_format = MIXED")
    try:
        messages = [one.message for one in source_of(config_of(db, "people")).check()]
    finally:
        db.run("SET GLOBAL binlog_format = ROW")
    assert any("binlog_format of the server is MIXED" in one for one in messages)
    assert "server itself" in str(list(source_of(config_of(db, "people", database_server_id="1")).check()))


def test_a_change_that_was_logged_as_a_statement_is_named(db: MariaDb) -> None:
    db.run("CREATE TABLE worded (id INT PRIMARY KEY)")
    config = config_of(db, "worded")
    source = source_of(config)
    _, at = drained(source, None)
    db.run("SET SESSION binlog_format = STATEMENT", "INSERT INTO worded VALUES (1)", "SET SESSION binlog_format = ROW",
           "INSERT INTO worded VALUES (2)")  # fmt: skip
    with pytest.raises(ChangesUnreadable, match="INSERT INTO worded VALUES"):
        drained(source, at, 1)
    source.close()
    lenient = source_of(config | {"event.processing.failure.handling.mode": "warn"})
    assert [one[2] for one in drained(lenient, at, 1)[0]] == [(2,)]
    lenient.close()


@pytest.mark.proves("R30")
def test_tables_reach_topics_through_spark(
    spark: Session, db: MariaDb, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    db.run("CREATE TABLE orders (id INT PRIMARY KEY, item VARCHAR(20))", "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    config = config_of(db, "orders", topic_prefix="maria") | {
        "key.converter": JSON, "key.converter.schemas.enable": "false", "value.converter": JSON,
        "value.converter.schemas.enable": "false", "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
    }  # fmt: skip
    with pipelines(spark, source_cluster, tmp_path) as worker:
        worker.start("orders-maria", config)
        records = records_of(source_cluster, "maria.shop.orders", 2)
        db.run("UPDATE orders SET item = 'c' WHERE id = 1", "DELETE FROM orders WHERE id = 2",
               "INSERT INTO orders VALUES (2, 'again')")  # fmt: skip
        db.run("ALTER TABLE orders ADD COLUMN price DECIMAL(6,2)", "INSERT INTO orders VALUES (3, 'd', 1.25)")
        records += records_of(source_cluster, "maria.shop.orders", 5)  # its group goes on where it was
        worker.stop("orders-maria")
        db.run("INSERT INTO orders VALUES (4, 'e', 0)")
        worker.start("orders-maria", config)
        records += records_of(source_cluster, "maria.shop.orders", 1)
    values: list[Any] = [None if value is None else json.loads(value) for _, value in records]
    assert [json.loads(key or b"")["id"] for key, _ in records] == [1, 2, 1, 2, 2, 2, 3, 4]
    assert [value and value["op"] for value in values] == ["r", "r", "u", "d", None, "c", "c", "c"]
    assert values[6]["after"] == {"id": 3, "item": "d", "price": "fQ=="}
    assert values[0]["source"]["connector"] == "mariadb"
