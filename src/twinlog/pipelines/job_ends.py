"""The two ends of a pipeline's job as Spark sees them: Python data sources. Reading and writing run on executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from twinlog.pipelines.parcels import packed
from twinlog.pipelines.run import SinkRun, SourceRun
from twinlog.pipelines.task_line import RunAgain, TaskLine


@dataclass
class TaskNumber(InputPartition):
    """Which task of the run a Spark partition is."""

    task: int

    def __init__(self, task: int) -> None:
        super().__init__(task)
        self.task = task


class Done(WriterCommitMessage):
    """A task has ended; what it reached is stored already."""


def _line(run: SinkRun | SourceRun, task: int, end: str) -> TaskLine:
    return TaskLine(run.line, task=task, end_of=end)


class EpochReader(DataSourceReader):
    """Reads the records of an epoch."""

    def __init__(self, run: SinkRun | SourceRun) -> None:
        self.run = run

    def partitions(self) -> Sequence[InputPartition]:
        return [TaskNumber(n) for n in range(len(self.run.tasks))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor."""
        if not isinstance(partition, TaskNumber):
            raise TypeError(f"{partition!r} is not a task of ours")
        line = _line(self.run, partition.task, "reader")
        try:
            if isinstance(self.run, SinkRun):
                from twinlog.pipelines.read_kafka import read_batches  # noqa: PLC0415  sinks need not load sources

                rows = read_batches(self.run, partition.task, line)
                yield from map(packed, rows) if self.run.plain else rows
            else:
                from twinlog.pipelines.source_task import read_source  # noqa: PLC0415

                rows = read_source(self.run, partition.task, line)
                yield from map(packed, rows) if self.run.in_parcels else rows
        except RunAgain:
            raise
        except Exception as error:
            line.send(broke=f"{type(error).__name__}: {error}")
            raise
        finally:
            line.close()


class EpochWriter(DataSourceArrowWriter):
    """Writes the rows of an epoch."""

    def __init__(self, run: SinkRun | SourceRun) -> None:
        self.run = run

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:  # type: ignore[override]
        """On an executor: returns when all of it is durable."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        line = _line(self.run, task, "writer")
        try:
            if isinstance(self.run, SinkRun):
                from twinlog.pipelines.sink_task import write_rows  # noqa: PLC0415

                write_rows(self.run, task, line, iterator)
            else:
                from twinlog.pipelines.write_kafka import write_source  # noqa: PLC0415

                write_source(self.run, task, line, iterator)
        except RunAgain:
            raise
        except Exception as error:
            line.send(broke=f"{type(error).__name__}: {error}")
            raise
        finally:
            line.close()
        return Done()

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing: the tasks stored everything."""

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing: the next epoch continues behind what is stored."""


def pipeline_format(run: SinkRun | SourceRun, name: str, schema_sql: str) -> type[DataSource]:
    """A data source class that holds its run: Spark pickles it by value, so nothing shows in a plan or the UI."""

    class PipelineFormat(DataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return schema_sql

        def reader(self, schema: Any) -> DataSourceReader:  # noqa: ARG002
            return EpochReader(run)

        def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:  # noqa: ARG002
            return EpochWriter(run)

    return PipelineFormat
