"""Was it right that compaction took a record on the target? Only if a later record with its key was copied.

    chunks of the partition ─▶ per key: its last copied source offset, and those gone from the target ─▶ Spark groups
    by key ─▶ a key whose last copied record is gone (and is no tombstone) was lost

A record and its successor may lie in different chunks, so the keys meet in a shuffle; only hashes of them travel.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from twinlog.config.settings import LinkSettings
from twinlog.errors import TwinlogError
from twinlog.model.verify.verification import Chunk
from twinlog.verify.chunk import both_clusters, compare_chunk
from twinlog.wire.codec import open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.ranges import RangeReader

KEY_SCHEMA = "topic string, partition int, key binary, last bigint, gone bigint, place bigint, goners bigint"
_LOST_LISTED = 1_000


def key_rows(link: LinkSettings, chunks: tuple[Chunk, ...]) -> Iterator[pa.RecordBatch]:
    """On an executor: of each key its last copied offset and its last one that is gone from the target."""
    for chunk in chunks:
        try:
            last, gone, goners = asyncio.run(_keys(link, chunk))
        except (TwinlogError, TimeoutError) as error:
            # An empty key stands for trouble: a hash is never empty.
            text = f"{chunk.partition}: {error}"
            yield _batch([(text, chunk.partition.partition, b"", -1, None, None, 0)])
            continue
        where = chunk.partition
        yield _batch([(*where, key, at, *gone.get(key, (None, None)), goners.get(key, 0)) for key, at in last.items()])


async def _keys(
    link: LinkSettings, chunk: Chunk
) -> tuple[dict[bytes, int], dict[bytes, tuple[int, int]], dict[bytes, int]]:
    gone: dict[bytes, tuple[int, int]] = {}
    goners: dict[bytes, int] = {}
    async with both_clusters(link) as (source, target):
        comparison = await compare_chunk(link, source, target, chunk, list_absent=True)
        for absent in comparison.absent:
            key = _hashed(absent.key)
            gone[key] = (absent.source, absent.target)  # they come in order: the last one stays
            goners[key] = goners.get(key, 0) + 1
        return await _last_offsets(link, source, chunk), gone, goners


async def _last_offsets(link: LinkSettings, source: Cluster, chunk: Chunk) -> dict[bytes, int]:
    committed = link.reading.fetch.isolation == "read_committed"
    reader = RangeReader(
        source, chunk.partition, chunk.source_id, chunk.source_first, chunk.source_next, committed, "keys"
    )
    last: dict[bytes, int] = {}
    async for batches in reader.batches():
        for batch in batches:
            for record in open_batch(batch.data):
                if record.key is not None and chunk.source_first <= record.offset < chunk.source_next:
                    last[record.key] = record.offset
    return {_hashed(key): offset for key, offset in last.items()}


def _hashed(key: bytes) -> bytes:
    return hashlib.blake2b(key, digest_size=16).digest()


def _batch(rows: list[tuple[str, int, bytes, int, int | None, int | None, int]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 7
    kinds = (pa.string(), pa.int32(), pa.binary(), pa.int64(), pa.int64(), pa.int64(), pa.int64())
    names = ["topic", "partition", "key", "last", "gone", "place", "goners"]
    return pa.RecordBatch.from_arrays([pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)], names)


def lost_keys(rows: Any) -> tuple[dict[tuple[str, int], int], list[tuple[str, int, int, int]], list[str]]:
    """On the driver: how many records are gone per partition, those that must not be, and what could not be read."""
    from pyspark.sql import functions as sql  # noqa: PLC0415  only where a session is

    keys = rows.filter("length(key) > 0").groupBy("topic", "partition", "key")
    judged = keys.agg(
        sql.max("last").alias("last"), sql.max(sql.struct("gone", "place")).alias("gone"), sql.sum("goners").alias("n")
    ).cache()
    troubles = [row.topic for row in rows.filter("length(key) = 0").collect()]
    goners = judged.groupBy("topic", "partition").agg(sql.sum("n").alias("n")).collect()
    lost = judged.filter("gone.gone is not null and gone.gone >= last").orderBy("gone.gone").limit(_LOST_LISTED)
    lost_rows = [(row.topic, row.partition, row.gone.gone, row.gone.place) for row in lost.collect()]
    judged.unpersist()
    return {(row.topic, row.partition): row.n for row in goners}, lost_rows, troubles
