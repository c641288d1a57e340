"""A snapshot of MariaDB that is interrupted while its tables change: each record of a row follows its predecessor."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from tests.kit.binlog_changes import config_of
from tests.kit.changes import source_of
from tests.kit.interrupted_snapshots import Keys, assert_each_follows, read_and_interrupt, tables_of, transactions

from twinlog.local.mariadb import MariaDb

pytestmark = pytest.mark.timeout(300)
KEYS: Keys = {
    "numbers": (("k BIGINT",), lambda n: f"{n * 7 - 70}"),
    "texts": (("k VARCHAR(20) COLLATE utf8mb4_general_ci",), lambda n: f"'{'aBcD'[n % 4]}''{{s {n}'"),
    "old_texts": (("k VARCHAR(20) CHARSET latin1",), lambda n: f"'{'éÄzE'[n % 4]}{n}'"),
    "sums": (("k DECIMAL(20,2)",), lambda n: f"{(n - 9) * 12345678901234567}.25"),
    "moments": (("k DATETIME(3)",), lambda n: f"'19{60 + n}-01-02 03:04:05.{n:03}'"),
    "days": (("k DATE", "e ENUM('z','a','m')"), lambda n: f"'2026-01-0{1 + n % 8}', '{'zam'[n // 8]}'"),
    "times": (("k TIME(2)", "b BIT(9)"), lambda n: f"'{'-' if n % 2 else ''}12:00:00.{n % 4}', {n}"),
    "bytes": (("k VARBINARY(9)", "f FLOAT"), lambda n: f"x'{n % 5:02x}00', {n / 10}"),
    "stamps": (("k TIMESTAMP(1)", "y YEAR"), lambda n: f"'2026-01-01 00:00:0{n % 4}.5', {1990 + n}"),
}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDb]:
    server = MariaDb(tmp_path_factory.mktemp("mariadb"))
    server.start()
    yield server
    server.stop()


@pytest.mark.proves("R30")
@pytest.mark.parametrize(("seed", "more"), [
    (1, {}), (2, {"gtid_ignore_on_recovery": "true"}), (3, {"snapshot_max_threads": "1"}),
])  # fmt: skip
def test_each_record_of_a_row_follows_its_predecessor(db: MariaDb, seed: int, more: dict[str, str]) -> None:
    dice = random.Random(seed)
    tables, statements = tables_of(KEYS)
    db.run(*statements)

    def write() -> None:
        with db.connect() as client, client.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            for statements in transactions(tables, dice):
                for statement in ("BEGIN", *statements, "COMMIT"):
                    cursor.execute(statement)
            if dice.random() < 0.2:
                cursor.execute("FLUSH BINARY LOGS")

    for _ in range(12):
        write()
    config = config_of(db, ",".join(KEYS), snapshot_fetch_size="5", max_batch_size="7", **more)
    assert_each_follows(read_and_interrupt(lambda: source_of(config), tables, write, dice))
