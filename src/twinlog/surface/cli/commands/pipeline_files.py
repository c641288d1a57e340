"""Files of connectors and workers, read for the commands of `twinlog pipeline`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinlog.errors import UsageError

if TYPE_CHECKING:
    from twinlog.pipelines.connector import Connector
    from twinlog.pipelines.sources.jdbc.compare import TableSide
    from twinlog.pipelines.worker_settings import Worker
    from twinlog.spark.session import Session

File = Annotated[Path, typer.Argument(help="A connector: JSON or properties file.")]
WorkerFile = Annotated[Path | None, typer.Option("--config", "-c", help="File of a Connect worker.")]


def read_files(file: Path, worker_file: Path | None) -> tuple[str, dict[str, str], Worker]:
    """Name and configuration of a connector, and its worker. Raises UsageError."""
    from twinlog.pipelines.files import read_connector_file, read_properties
    from twinlog.pipelines.settings import SettingsRefused
    from twinlog.pipelines.worker_settings import read_worker

    try:
        name, config = read_connector_file(file)
        return name, config, read_worker({} if worker_file is None else read_properties(worker_file))
    except SettingsRefused as error:
        raise UsageError(str(error)) from error


def read_one(file: Path, worker_file: Path | None) -> tuple[Connector, Worker]:
    """A connector, checked, and its worker. Raises UsageError."""
    from twinlog.pipelines.connector import read_connector
    from twinlog.pipelines.settings import SettingsRefused

    name, config, worker = read_files(file, worker_file)
    try:
        return read_connector(name, config, worker.config), worker
    except SettingsRefused as error:
        raise UsageError(str(error)) from error


def pipeline_spark() -> Session:
    """A small Spark for one command."""
    from twinlog.pipelines.session import start_pipeline_spark

    return start_pipeline_spark(Path(tempfile.mkdtemp(prefix="twinlog-pipeline-")), 2)


def table_sides(source: Path, sink: Path, table: str, key: str | None) -> tuple[TableSide, TableSide, str]:
    """The table of a JDBC source, its copy by a JDBC sink, and the column that names a row. Raises UsageError."""
    from twinlog.pipelines.plugins import connector
    from twinlog.pipelines.settings import SettingsRefused
    from twinlog.pipelines.sinks.jdbc.sink import JdbcSink
    from twinlog.pipelines.sources.jdbc.compare import TableSide
    from twinlog.pipelines.sources.jdbc.source import JdbcSource

    try:
        reads = connector((config := read_files(source, None)[1]).get("connector.class", ""), config)
        writes = connector((other := read_files(sink, None)[1]).get("connector.class", ""), other)
    except SettingsRefused as error:
        raise UsageError(str(error)) from error
    if not isinstance(reads, JdbcSource):
        raise UsageError(f"{source}: verify compares tables; this is no JDBC source")
    if not isinstance(writes, JdbcSink):
        raise UsageError(f"{sink}: verify compares tables; this is no JDBC sink")
    named = key or next(iter(writes.s.pk_fields), "") or reads.s.incrementing
    if not named:
        raise UsageError("nothing names a row: neither pk.fields nor incrementing.column.name is set; give --key")
    topic = reads.s.prefix + table.rpartition(".")[2]
    return (
        TableSide(reads.address, table, reads.s.quote == "always"),
        TableSide(writes.address, writes.table(topic), writes.s.quote == "always"),
        named,
    )
