"""Which schema ids the records of a topic carry, and whether they resolve. The rules are pure; reading is bounded.

A serializer writes a zero byte and the id before the value, or the schema's GUID into a header. Bytes that only look
like that are told apart by the company: a topic counts as one with schemas when a subject is named after it, or when at
least one of its ids is known.
"""

import struct
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from twinlog.model.names import TopicPartition
from twinlog.registry.pair.index import SchemaId, TopicIndex
from twinlog.wire.codec import OpenRecord, open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import EARLIEST, LATEST
from twinlog.wire.ranges import RangeReader

_PREFIX: Final = struct.Struct(">BI")
_WITHIN_S: Final = 10.0
BODIES: Final = 20
HEADERS: Final = ("__value_schema_id", "__key_schema_id")


@dataclass
class Sample:
    """The ids of one topic, by how many records carry them."""

    topic: str
    ids: dict[int, int] = field(default_factory=dict)
    guids: dict[str, int] = field(default_factory=dict)
    records: int = 0
    bodies: dict[int, list[bytes]] = field(default_factory=dict)
    """Of each id the bytes behind it, of a few records."""

    def take(self, record: OpenRecord) -> None:
        """Look at one record."""
        self.records += 1
        headers = dict(record.headers)
        for name, part in zip(HEADERS, (record.value, record.key), strict=True):
            header = headers.get(name)
            if header is not None and len(header) == 17 and header[0] == 1:
                guid = str(uuid.UUID(bytes=header[1:]))
                self.guids[guid] = self.guids.get(guid, 0) + 1
            elif part is not None and len(part) >= _PREFIX.size and part[0] == 0:
                number = _PREFIX.unpack_from(part)[1]
                self.ids[number] = self.ids.get(number, 0) + 1
                kept = self.bodies.setdefault(number, [])
                if len(kept) < BODIES:
                    kept.append(bytes(part[_PREFIX.size :]))


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An id in the records of a topic that does not lead to the schema it stands for."""

    topic: str
    id: int
    records: int
    problem: str

    def __str__(self) -> str:
        return f"{self.topic}: id {self.id} in {self.records} sampled records {self.problem}"


def unresolved(samples: Iterable[Sample], index: TopicIndex, other: TopicIndex | None, where: str) -> list[Unresolved]:
    """Ids that do not resolve where they must. `other` is the registry that the records were written with, if known."""
    known = index.digests()
    subjects = {place.subject for place in index.places}
    other_ids = None if other is None else other.digests()
    missing: list[Unresolved] = []
    for sample in samples:
        if not has_schemas(sample, subjects, {number for _, number in known}):
            continue
        for number, records in sorted(sample.ids.items()):
            key = SchemaId(".", number)
            there = None if other_ids is None else other_ids.get(key)
            if key in known and there is not None and known[key] != there:
                missing.append(Unresolved(sample.topic, number, records, f"stands for another schema on {where}"))
            elif key not in known and not any(schema.number == number for schema in known):
                both = other_ids is not None and there is None
                lacks = "is known on neither side" if both else f"is not known on {where}"
                missing.append(Unresolved(sample.topic, number, records, lacks))
    return missing


def has_schemas(sample: Sample, subjects: Collection[str], known: Collection[int]) -> bool:
    """Whether the ids of a topic are ids, and not bytes that look like some."""
    names = {f"{sample.topic}-value", f"{sample.topic}-key"}
    return bool(names & set(subjects)) or any(number in known for number in sample.ids)


async def sample_topics(
    cluster: Cluster, topics: Mapping[str, Collection[TopicPartition]], newest: int = 200
) -> list[Sample]:
    """The newest records of each partition, by the name that a report uses. Raises ClusterError."""
    every = [partition for partitions in topics.values() for partition in partitions]
    starts = await fetch_offsets(cluster, every, EARLIEST, within_s=_WITHIN_S)
    ends = await fetch_offsets(cluster, every, LATEST, within_s=_WITHIN_S)
    await cluster.refresh({partition.topic for partition in every})
    samples: list[Sample] = []
    for name, partitions in topics.items():
        sample = Sample(name)
        for partition in partitions:
            start, end = starts.get(partition), ends.get(partition)
            metadata = cluster.topics.get(partition.topic)
            if not isinstance(start, int) or not isinstance(end, int) or metadata is None or end <= start:
                continue
            first = max(start, end - newest)
            reader = RangeReader(cluster, partition, metadata.topic_id, first, end, committed=True, lane="sampling")
            async for batches in reader.batches():
                for _, data in batches:
                    for record in open_batch(data):
                        sample.take(record)
        samples.append(sample)
    return samples
