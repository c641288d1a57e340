"""Who wrote which key when, on one side of a pair: rows for the search for conflicts. Runs on executors.

Copies do not count. A batch of a link's producer is one (`__twinlog-writers` names them), and so is a record with a
header of provenance.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from twinlog.config.settings import ClientSettings
from twinlog.errors import TwinlogError
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import HEADER
from twinlog.wire.codec import open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.ranges import RangeReader

WRITE_SCHEMA: Final = (
    "topic string, side string, part int, at bigint, ms bigint, "
    "hash binary, label binary, whole boolean, trouble string"
)
LABEL_BYTES: Final = 64
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "topic": pa.string(),
    "side": pa.string(),
    "part": pa.int32(),
    "at": pa.int64(),
    "ms": pa.int64(),
    "hash": pa.binary(),
    "label": pa.binary(),
    "whole": pa.bool_(),
    "trouble": pa.string(),
}
_ARROW: Final = pa.schema(_COLUMNS)


@dataclass(frozen=True)
class Stretch:
    """A stretch of one partition on one side."""

    side: str
    client: ClientSettings
    links: frozenset[int]  # producer ids of links on this side
    partition: TopicPartition
    topic_id: str
    first: int
    after: int


class Stretches(InputPartition):
    """What one task reads."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        super().__init__(None)
        self.stretches = stretches


class WriteReader(DataSourceReader):
    """Hands stretches out and reads them. Travels pickled, never as options: clients hold secrets (R12)."""

    def __init__(self, dealt: Sequence[Sequence[Stretch]]) -> None:
        self.dealt = dealt

    def partitions(self) -> Sequence[InputPartition]:
        """On the driver's side: as they were dealt."""
        return [Stretches(part) for part in self.dealt]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor: a row per record that somebody wrote here."""
        if not isinstance(partition, Stretches):
            raise TypeError(f"{partition!r} holds no stretches")
        for stretch in partition.stretches:
            yield from asyncio.run(_rows(stretch))


async def _rows(stretch: Stretch) -> list[pa.RecordBatch]:
    cluster = Cluster(stretch.client, "twinlog|conflicts")
    where = stretch.partition
    reader = RangeReader(cluster, where, stretch.topic_id, stretch.first, stretch.after, True, "conflicts")
    made: list[pa.RecordBatch] = []
    try:
        async for batches in reader.batches():
            rows = []
            for batch in batches:
                if batch.header.magic == 2 and batch.header.producer_id in stretch.links:
                    continue
                for record in open_batch(batch.data):
                    inside = stretch.first <= record.offset < stretch.after
                    if inside and not any(name == HEADER for name, _ in record.headers):
                        rows.append((record.offset, record.timestamp, record.key))
            made.append(_batch(stretch, rows))
    except (TwinlogError, TimeoutError) as error:
        return [_trouble(stretch, f"{stretch.side}: {where}: {error}")]  # half of a partition would be untrue
    finally:
        await cluster.close()
    return made


def _batch(stretch: Stretch, records: Sequence[tuple[int, int, bytes | None]]) -> pa.RecordBatch:
    topic, number = stretch.partition
    return _table(
        (
            topic,
            stretch.side,
            number,
            offset,
            ms,
            None if key is None else hashlib.blake2b(key, digest_size=16).digest(),
            None if key is None else bytes(key[:LABEL_BYTES]),
            key is None or len(key) <= LABEL_BYTES,
            None,
        )
        for offset, ms, key in records
    )


def _trouble(stretch: Stretch, says: str) -> pa.RecordBatch:
    return _table([(stretch.partition.topic, stretch.side, stretch.partition.partition, *[None] * 5, says)])


def _table(rows: Iterable[tuple[Any, ...]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(_ARROW.names, row, strict=True)) for row in rows], schema=_ARROW)
