"""One record of a link on both sides, next to each other. Runs in the service's loop; nothing is changed.

The ledger's exact map says where the copy lies. Both records are read from the logs, not from what the data path
remembers.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, PositionUnknown
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.spans import read_topic
from twinlog.ledger.reading import read_ledger
from twinlog.model.ledger.translation import Exact
from twinlog.model.names import TopicPartition
from twinlog.registry.records import decode_schema, plain_schema_key
from twinlog.sync.answers.payload import Readable, Schema, framed_id, readable
from twinlog.sync.ends import LinkEnds
from twinlog.wire.codec import OpenRecord, open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.ranges import RangeReader

_AHEAD: Final = 10_000
"""How far behind an offset the next record is looked for, where compaction took some."""
_WITHIN_S: Final = 10.0


@dataclass(frozen=True)
class OneRecord:
    """A record as it lies on one side."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: Readable
    value: Readable
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RecordPair:
    """A record and its copy. `missing` says why there is no copy to show."""

    source: OneRecord
    target: OneRecord | None
    equal: bool | None
    missing: str = ""


async def fetch_record_pair(ends: LinkEnds, asked: TopicPartition, offset: int) -> RecordPair:
    """Read the first record at or behind an offset, and its copy. Raises PositionUnknown, ClusterError."""
    link = ends.link
    view = await read_ledger(link)
    entry, known = view.roster.get(asked.topic), view.map_of(asked)
    if entry is None or asked.partition >= entry.partitions:
        raise PositionUnknown(str(asked), offset, "the link does not mirror this partition")
    record = await _first(link.clients.source_consumer, asked, entry.source_id, offset, offset + _AHEAD)
    if record is None:
        raise PositionUnknown(str(asked), offset, f"{link.source} has no record there")
    here = await _shown(link.clients.source_consumer, link.registry.topic, asked, record)
    place = TopicPartition(entry.remote, asked.partition)
    there = None if known is None else known.to_target(record.offset)
    state = view.states.get(asked)
    if state is None or not isinstance(there, Exact) or record.offset >= state.source_next:
        return RecordPair(here, None, None, "it is not copied yet, or the ledger has no exact place for it")
    copy = await _first(link.clients.target_consumer, place, entry.target_id or "", there.offset, there.offset + 1)
    if copy is None:
        return RecordPair(here, None, None, f"{link.target} no longer has offset {there.offset} of {place}")
    shown = await _shown(link.clients.target_consumer, link.registry.topic, place, copy)
    return RecordPair(here, shown, _content(record) == _content(copy))


def _content(record: OpenRecord) -> tuple[object, ...]:
    return record.timestamp, record.key, record.value, tuple(record.headers)


async def _first(
    client: ClientSettings, place: TopicPartition, topic_id: str, first: int, after: int
) -> OpenRecord | None:
    cluster = Cluster(client, "twinlog|record")
    try:
        async with asyncio.timeout(_WITHIN_S):
            await cluster.refresh([place.topic])
            known = cluster.topics.get(place.topic)
            number = topic_id or (known.topic_id if known is not None else "")
            reader = RangeReader(cluster, place, number, first, after, False, "record")
            async with aclosing(reader.batches()) as answers:
                async for batches in answers:
                    for batch in batches:
                        for record in open_batch(batch.data):
                            if first <= record.offset < after:
                                return record
    except TimeoutError:
        pass  # the log ends before
    finally:
        await cluster.close()
    return None


async def _shown(client: ClientSettings, registry: str, place: TopicPartition, record: OpenRecord) -> OneRecord:
    wanted = {number for data in (record.key, record.value) if (number := framed_id(data)) is not None}
    schemas = await asyncio.to_thread(_schemas, client, registry, wanted) if wanted else {}
    headers = tuple((name, readable(value, schemas.get).text or (value or b"").hex()) for name, value in record.headers)
    key, value = (readable(data, schemas.get) for data in (record.key, record.value))
    return OneRecord(place.topic, place.partition, record.offset, record.timestamp, key, value, headers)


def _schemas(client: ClientSettings, topic: str, wanted: set[int]) -> dict[int, Schema]:
    """Return the schemas with these ids, by the topic of the registry; none where there is no registry."""
    try:
        logs = read_topic(ClusterAdmin(client), client, topic, within_s=_WITHIN_S)
    except ClusterError:
        return {}
    schemas: dict[int, Schema] = {}
    for log in logs.values():
        for record in log:
            if record.value is not None and plain_schema_key(record.key) is not None:
                value = decode_schema(record.value)
                if value.id in wanted:
                    schemas[value.id] = Schema(value.content.kind, value.content.text)
    return schemas
