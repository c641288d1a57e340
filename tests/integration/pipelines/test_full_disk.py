"""A disk that is full, and has room again: sinks of files and tables wait, and each record is there once."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.lake import delta_config, delta_files, iceberg_config, iceberg_files, rows_in
from tests.kit.object_store import P0, batch_of

from twinlog.pipelines.api import Owner, Retriable
from twinlog.pipelines.plugins import connector
from twinlog.pipelines.schemas import Schema, struct

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="a small disk is mounted by root")
SCHEMA = struct(("n", Schema("int64")), ("text", Schema("string")))
ROWS = 40


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)], check=False)
    if made.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def config_of(kind: str, disk: Path) -> dict[str, str]:
    match kind:
        case "iceberg":
            return iceberg_config(disk / "lake")
        case "delta":
            return delta_config(disk, delta__table__url=f"file://{disk}/table")
        case "folder":
            own = {"store.url": f"file://{disk}", "flush.size": "1", "format.class": "ParquetFormat"}
            return {"connector.class": "io.confluent.connect.s3.S3SinkConnector", **own}
        case _:
            return {"connector.class": "FileStreamSink", "file": str(disk / "out")}


def found_in(kind: str, disk: Path) -> Counter[int]:
    readers: dict[str, Callable[[], list[Any]]] = {
        "iceberg": lambda: rows_in(iceberg_files(disk / "lake" / "shop" / "orders")),
        "delta": lambda: rows_in(delta_files(disk / "table")),
        "folder": lambda: rows_in([str(path) for path in (disk / "topics").rglob("*.parquet")]),
        "file": lambda: [{"n": int(line.split()[0])} for line in (disk / "out").read_text().splitlines()],
    }
    return Counter(row["n"] for row in readers[kind]())


@pytest.mark.proves("R30")
@pytest.mark.parametrize("kind", ["file", "folder", "iceberg", "delta"])
def test_records_are_there_once_after_a_full_disk(disk: Path, kind: str) -> None:
    sink: Any = connector(config_of(kind, disk)["connector.class"], config_of(kind, disk))
    position, reasons, is_open = 0, list[str](), False
    while position < ROWS and len(reasons) < 10:
        text = os.urandom(9000).hex()
        row = f"{position} {text}" if kind == "file" else {"n": position, "text": text}
        try:
            if not is_open:
                position = sink.open(Owner("s", 1), [P0]).get(P0, position)
                is_open = True
                continue
            sink.put(batch_of([row], first=position, schema=None if kind == "file" else SCHEMA))
            sink.flush({P0: position + 1})
            position += 1
        except Retriable as error:
            reasons.append(str(error))
            sink.close()
            is_open = False
            if len(reasons) == 2:  # once more in vain, then there is room
                subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    sink.close()
    assert len(reasons) == 2, reasons
    assert found_in(kind, disk) == Counter(range(ROWS))
