"""Chunks as a Spark batch source: one Spark task per bundle of chunks, rows as each kind of job defines them.

`partitions` runs in a planning process beside the driver, `read` in Python workers on the executors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from twinlog.config.settings import LinkSettings
from twinlog.model.verify.verification import Chunk
from twinlog.verify.chunk import compare_all

RowsOf: TypeAlias = Callable[[LinkSettings, tuple[Chunk, ...]], Iterator[pa.RecordBatch]]

RESULT_SCHEMA = "result string"


class Bundle(InputPartition):
    """The chunks of one task."""

    def __init__(self, chunks: tuple[Chunk, ...]) -> None:
        super().__init__(None)
        self.chunks = chunks


class ChunkReader(DataSourceReader):
    """Hands bundles out and reads them. Travels pickled, never as options: the link holds secrets (R12)."""

    def __init__(self, link: LinkSettings, dealt: Sequence[tuple[Chunk, ...]], rows: RowsOf) -> None:
        self.link = link
        self.dealt = dealt
        self.rows = rows

    def partitions(self) -> Sequence[InputPartition]:
        """On the driver's side: as they were dealt."""
        return [Bundle(chunks) for chunks in self.dealt]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor."""
        if not isinstance(partition, Bundle):
            raise TypeError(f"{partition!r} is not a bundle of ours")
        return self.rows(self.link, partition.chunks)


def result_rows(link: LinkSettings, chunks: tuple[Chunk, ...]) -> Iterator[pa.RecordBatch]:
    """The job of a verification: one row per chunk."""
    results = [result.to_json() for result in compare_all(link, chunks)]
    yield pa.RecordBatch.from_arrays([pa.array(results, pa.string())], ["result"])
