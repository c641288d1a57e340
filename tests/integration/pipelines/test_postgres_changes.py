"""Change data capture from a real PostgreSQL: rows that are there, changes, deletes, new columns; nothing twice."""

# ruff: noqa: S608  statements of tests

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.kit.changes import drained, plain, source_of
from tests.kit.file_pipelines import records_of
from tests.kit.pipelines import JSON, PATIENCE_S, pipelines
from tests.kit.postgres import Postgres, postgres
from tests.kit.postgres_changes import config_of
from tests.kit.waiting import wait_until

from twinlog.errors import ChangesLost
from twinlog.local.cluster import LocalCluster
from twinlog.pipelines.api import Chunk, Offset, Retriable
from twinlog.spark.session import Session

pytestmark = pytest.mark.timeout(420)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    with postgres(tmp_path_factory.mktemp("postgres")) as server:
        yield server


def test_rows_then_changes_then_deletes(db: Postgres) -> None:
    db.run(
        "CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL, born date, seen timestamptz, money numeric(8,2), "
        "tags text[], raw bytea, doc jsonb, at timestamp, ok boolean)",
        "INSERT INTO people VALUES (1, 'Änn', '2000-01-02', '2026-01-02 03:04:05.5+01', -12.50, '{a,\"b,c\",NULL}', "
        "'\\x00ff', '{\"a\": 1}', '2026-01-02 03:04:05.000006', true)",
        "INSERT INTO people (id, name) VALUES (2, 'Bob')",
    )
    source = source_of(config_of(db, "public.people"))
    found, at = drained(source, None)
    assert [(one[1], one[2]) for one in found] == [("r", (1,)), ("r", (2,))]
    assert found[0][0] == "shop.public.people"
    assert found[0][4] == {
        "id": 1, "name": "Änn", "born": 10958, "seen": "2026-01-02T02:04:05.500000Z", "money": Decimal("-12.50"),
        "tags": ["a", "b,c", None], "raw": b"\x00\xff", "doc": '{"a": 1}', "at": 1_767_323_045_000_006, "ok": True,
    }  # fmt: skip
    db.run(
        "INSERT INTO people (id, name) VALUES (3, 'Cid')",
        "UPDATE people SET name = 'Bea' WHERE id = 2",
        "UPDATE people SET id = 4 WHERE id = 3",
        "DELETE FROM people WHERE id = 1",
        "ALTER TABLE people ADD COLUMN shoe int",
        "INSERT INTO people (id, name, shoe) VALUES (5, 'Dan', 42)",
    )
    found, at = drained(source, at, 8)
    assert [(one[1], one[2]) for one in found] == [
        ("c", (3,)), ("u", (2,)), ("d", (3,)), ("tombstone", (3,)), ("c", (4,)), ("d", (1,)), ("tombstone", (1,)),
        ("c", (5,)),
    ]  # fmt: skip
    assert found[1][3:] == (None, found[1][4])
    assert found[1][4]["name"] == "Bea"
    assert (found[5][3]["id"], found[5][3]["name"], found[5][4]) == (1, "", None)
    assert found[7][4]["shoe"] == 42
    db.run("INSERT INTO people (id, name) VALUES (6, 'Eve')")
    assert [(one[1], one[2]) for one in drained(source, at, 1)[0]] == [("c", (6,))]
    source.close()


def test_the_whole_row_of_before_with_full_identity(db: Postgres) -> None:
    big = "x" * 20_000
    db.run("CREATE TABLE full_id (id int PRIMARY KEY, n int, big text)", "ALTER TABLE full_id REPLICA IDENTITY FULL",
           "ALTER TABLE full_id ALTER COLUMN big SET STORAGE EXTERNAL")  # fmt: skip
    db.run("CREATE TABLE toast (id int PRIMARY KEY, n int, big text)",
           "ALTER TABLE toast ALTER COLUMN big SET STORAGE EXTERNAL")  # fmt: skip
    source = source_of(config_of(db, "public.full_id,public.toast", snapshot_mode="no_data"))
    _, at = drained(source, None)
    db.run(f"INSERT INTO full_id VALUES (1, 1, '{big}')", "UPDATE full_id SET n = 2",
           f"INSERT INTO toast VALUES (1, 1, '{big}')", "UPDATE toast SET n = 2")  # fmt: skip
    found, _ = drained(source, at, 4)
    source.close()
    assert found[1][3:] == ({"id": 1, "n": 1, "big": big}, {"id": 1, "n": 2, "big": big})
    assert found[3][4]["big"] == "__debezium_unavailable_value"


