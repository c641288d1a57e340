"""Configurations of the MariaDB source, each with a number of its own."""

from __future__ import annotations

import itertools

from twinlog.local.mariadb import MariaDb

MARIADB = "io.debezium.connector.mariadb.MariaDbConnector"
_NUMBERS = itertools.count(5000)
EVERY_TYPE = """
    CREATE TABLE {name} (
        id INT PRIMARY KEY, ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, su SMALLINT UNSIGNED, mi MEDIUMINT,
        mu MEDIUMINT UNSIGNED, iu INT UNSIGNED, bi BIGINT, bu BIGINT UNSIGNED, f FLOAT, d DOUBLE, de DECIMAL(10,2),
        dl DECIMAL(30,10), da DATE, ti0 TIME, ti6 TIME(6), dt DATETIME, dt3 DATETIME(3), dt6 DATETIME(6),
        ts TIMESTAMP NULL, ts3 TIMESTAMP(3) NULL, y YEAR, b1 BIT(1), b12 BIT(12), c CHAR(5), vc VARCHAR(300), tx TEXT,
        bn BINARY(4), vb VARBINARY(10), bl BLOB, e ENUM('x','y''z'), st SET('p','q','r'), la VARCHAR(10) CHARSET latin1
    ) CHARSET utf8mb4
"""
VALUES = [
    (
        "1, -128, 255, -32768, 65535, -8388608, 16777215, 4294967295, -9223372036854775808, 9223372036854775807, 1.1, "
        "-2.5e-7, -12345678.90, 12345678901234567890.0123456789, '2026-02-28', '-838:59:59', '12:34:56.000789', "
        "'1969-12-31 23:59:59', '2026-01-02 03:04:05.678', '9999-12-31 23:59:59.999999', '2026-01-02 03:04:05', "
        "'2026-01-02 03:04:05.060', 2155, b'1', b'100000000001', 'ab', 'Änn 🐘', 'text', 'ab', x'00ff', x'0001', "
        "'y''z', 'p,r', 'é'"
    ),
    "2, " + ", ".join(["NULL"] * 33),
    (
        "3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -0.0000000001, '1000-01-01', '00:00:00', '-00:00:00.5', "
        "'1970-01-01 00:00:00', '1970-01-01 00:00:00.001', '1970-01-01', '2038-01-19 03:14:07', "
        "'1970-01-01 00:00:01.5', 1901, b'0', b'1', '', '', '', '', '', '', 'x', '', ''"
    ),
]


def config_of(db: MariaDb, tables: str, **more: str) -> dict[str, str]:
    """`tables` are of the database shop."""
    return {
        "connector.class": MARIADB, "database.hostname": "127.0.0.1", "database.port": str(db.port),
        "database.user": "root", "database.server.id": str(next(_NUMBERS)), "topic.prefix": "cdc",
        "table.include.list": ",".join(f"shop.{one}" for one in tables.split(",")), "include.schema.changes": "false",
        **{key.replace("_", "."): value for key, value in more.items()},
    }  # fmt: skip
