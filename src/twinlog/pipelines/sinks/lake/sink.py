"""The sink of lake tables: one commit of a table holds rows and positions. Runs in Python workers.

Positions are compared and set. A commit goes through only if the table is still the one whose positions were read, and
if these are what this owner knows. So of two owners one wins, and the other begins anew behind the winner's position.

    put ──▶ rows of each table, those left out that its positions cover ──▶ flush: one commit per table

Where each record goes to the same tables, the tables' positions say where to read on. Where the record decides, the
group says it; a table's positions then leave out what it has already.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol

import pyarrow as pa
import pyarrow.compute

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Owner, Rejected, Retriable, SinkBatch, Superseded
from twinlog.pipelines.sinks.lake.columns import RowsUnfit, fitted, merged, rows_of_documents, rows_of_structs
from twinlog.pipelines.sinks.lake.settings import LakeSettings
from twinlog.pipelines.sinks.object_store.partitioners import Unplaced, partitioner

pc: Any = pyarrow.compute
_TRIES: Final = 20
_UNPARTITIONED: Final = "DefaultPartitioner"


class Outrun(Exception):
    """Another commit came first; nothing of this one is in the table."""


@dataclass(frozen=True)
class Note:
    """What a table knows of a connector."""

    generation: int = 0
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)


class LakeTable(Protocol):
    """One table as it was when it was read last."""

    columns: pa.Schema

    def note(self, connector: str) -> Note: ...

    def commit(self, rows: pa.Table, connector: str, note: Note) -> None:
        """Add rows, columns that are new, and the note. Raises Outrun if the table changed since it was read."""
        ...


class Lake(Protocol):
    """The place of a lake's tables."""

    has_times: ClassVar[bool]  # the format knows times of a day
    widens: ClassVar[bool]  # a column can become wider

    def load(self, name: str) -> LakeTable | None:
        """A table as it is now; None if there is none. Raises Retriable."""
        ...

    def create(self, name: str, columns: pa.Schema, folders: Sequence[str]) -> None:
        """A table that is cut by the columns `folders`; nothing if there is one already. Raises Retriable."""
        ...


@dataclass
class _Target:
    """A table, and rows on their way to it."""

    name: str
    table: LakeTable | None
    columns: pa.Schema
    stored: dict[TopicPartition, int]
    rows: list[pa.Table] = field(default_factory=list)