@pytest.mark.proves("R30")
@pytest.mark.parametrize("seed", [1, 2])
def test_wherever_it_is_interrupted_nothing_is_lost_or_doubled(db: Postgres, seed: int) -> None:
    dice = random.Random(seed)
    one, two = f"a{seed}", f"b{seed}"
    for name in (one, two):
        db.run(f"CREATE TABLE {name} (id int PRIMARY KEY, n int)",
               f"INSERT INTO {name} SELECT i, 0 FROM generate_series(1, 20) i")  # fmt: skip
    small = {"snapshot_fetch_size": "7", "max_batch_size": "3"}
    whole = source_of(config_of(db, f"public.{one},public.{two}", **small))
    torn = config_of(db, f"public.{one},public.{two}", **small)
    expected, at = drained(whole, None)
    # Keys of two digits among those of one: rows are read in the order of the keys, not of their texts.
    assert [record[2] for record in expected] == [(n,) for n in range(1, 21)] * 2
    found: list[Any] = []
    start: Offset | None = None

    def reads(source: Any, place: Any) -> Iterator[Iterator[Chunk]]:
        """Some calls: a new connection needs time until the first change comes."""
        return (source.read(place, start, lambda: False) for _ in range(20))

    def go_on() -> Any:
        """Read with a new connection from the last position, and break off at a random chunk."""
        nonlocal start
        source = source_of(torn)
        (place,) = source.partitions()
        got = 0
        try:
            for chunk in itertools.chain.from_iterable(reads(source, place)):
                found.extend(plain(chunk))
                start = dict(chunk.next)
                got += 1
                if dice.random() < 0.2:
                    break
        except Retriable as error:  # the server still holds the slot for the connection that was broken off
            return str(error)
        if start is not None and dice.random() < 0.5:
            source.committed(place, start)
        source.close()
        return got

    wait_until(go_on, lambda _: start is not None and not start.get("snapshot"), within_s=PATIENCE_S, what="snapshot")
    assert sorted(map(str, found)) == sorted(map(str, expected))
    found.clear()
    with db.connect() as client:
        for _ in range(12):
            with client.transaction():
                for _ in range(dice.randint(0, 9)):
                    table, row = dice.choice([one, two]), dice.randint(1, 30)
                    free = f"NOT EXISTS (SELECT 1 FROM {table} x WHERE x.id = {row} + 100)"
                    statements = [
                        f"INSERT INTO {table} VALUES ({row}, 1) ON CONFLICT (id) DO UPDATE SET n = {table}.n + 1",
                        f"DELETE FROM {table} WHERE id = {row}",
                        f"UPDATE {table} SET id = id + 100 WHERE id = {row} AND {free}",
                    ]
                    client.execute(dice.choice(statements).encode())
    db.run(f"INSERT INTO {one} VALUES (9999, 0)")  # the last one: here all is read
    expected = []
    while not any(record[2] == (9999,) for record in expected):
        more, at = drained(whole, at, 1)
        expected += more
    whole.close()
    assert len(expected) > 20
    wait_until(go_on, lambda _: len(found) >= len(expected), within_s=PATIENCE_S, what="changes")
    assert found == expected


