"""Data sources that carry secrets: registered as a class that holds what it needs. Runs on the driver.

Spark pickles the class by value, so nothing of it shows in a plan, in the options or in the UI (R12).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)

from twinlog.spark.session import Session, make_active


def register_format(
    session: Session,
    name: str,
    schema: str,
    *,
    reader: Callable[[], DataSourceReader] | None = None,
    stream_reader: Callable[[], DataSourceStreamReader] | None = None,
    stream_writer: Callable[[], DataSourceStreamArrowWriter] | None = None,
) -> None:
    """Let `session` read and write the format `name`. What the makers return must be picklable."""

    def missing(use: str) -> NoReturn:
        raise NotImplementedError(f"{name} has no {use}")

    class SecretFormat(DataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return schema

        def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002
            return reader() if reader is not None else missing("reader")

        def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002
            return stream_reader() if stream_reader is not None else missing("stream reader")

        def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: ARG002
            return stream_writer() if stream_writer is not None else missing("stream writer")

    # Spark looks Python data sources up in the active session of the calling thread, and ours changes.
    make_active(session)
    session.dataSource.register(SecretFormat)
