"""Sessions for both kinds of work in one JVM, and data sources that carry secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSourceReader, InputPartition

from twinlog.spark.formats import register_format
from twinlog.spark.place import SparkPlace, spark_session
from twinlog.spark.session import Session, is_gone, session_for, stop_session
from twinlog.spark.work import MIRROR, TABLES

SECRET = "hunter2hunter2"


class Counting(DataSourceReader):
    """Ten rows, for whoever knows the secret."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002  Spark's signature
        assert self.secret == SECRET
        yield pa.RecordBatch.from_arrays([pa.array(range(10), pa.int64())], ["number"])


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("spark")
    started = spark_session(SparkPlace(), 2, folder)
    yield started
    stop_session(started)
    assert is_gone(started)


def test_a_session_for_tables_leaves_the_one_of_the_mirror_alone(session: Session) -> None:
    tables = session_for(session, TABLES, spark__sql__shuffle__partitions="3")
    for name, value in TABLES.session.items():
        assert tables.conf.get(name) == value
    for name, value in MIRROR.session.items():
        assert session.conf.get(name) == value
    assert (tables.conf.get("spark.sql.shuffle.partitions"), tables.range(100).count()) == ("3", 100)
    assert session.conf.get("spark.sql.shuffle.partitions") != "3"


@pytest.mark.proves("R12")
def test_what_a_data_source_holds_reaches_executors_and_no_plan(session: Session) -> None:
    tables = session_for(session, TABLES)
    reader = Counting(SECRET)
    register_format(tables, "counting", "number long", reader=lambda: reader)
    rows = tables.read.format("counting").load()
    assert [row.number for row in rows.collect()] == list(range(10))
    plan = rows._jdf.queryExecution().toString()
    assert "counting" in plan.lower() or "number" in plan
    assert SECRET not in plan


def test_a_format_without_a_writer_says_so(session: Session) -> None:
    tables = session_for(session, TABLES)
    register_format(tables, "nothing", "number long")
    with pytest.raises(PySparkException, match="nothing has no reader"):
        tables.read.format("nothing").load().collect()
