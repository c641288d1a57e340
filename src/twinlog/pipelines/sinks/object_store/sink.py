"""The object store sink: records as files of fixed size, in folders by partition, field or time. Exactly once.

Runs in Python workers. Names are Confluent's: `topics/orders/partition=3/orders+3+0000004711.json`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Delivery, Finding, Owner, Rejected, Retriable, SinkBatch, Superseded, Takes
from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.sinks.object_store.formats import ending, file_bytes, form_of
from twinlog.pipelines.sinks.object_store.ledger import Ledger, Manifest, OpenFile
from twinlog.pipelines.sinks.object_store.partitioners import Unplaced, partitioner
from twinlog.pipelines.sinks.object_store.settings import ObjectStoreSettings
from twinlog.pipelines.sinks.object_store.store import Store

_Run: TypeAlias = tuple[TopicPartition, OpenFile, int, int]  # into which file which rows go


@dataclass
class _Growing:
    """A file under way with its rows in memory; `fresh` are in no part yet."""

    file: OpenFile
    stored: list[Any] = field(default_factory=list)
    fresh: list[Any] = field(default_factory=list)


@dataclass
class _Place:
    """One topic partition."""

    manifest: Manifest
    growing: list[_Growing] = field(default_factory=list)
    full: list[_Growing] = field(default_factory=list)
    rubbish: list[str] = field(default_factory=list)  # parts that no manifest names any more
    touched: bool = False


class ObjectStoreSink:
    """Files in a store."""

    also: ClassVar = (
        "io.confluent.connect.s3.S3SinkConnector",
        "io.confluent.connect.hdfs.HdfsSinkConnector",
        "io.twinlog.FolderSinkConnector",
    )
    settings: ClassVar = ObjectStoreSettings
    delivery: ClassVar[Delivery] = "exactly-once"
    flush_ms: ClassVar = 1000  # each flush writes an object, which costs money and time
    takes: Takes = "columns"

    def __init__(self, s: ObjectStoreSettings) -> None:
        self.s = s
        self.takes = "documents" if form_of(s) == "json" else "columns"
        self.store = Store(s)
        self._folders = partitioner(s, _now_ms)
        self._places: dict[TopicPartition, _Place] = {}
        self._owner = Owner("", 0)
        self._ledger = Ledger(self.store, "")

    def check(self) -> Iterable[Finding]:
        try:
            self.store.put("_twinlog/check", b"")
            self.store.remove("_twinlog/check")
        except Retriable as error:
            yield Finding("store.url", str(error))

    def positions(self, connector: str) -> Mapping[TopicPartition, int] | None:
        return Ledger(self.store, connector).positions()

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._owner, self._ledger, self._places = owner, Ledger(self.store, owner.connector), {}
        known = {}
        for partition in partitions:
            manifest = self._ledger.read(partition)
            if manifest.generation > owner.generation:
                raise Superseded(f"{partition}: owner {manifest.generation} writes, this one is {owner.generation}")
            manifest.generation = owner.generation
            self._ledger.write(partition, manifest)
            place = self._places[partition] = _Place(manifest)
            for file in manifest.closing:
                self._finish(partition, _Growing(file, self._parts(file)))
                place.rubbish += file.parts
            manifest.closing = []
            place.growing = [_Growing(file, self._parts(file)) for file in manifest.open]
            if manifest.next is not None:
                known[partition] = manifest.next
        return known

    def _parts(self, file: OpenFile) -> list[Any]:
        columns = []
        for part in file.parts:
            data = self.store.get(part)
            if data is None:
                raise RuntimeError(f"{self.store.where}: {part} is gone; the manifest beside it names it")
            columns.append(pa.ipc.open_stream(io.BytesIO(data)).read_all().combine_chunks().column("value"))
        return [chunk for column in columns for chunk in column.chunks]

    def put(self, batch: SinkBatch) -> Sequence[Rejected]:
        rejected: list[Rejected] = []
        values = batch.values
        facts: Any = zip(
            self._folders(batch),
            values.is_null().to_pylist(),
            *(batch.rows.column(name).to_pylist() for name in ("topic", "partition", "offset", "timestamp")),
            strict=True,
        )
        schema = "" if batch.schema is None or self.takes == "documents" else json.dumps(batch.schema.to_json())
        runs: list[_Run] = []  # rows that follow each other into one file
        for row, (folder, gone, topic, partition, offset, at) in enumerate(facts):
            if gone:
                if self.s.nulls == "fail":
                    rejected.append(Rejected(row, "the record has no value; behavior.on.null.values=ignore skips it"))
                continue
            if isinstance(folder, Unplaced):
                rejected.append(Rejected(row, str(folder)))
                continue
            where, place = f"{batch.topic}{self.s.folder_delimiter}{folder}", TopicPartition(topic, partition)
            if runs and self._goes_on(runs[-1], place, where, row):
                runs[-1] = (*runs[-1][:3], row + 1)
                continue
            file = OpenFile(where, offset, schema, first_time=at or 0, since=_now_ms())
            runs.append((place, file, row, row + 1))
        offsets = batch.rows.column("offset")
        for place, file, begin, end in runs:
            self._add(self._places[place], file, values.slice(begin, end - begin), offsets.slice(begin, end - begin))
        return rejected

    def _goes_on(
        self, run: tuple[TopicPartition, OpenFile, int, int], place: TopicPartition, where: str, row: int
    ) -> bool:
        # With rotation by time each record is looked at by itself.
        return self.s.rotate_ms <= 0 and run[0] == place and run[1].folder == where and run[3] == row

    def _add(self, place: _Place, new: OpenFile, values: Any, offsets: Any) -> None:
        while len(values):
            growing = next((candidate for candidate in place.growing if candidate.file.folder == new.folder), None)
            if growing is not None and (growing.file.schema != new.schema or self._is_old(growing.file, new)):
                place.growing.remove(growing)
                place.full.append(growing)
                growing = None
            if growing is None:
                growing = _Growing(replace(new, first=int(offsets[0].as_py()), parts=[]))
                place.growing.append(growing)
            count = min(len(values), self.s.flush_size - growing.file.rows)
            growing.fresh.append(values.slice(0, count))
            growing.file.rows += count
            place.touched = True
            if growing.file.rows >= self.s.flush_size:
                place.growing.remove(growing)
                place.full.append(growing)
            values, offsets = values.slice(count), offsets.slice(count)

    def _is_old(self, file: OpenFile, new: OpenFile) -> bool:
        return self.s.rotate_ms > 0 and new.first_time - file.first_time >= self.s.rotate_ms

    def flush(self, positions: Mapping[TopicPartition, int]) -> None:
        for partition, position in positions.items():
            place = self._places.get(partition)
            if place is None:
                continue
            self._close_by_clock(place)
            if place.touched or place.full or place.manifest.next != position:
                self._flush_one(partition, place, position)

    def _close_by_clock(self, place: _Place) -> None:
        if self.s.schedule_ms <= 0:
            return
        now = _now_ms()
        # A clock that was set back must not keep a file open.
        for growing in [growing for growing in place.growing if abs(now - growing.file.since) >= self.s.schedule_ms]:
            place.growing.remove(growing)
            place.full.append(growing)

    def _flush_one(self, partition: TopicPartition, place: _Place, position: int) -> None:
        manifest = place.manifest
        for growing in (*place.full, *place.growing):
            if growing.fresh:
                part = f"{self._ledger.folder(partition)}/{manifest.number:012d}-{self._owner.generation}.arrow"
                manifest.number += 1
                self.store.put(part, _ipc(growing.fresh))
                growing.file.parts.append(part)
                growing.stored += growing.fresh
                growing.fresh = []
        manifest.next = position
        manifest.open = [growing.file for growing in place.growing]
        manifest.closing = [growing.file for growing in place.full]
        self._ledger.write(partition, manifest)
        for part in place.rubbish:
            self.store.remove(part)
        place.rubbish = []
        for growing in place.full:
            self._finish(partition, growing)
            place.rubbish += growing.file.parts
        place.full, place.touched = [], False

    def _finish(self, partition: TopicPartition, growing: _Growing) -> None:
        """Write a file whose content is fixed."""
        values = pa.concat_arrays(growing.stored)
        schema = Schema.from_json(json.loads(growing.file.schema)) if growing.file.schema else None
        topic = growing.file.folder.partition(self.s.folder_delimiter)[0]
        delimiter = self.s.file_delimiter
        name = (
            f"{topic}{delimiter}{partition.partition}{delimiter}{growing.file.first:0{self.s.zeros}d}{ending(self.s)}"
        )
        path = self.s.folder_delimiter.join(part for part in (self.s.topics_dir, growing.file.folder, name) if part)
        self.store.put(path, file_bytes(values, schema, self.s))

    def preview(self, batch: SinkBatch) -> Sequence[str]:
        """The folders that the records would go to."""
        folders = dict.fromkeys(str(folder) for folder in self._folders(batch))
        return [f"{self.s.topics_dir}/{batch.topic}/{folder}" for folder in folders]

    def close(self) -> None:
        self._places = {}


def _ipc(values: list[Any]) -> bytes:
    out = io.BytesIO()
    table = pa.table({"value": pa.concat_arrays(values)})
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()


def _now_ms() -> int:
    return int(SYSTEM_CLOCK.now_s() * 1000)
