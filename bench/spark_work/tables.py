"""Work on tables in one process: run as `python -m bench.spark_work.tables mirror|tables`; prints one line of JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sql

from twinlog.spark.place import SparkPlace, spark_session
from twinlog.spark.session import Session, session_for, stop_session
from twinlog.spark.work import MIRROR, TABLES

ROWS = 300_000
ROUNDS = 4
SLOTS = 2


def _expressions(session: Session) -> Any:
    rows = session.range(0, ROWS, 1, SLOTS).select(
        sql.to_json(sql.struct(sql.col("id"), sql.concat(sql.lit("name-"), sql.col("id")).alias("name"))).alias("value")
    )
    parsed = rows.select(sql.from_json("value", "id long, name string").alias("r"))
    changed = parsed.select(
        sql.upper("r.name").alias("name"),
        (sql.col("r.id") * 2).cast("string").alias("id"),
        sql.regexp_replace("r.name", "[0-9]$", "x").alias("masked"),
        sql.lit("bench").alias("origin"),
    )
    return changed.select(sql.to_json(sql.struct("*")).alias("value"))


def _arrow(session: Session) -> Any:
    """Arrow batches through Python workers, as converters use them."""

    def unchanged(values: Any) -> Any:
        return values

    unchanged.__annotations__ = {"values": pa.Array, "return": pa.Array}
    functions: Any = sql  # its stubs do not know arrow_udf
    rows = session.range(0, ROWS, 1, SLOTS).select(sql.concat(sql.lit("value-"), sql.col("id")).alias("value"))
    return rows.select(functions.arrow_udf(unchanged, "string")(sql.col("value")).alias("value"))


def _micros(session: Session, work: Callable[[Session], Any]) -> list[float]:
    found = []
    for _ in range(ROUNDS):
        began = time.monotonic()
        work(session).write.format("noop").mode("overwrite").save()
        found.append((time.monotonic() - began) * 1e6 / ROWS)
    return [round(value, 2) for value in found[1:]]


def _megabytes(pid: int) -> int:
    fields = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in fields if line.startswith("VmRSS"))


def main() -> None:
    work = {"mirror": MIRROR, "tables": TABLES}[sys.argv[1]]
    with tempfile.TemporaryDirectory(prefix="twinlog-") as folder:
        began = time.monotonic()
        session = spark_session(SparkPlace(), SLOTS, Path(folder), work)
        started_s = time.monotonic() - began
        context: Any = session.sparkContext
        pid = context._gateway.proc.pid  # noqa: SLF001  the JVM that was started
        idle_mb = _megabytes(pid)
        tables = session_for(session, TABLES)
        found = {
            "expressions_us": _micros(tables, _expressions),
            "arrow_us": _micros(tables, _arrow),
            "started_s": round(started_s, 1),
            "idle_mb": idle_mb,
            "worked_mb": _megabytes(pid),
        }
        stop_session(session)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