class LakeSink:
    """What Iceberg and Delta have in common."""

    takes: Final = "columns"
    delivery: Final = "exactly-once"

    def __init__(self, s: LakeSettings, lake: Lake, *, creates: bool, evolves: bool, interval_ms: int) -> None:
        self.flush_ms, self.flush_rows = interval_ms, s.most_rows
        self._lake, self._creates = lake, creates
        self._contract = s.contract if s.contract != "auto" else "evolve" if evolves else "freeze"
        self._is_cut = not s.partitioner.endswith(_UNPARTITIONED)
        self._folders = partitioner(s, lambda: int(SYSTEM_CLOCK.now_s() * 1000))
        self._cut_by: list[str] = []
        self._owner = Owner("", 0)
        self._mine: list[TopicPartition] = []
        self._targets: dict[str, _Target] = {}

    def fixed(self) -> Sequence[str]:
        """The tables that get every record; none: each record decides."""
        raise NotImplementedError

    def routes(self, batch: SinkBatch) -> Iterator[tuple[str, Any]]:
        """Tables, each with a mask of the rows that go there; None is all of them."""
        raise NotImplementedError

    def positions(self, connector: str) -> Mapping[TopicPartition, int] | None:
        fixed = self.fixed()
        if not fixed:
            return None
        tables = [self._lake.load(name) for name in fixed]
        return _common([Note() if table is None else table.note(connector) for table in tables])

    def open(self, owner: Owner, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._owner, self._mine, self._targets = owner, list(partitions), {}
        notes = [self._note(self._target(name)) for name in self.fixed()]
        return {p: at for p, at in _common(notes).items() if p in set(partitions)}

    def _note(self, target: _Target) -> Note:
        note = Note() if target.table is None else target.table.note(self._owner.connector)
        if note.generation > self._owner.generation:
            raise Superseded(f"{target.name}: owner {note.generation} writes, this one is {self._owner.generation}")
        return note

    def _target(self, name: str) -> _Target:
        if name not in self._targets:
            table = self._lake.load(name)
            target = _Target(name, table, pa.schema([]) if table is None else table.columns, {})
            target.stored = dict(self._note(target).positions)
            self._targets[name] = target
        return self._targets[name]

    def put(self, batch: SinkBatch) -> Sequence[Rejected]:
        rejected: list[Rejected] = []
        gone = batch.values.is_null()
        rejected += [
            Rejected(int(number.as_py()), "a record without a value is no row", left_out=True)
            for number in pc.indices_nonzero(gone)
        ]
        numbers = pc.indices_nonzero(pc.invert(gone))
        for name, mask in self.routes(batch):
            mine = numbers if mask is None else numbers.filter(mask.take(numbers))
            if name:
                rejected += self._take(self._target(name), batch, mine)
            else:
                rejected += [Rejected(int(number.as_py()), "the record names no table") for number in mine]
        return rejected

    def _take(self, target: _Target, batch: SinkBatch, numbers: Any) -> list[Rejected]:
        """Rows of a batch, by their numbers; when some do not fit, they are found by halving."""
        numbers = numbers.filter(self._is_new(target, batch.rows.take(numbers)))
        if not len(numbers):
            return []
        some = SinkBatch(batch.topic, batch.rows.take(numbers), batch.key_schema, batch.schema)
        try:
            rows = self._rows(some)
            columns = self._columns(target, rows.schema)
            ready = fitted(rows, columns)
        except RowsUnfit as error:
            if len(numbers) == 1:
                return [Rejected(int(numbers[0].as_py()), f"{target.name}: {error}")]
            half = len(numbers) // 2
            return [*self._take(target, batch, numbers[:half]), *self._take(target, batch, numbers[half:])]
        target.columns = columns
        target.rows.append(ready)
        return []

    def _is_new(self, target: _Target, rows: pa.RecordBatch) -> Any:
        """Which rows the table does not have yet."""
        new = pa.array([True] * rows.num_rows)
        for place in self._mine:
            position = target.stored.get(place, 0)
            covered = pc.and_(
                pc.and_(
                    pc.equal(rows.column("topic"), place.topic), pc.equal(rows.column("partition"), place.partition)
                ),
                pc.less(rows.column("offset"), position),
            )
            new = pc.and_(new, pc.invert(covered))
        return new

    def _rows(self, batch: SinkBatch) -> pa.Table:
        """Columns of the values, and those that the partitioner adds. Raises RowsUnfit."""
        if batch.schema is None:
            rows = rows_of_documents(batch.values)
        elif batch.schema.type == "struct":
            rows = rows_of_structs(batch.values, batch.schema, has_times=self._lake.has_times)
        else:
            raise RowsUnfit(f"a row is made of a struct, and the value is {batch.schema.type}")
        for name, values in self._cuts(batch).items():
            if name not in rows.column_names:
                rows = rows.append_column(name, pa.array(values, pa.string()))
        return rows

    def _cuts(self, batch: SinkBatch) -> dict[str, list[str]]:
        """The columns by which the partitioner cuts a table: the folders of Confluent's sinks."""
        if not self._is_cut:
            return {}
        made: dict[str, list[str]] = {}
        for folder in self._folders(batch):
            if isinstance(folder, Unplaced):
                raise RowsUnfit(str(folder))
            for part in folder.split("/"):
                name, is_named, value = part.partition("=")
                if not is_named:
                    raise RowsUnfit(f"{part}: a table is cut by columns, so each folder needs a name: 'day'=dd")
                made.setdefault(name.replace(".", "_"), []).append(value)
        self._cut_by = list(made)
        return made

    def _columns(self, target: _Target, rows: pa.Schema) -> pa.Schema:
        """The table's columns after these rows. Raises RowsUnfit."""
        if target.table is None:
            if not self._creates:
                raise RowsUnfit("there is no such table, and none may be created")
            return merged(target.columns, rows, widens=self._lake.widens)
        wide = merged(target.columns, rows, widens=self._lake.widens)
        if self._contract == "evolve":
            return wide
        missing = [name for name in rows.names if name not in target.columns.names]
        if missing and self._contract == "fail":
            raise RowsUnfit(f"the table lacks the columns {', '.join(missing)}, and schema.contract=fail")
        return target.columns

    def flush(self, positions: Mapping[TopicPartition, int]) -> None:
        mine = {place: positions[place] for place in self._mine if place in positions}
        fixed = set(self.fixed())
        for target in self._targets.values():
            moved = target.name in fixed and any(target.stored.get(place) != at for place, at in mine.items())
            if target.rows or (moved and target.table is not None):
                self._commit(target, mine)

    def _commit(self, target: _Target, mine: Mapping[TopicPartition, int]) -> None:
        for _ in range(_TRIES):
            if target.table is None:
                self._lake.create(target.name, target.columns, self._cut_by)
                self._load_again(target)
                continue
            note = self._note(target)
            if any(note.positions.get(place) != target.stored.get(place) for place in mine):
                raise Retriable(f"{target.name}: another owner wrote meanwhile; reading on behind its position", 0)
            made = Note(self._owner.generation, {**note.positions, **mine})
            try:
                target.table.commit(self._whole(target), self._owner.connector, made)
            except Outrun:
                time.sleep(random.uniform(0.02, 0.3))  # noqa: S311  tasks commit at the same times
                self._load_again(target)
                continue
            target.rows, target.stored = [], dict(made.positions)
            self._load_again(target)
            return
        raise Retriable(f"{target.name}: other writers were faster {_TRIES} times")

    def _load_again(self, target: _Target) -> None:
        """The table as it is now; others may have added columns."""
        target.table = self._lake.load(target.name)
        if target.table is not None:
            target.columns = merged(target.table.columns, target.columns, widens=self._lake.widens)

    def _whole(self, target: _Target) -> pa.Table:
        """All rows on their way, with the same columns."""
        if not target.rows:
            return target.columns.empty_table()
        return pa.concat_tables([fitted(part, target.columns) for part in target.rows]).combine_chunks()

    def preview(self, batch: SinkBatch) -> Sequence[str]:
        """Tables that would be created, columns that would be added, rows that would come."""
        said: list[str] = []
        self._owner, self._targets = Owner("", 0), {}
        said += [f"{'left out' if rejected.left_out else 'refused'}: {rejected.reason}" for rejected in self.put(batch)]
        for target in self._targets.values():
            before = set() if target.table is None else set(target.table.columns.names)
            new = [f"{column.name} {column.type}" for column in target.columns if column.name not in before]
            if target.table is None and target.rows:
                said.append(f"create table {target.name} ({', '.join(new)})")
            elif new:
                said.append(f"add to table {target.name}: {', '.join(new)}")
            said += [f"{target.name}: {row}" for part in target.rows for row in part.to_pylist()]
        self._targets = {}
        return said

    def close(self) -> None:
        self._targets = {}


def _common(notes: Sequence[Note]) -> dict[TopicPartition, int]:
    """The positions that all tables have reached."""
    if not notes:
        return {}
    everywhere = set.intersection(*(set(note.positions) for note in notes))
    return {place: min(note.positions[place] for note in notes) for place in everywhere}
