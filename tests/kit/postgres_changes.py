"""Configurations of the PostgreSQL source, each with a slot of its own."""

from __future__ import annotations

import itertools

from tests.kit.postgres import Postgres

CLASS = "io.debezium.connector.postgresql.PostgresConnector"
_NUMBERS = itertools.count()


def config_of(db: Postgres, tables: str, **more: str) -> dict[str, str]:
    number = next(_NUMBERS)
    return {
        "connector.class": CLASS, "database.hostname": "127.0.0.1", "database.port": str(db.port),
        "database.user": "app",
        "database.dbname": "postgres", "topic.prefix": "shop", "table.include.list": tables,
        "slot.name": f"slot{number}", "publication.name": f"publication{number}",
        **{key.replace("_", "."): value for key, value in more.items()},
    }  # fmt: skip
