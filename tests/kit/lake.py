"""Lake tables read by hand, without the libraries that wrote them: metadata, manifests and Parquet files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet

from twinlog.pipelines.plugins import connector

ICEBERG = "org.apache.iceberg.connect.IcebergSinkConnector"
DELTA = "io.twinlog.DeltaSinkConnector"


def iceberg_config(folder: Path, **config: str) -> dict[str, str]:
    """A catalog in SQLite and tables in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "connector.class": ICEBERG, "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{folder / 'catalog.db'}", "iceberg.catalog.warehouse": f"file://{folder}",
        "iceberg.tables": "shop.orders", "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true", **{key.replace("__", "."): one for key, one in config.items()},
    }  # fmt: skip


def delta_config(folder: Path, **config: str) -> dict[str, str]:
    return {
        "connector.class": DELTA, "delta.table.url": f"file://{folder}/${{topic}}",
        **{key.replace("__", "."): one for key, one in config.items()},
    }  # fmt: skip


def sink_of(config: dict[str, str]) -> Any:
    return connector(config["connector.class"], config)


def _local(place: str) -> str:
    return place.removeprefix("file://")


def iceberg_files(table: Path) -> list[str]:
    """The data files of a table as its catalog has it; none if there is no such table."""
    with closing(sqlite3.connect(table.parents[1] / "catalog.db")) as catalog:
        query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
        try:
            row = catalog.execute(query, (table.parent.name, table.name)).fetchone()
        except sqlite3.OperationalError:
            row = None
    if row is None:
        return []
    facts = json.loads(Path(_local(row[0])).read_text())
    if facts.get("current-snapshot-id") in {None, -1}:
        return []
    (snapshot,) = [one for one in facts["snapshots"] if one["snapshot-id"] == facts["current-snapshot-id"]]
    manifests = [one["manifest_path"] for one in _avro(snapshot["manifest-list"])]
    entries = [one for manifest in manifests for one in _avro(manifest)]
    return [_local(one["data_file"]["file_path"]) for one in entries if one["status"] != 2]


def _avro(place: str) -> list[Any]:
    with Path(_local(place)).open("rb") as file:
        return list(fastavro.reader(file))


def delta_files(table: Path) -> list[str]:
    """The data files of the newest version of a table in a folder."""
    found: dict[str, None] = {}
    for log in sorted((table / "_delta_log").glob("*.json")):
        for line in log.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                found[action["add"]["path"]] = None
            elif "remove" in action:
                found.pop(action["remove"]["path"], None)
    return [str(table / one) for one in found]


def rows_in(files: list[str]) -> list[dict[str, Any]]:
    """All rows of Parquet files."""
    return [row for one in files for row in pyarrow.parquet.ParquetFile(one).read().to_pylist()]
