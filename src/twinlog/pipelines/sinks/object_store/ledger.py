"""What the sink has stored of one topic partition: the next offset, files under way, files to finish.

It is a small file beside the data, `_twinlog/<connector>/<topic>/<partition>/manifest.json`, replaced as a whole. Rows
of files under way lie beside it as parts (Arrow), so that nothing that was flushed depends on memory:

    rows ──▶ part … part ──▶ manifest ──▶ file ──▶ manifest without it

A file's content is fixed in the manifest before the file is written. So a file that is written again after a crash has
the same name and the same rows.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Superseded
from twinlog.pipelines.sinks.object_store.store import Store

ROOT: Final = "_twinlog"


@dataclass
class OpenFile:
    """A file under way: where it will be, its first offset, and its parts."""

    folder: str
    first: int
    schema: str  # JSON of the Connect schema; empty: none
    rows: int = 0
    first_time: int = 0
    since: int = 0  # by the clock, milliseconds
    parts: list[str] = field(default_factory=list)


@dataclass
class Manifest:
    """One topic partition."""

    generation: int = 0
    next: int | None = None
    number: int = 0  # of the next part
    open: list[OpenFile] = field(default_factory=list)
    closing: list[OpenFile] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Manifest:
        document: dict[str, Any] = json.loads(data)
        document |= {name: [OpenFile(**file) for file in document[name]] for name in ("open", "closing")}
        return cls(**document)


class Ledger:
    """The manifests of one connector in a store."""

    def __init__(self, store: Store, connector: str) -> None:
        self._store = store
        self._connector = connector

    def folder(self, partition: TopicPartition) -> str:
        return f"{ROOT}/{self._connector}/{partition.topic}/{partition.partition}"

    def read(self, partition: TopicPartition) -> Manifest:
        data = self._store.get(f"{self.folder(partition)}/manifest.json")
        return Manifest() if data is None else Manifest.from_bytes(data)

    def positions(self) -> dict[TopicPartition, int]:
        """The next offsets of all partitions."""
        positions = {}
        for path in self._store.walk(f"{ROOT}/{self._connector}"):
            if path.endswith("/manifest.json"):
                topic, partition, _ = path.split("/")[-3:]
                place = TopicPartition(topic, int(partition))
                reached = self.read(place).next
                if reached is not None:
                    positions[place] = reached
        return positions

    def write(self, partition: TopicPartition, manifest: Manifest) -> None:
        """Raises Superseded when a younger owner has written."""
        stored = self.read(partition)
        if stored.generation > manifest.generation:
            raise Superseded(f"{partition}: owner {stored.generation} writes, this one is {manifest.generation}")
        self._store.put(f"{self.folder(partition)}/manifest.json", manifest.to_bytes())
