"""The divergent tail: records of an old primary that were never copied. Found by the ledger, exported whole.

Runs in the command that switches. A tail is what lies on the old primary behind the ledger's position, without what the
way back wrote there and without what was copied but not noted. It is bounded by what was lost, so it is exported as one
JSON line per record.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from twinlog.machine.folders import open_private
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import WRITERS_TOPIC, read_writer
from twinlog.model.switch.facts import TailRange
from twinlog.sync.internal_topics import InternalLog
from twinlog.wire.codec import OpenRecord, PlainRecord, open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.ranges import RangeReader

_SWITCH: Final = "twinlog.switch"
_ORIGIN: Final = "twinlog.origin"


@dataclass
class Tail:
    """What one partition has and the other side never got. Offsets first..next-1 hold `records` of them."""

    partition: TopicPartition
    first: int
    next: int
    records: int = 0
    expired: int = 0  # offsets that retention deleted before they could be exported
    oldest_ms: int | None = None
    newest_ms: int | None = None

    def take(self, record: OpenRecord) -> None:
        """Count one more record."""
        if not self.records:
            self.first = record.offset
        self.records += 1
        self.next = record.offset + 1
        self.oldest_ms = min(self.oldest_ms or record.timestamp, record.timestamp)
        self.newest_ms = max(self.newest_ms or record.timestamp, record.timestamp)

    def range(self) -> TailRange:
        return TailRange(**{name: value for name, value in vars(self).items() if name != "partition"})


@dataclass
class TailReader:
    """Reads tails of the old primary."""

    cluster: Cluster
    back: str  # the link that wrote what is no tail
    _returned: set[int] = field(default_factory=set)  # producer ids of the way back

    async def prepare(self) -> None:
        """Learn who wrote for the way back."""
        for record in await InternalLog(self.cluster, WRITERS_TOPIC).read_all():
            note = read_writer(record.key, record.value)
            if note is not None and note.link == self.back:
                self._returned.add(note.producer_id)

    async def records(self, partition: TopicPartition, first: int, end: int, unnoted: int) -> AsyncIterator[OpenRecord]:
        """Committed records in the range that nobody copied; the first `unnoted` were, without being noted."""
        metadata = (await self.cluster.refresh([partition.topic]))[partition.topic]
        reader = RangeReader(self.cluster, partition, metadata.topic_id, first, end, committed=True, lane="tail")
        skip = unnoted
        async for batches in reader.batches():
            for header, data in batches:
                if header.producer_id in self._returned:
                    continue
                for record in open_batch(data):
                    if not first <= record.offset < end:
                        continue
                    if skip:
                        skip -= 1
                        continue
                    yield record


@dataclass
class TailFile:
    """The export. Written beside and put in place when it is whole, so that a second run begins anew."""

    path: Path
    switch: str
    count: int = 0
    _out: Any = None

    def __enter__(self) -> Self:
        self._out = open_private(self.path.with_suffix(".part"), "w")
        return self

    def add(self, partition: TopicPartition, record: OpenRecord) -> None:
        self._out.write(json.dumps(record_as_json(partition, record)) + "\n")
        self.count += 1

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._out.close()
        if kind is None:
            self.path.with_suffix(".part").replace(self.path)


def record_as_json(partition: TopicPartition, record: OpenRecord) -> dict[str, Any]:
    """One record as a line of the export; bytes in base64, null stays null."""
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp,
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [[name, _text(value)] for name, value in record.headers],
    }


def for_topic(switch: str, partition: TopicPartition, record: OpenRecord) -> PlainRecord:
    """The record as it goes to the export topic: as it was, with two headers that say where it comes from."""
    origin = f"{partition}@{record.offset}".encode()
    headers = [*record.headers, (_SWITCH, switch.encode()), (_ORIGIN, origin)]
    return PlainRecord(0, record.timestamp, record.key, record.value, headers)


async def exported_already(log: InternalLog, switch: str) -> set[bytes]:
    """Origins of what this switch exported before it was interrupted."""
    origins: set[bytes] = set()
    for record in await log.read_all():
        headers = dict(record.headers)
        if headers.get(_SWITCH) == switch.encode() and (origin := headers.get(_ORIGIN)):
            origins.add(origin)
    return origins


def origin_of(record: PlainRecord) -> bytes:
    """Where an exported record comes from."""
    return dict(record.headers).get(_ORIGIN) or b""


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()