def test_a_slot_that_is_gone_is_told(db: Postgres) -> None:
    db.run("CREATE TABLE gone (id int PRIMARY KEY)")
    config = config_of(db, "public.gone")
    source = source_of(config)
    _, at = drained(source, None)
    source.close()
    wait_until(
        lambda: db.rows(f"SELECT active FROM pg_replication_slots WHERE slot_name = '{config['slot.name']}'"),
        lambda rows: rows == [(False,)], within_s=30, what="an idle slot",
    )  # fmt: skip
    db.run(f"SELECT pg_drop_replication_slot('{config['slot.name']}')")
    with pytest.raises(ChangesLost, match=config["slot.name"]):
        drained(source, at, 1)
    source.close()
    again = source_of(config | {"snapshot.mode": "when_needed"})
    db.run("INSERT INTO gone VALUES (1)")
    assert [one[1] for one in drained(again, at, 1)[0]] == ["r"]
    again.close()


def test_the_server_may_forget_what_is_stored(db: Postgres) -> None:
    db.run("CREATE TABLE kept (id int PRIMARY KEY)")
    config = config_of(db, "public.kept", status_update_interval_ms="1")
    source = source_of(config)
    _, at = drained(source, None)
    query = f"SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = '{config['slot.name']}'"
    (before,) = db.rows(query)
    db.run("INSERT INTO kept VALUES (1)")
    _, at = drained(source, at, 1)
    assert db.rows(query) == [before]  # read, and stored nowhere yet
    (place,) = source.partitions()
    assert at is not None
    source.committed(place, at)
    source.close()
    wait_until(lambda: db.rows(query), lambda now: now != [before], within_s=30, what="a confirmed position")


def test_heartbeats_move_the_position(db: Postgres) -> None:
    db.run("CREATE TABLE still (id int PRIMARY KEY)", "CREATE TABLE beats (at timestamptz)")
    config = config_of(db, "public.still", heartbeat_interval_ms="1",
                       heartbeat_action_query="INSERT INTO beats VALUES (now())")  # fmt: skip
    source = source_of(config)
    _, at = drained(source, None)
    (place,) = source.partitions()
    chunks = wait_until(lambda: list(source.read(place, at, lambda: False)), bool, within_s=30, what="a heartbeat")
    source.close()
    assert [chunk.topic for chunk in chunks] == ["__debezium-heartbeat.shop"]
    assert db.rows("SELECT count(*) > 0 FROM beats") == [(True,)]


@pytest.mark.proves("R30")
def test_tables_reach_topics_through_spark(
    spark: Session, db: Postgres, source_cluster: LocalCluster, tmp_path: Path
) -> None:
    db.run("CREATE TABLE orders (id int PRIMARY KEY, item text)", "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    config = config_of(db, "public.orders", topic_prefix="cdc") | {
        "key.converter": JSON, "key.converter.schemas.enable": "false",
        "value.converter": JSON, "value.converter.schemas.enable": "false", "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
    }  # fmt: skip
    with pipelines(spark, source_cluster, tmp_path) as worker:
        worker.start("orders-cdc", config)
        records = records_of(source_cluster, "cdc.public.orders", 2)
        db.run("UPDATE orders SET item = 'c' WHERE id = 1", "DELETE FROM orders WHERE id = 2")
        db.run("ALTER TABLE orders ADD COLUMN price numeric(6,2)", "INSERT INTO orders VALUES (3, 'd', 1.25)")
        records += records_of(source_cluster, "cdc.public.orders", 4)  # its group goes on where it was
        worker.stop("orders-cdc")
        db.run("INSERT INTO orders VALUES (4, 'e', 0)")
        worker.start("orders-cdc", config)
        records += records_of(source_cluster, "cdc.public.orders", 1)
    values: list[Any] = [None if value is None else json.loads(value) for _, value in records]
    assert [json.loads(key or b"")["id"] for key, _ in records] == [1, 2, 1, 2, 2, 3, 4]
    assert [value and value["op"] for value in values] == ["r", "r", "u", "d", None, "c", "c"]
    assert values[5]["after"] == {"id": 3, "item": "d", "price": "fQ=="}
    assert values[0]["source"]["connector"] == "postgresql"
