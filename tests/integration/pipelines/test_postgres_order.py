"""A snapshot of PostgreSQL that is interrupted while tables change: each record of a row follows its predecessor."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from tests.kit.changes import drained, source_of
from tests.kit.interrupted_snapshots import Keys, assert_each_follows, read_and_interrupt, tables_of, transactions
from tests.kit.postgres import Postgres, postgres
from tests.kit.postgres_changes import config_of

pytestmark = pytest.mark.timeout(300)
KEYS: Keys = {
    "numbers": (("k bigint",), lambda n: f"{n * 7 - 70}"),
    "texts": (("k text",), lambda n: f"'{'aBcD'[n % 4]}''{{s {n}'"),
    "plain_texts": (('k varchar(9) COLLATE "C"', "m int"), lambda n: f"'{'aBcD'[n % 4]}', {n}"),
    "sums": (("k numeric(20,2)",), lambda n: f"{(n - 9) * 12345678901234567}.25"),
    "moments": (("k timestamptz", "d date"), lambda n: f"'2026-01-01 00:00:0{n % 4}.5+01', '19{60 + n}-01-02'"),
    "names": (("k uuid",), lambda n: f"'{n * 7919 % 256:02x}000000-0000-0000-0000-00000000000{n % 4}'"),
}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    with postgres(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.mark.proves("R30")
@pytest.mark.parametrize("seed", [1, 2])
def test_each_record_of_a_row_follows_its_predecessor(db: Postgres, seed: int) -> None:
    dice = random.Random(seed)
    tables, statements = tables_of(KEYS)
    db.run(*statements)

    def write() -> None:
        with db.connect() as client:
            for statements in transactions(tables, dice):
                with client.transaction():
                    for statement in statements:
                        client.execute(statement.encode())

    for _ in range(12):
        write()
    listed = ",".join(f"public.{name}" for name in KEYS)
    config = config_of(db, listed, snapshot_fetch_size="5", max_batch_size="7", status_update_interval_ms="1000")
    assert_each_follows(read_and_interrupt(lambda: source_of(config), tables, write, dice))
    slots = db.rows("SELECT slot_name FROM pg_replication_slots WHERE temporary")
    assert slots == []


@pytest.mark.proves("R30")
def test_a_slot_that_was_made_beforehand_brings_no_change_that_its_rows_have(db: Postgres) -> None:
    db.run("CREATE TABLE early (id int PRIMARY KEY, n int)", "INSERT INTO early VALUES (1, 1)")
    config = config_of(db, "public.early")
    db.run(f"SELECT pg_create_logical_replication_slot('{config['slot.name']}', 'pgoutput')")
    db.run("UPDATE early SET n = 2", "INSERT INTO early VALUES (2, 1)")
    source = source_of(config)
    found, at = drained(source, None)
    assert [(one[1], one[4]) for one in found] == [("r", {"id": 1, "n": 2}), ("r", {"id": 2, "n": 1})]
    db.run("UPDATE early SET n = 3 WHERE id = 1")
    found, at = drained(source, at, 1)
    source.close()
    assert [(one[1], one[4]) for one in found] == [("u", {"id": 1, "n": 3})]
