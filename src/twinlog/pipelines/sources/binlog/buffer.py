"""Changes of one table that wait to be handed on, column by column. Pure.

Old and new rows stand one behind the other in the lists of the columns; `before` and `after` say which is which:

    columns:  row0 row1 row2 row3 row4        ops:    c  u      d
                                              before: -  1      3
                                              after:  0  2      -
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pyarrow as pa

from twinlog.pipelines.api import Chunk, Offset, SourcePartition
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.sources.binlog.catalogue import Stream
from twinlog.pipelines.sources.debezium.envelope import chunk_of_columns, own_version

_LONG: Final = pa.int64()
_NEW_KEY, _OLD_KEY = "__debezium.newkey", "__debezium.oldkey"


class Place(NamedTuple):
    """Where a change stands in the log."""

    at_us: int
    gtid: str | None
    file: str
    pos: int
    server_id: int
    thread: int | None


class Buffer:
    """Changes of one table."""

    def __init__(self, stream: Stream, connector: str, prefix: str) -> None:
        self.stream = stream
        self._named = (connector, prefix)
        self._columns: list[list[Any]] = [[] for _ in range(stream.width)]
        self._appends = [column.append for column in self._columns]
        self._images = 0
        self._keys = [stream.places[stream.table.place(name)] for name in stream.table.key]
        self._ops: list[str] = []
        self._before: list[int | None] = []
        self._after: list[int | None] = []
        self._places: list[Place] = []
        self._place_of: list[int] = []
        self._rows: list[int] = []
        self._moved: dict[int, tuple[str, int]] = {}  # changes with a header that names a key, and the image with it

    def __len__(self) -> int:
        return len(self._ops)

    def add(self, op: str, rows: bytes, place: Place, skip: int = 0) -> int:
        """The rows of one event, but for the first ones. Returns how many there are now."""
        walk = self.stream.walk
        assert walk is not None  # noqa: S101  streams of the log have one
        first, number = self._images, len(self._places)
        self._images += walk(rows, *self._appends)
        self._places.append(place)
        if op == "u":
            olds, news = range(first, self._images, 2), range(first + 1, self._images, 2)
            if self._key_stays(first):
                self._extend(["u"] * len(olds), olds, news, range(len(olds)), number=number, skip=skip)
            else:
                self._with_new_keys(first, number, skip)
        else:
            there = range(first, self._images)
            nothing = [None] * len(there)
            olds_, news_ = (there, nothing) if op == "d" else (nothing, there)
            self._extend([op] * len(there), olds_, news_, range(len(there)), number=number, skip=skip)
        return len(self._ops)

    def _extend(self, ops: list[str], before: Any, after: Any, rows: Any, *, number: int, skip: int) -> None:
        self._ops += ops[skip:]
        self._before += before[skip:]
        self._after += after[skip:]
        self._rows += rows[skip:]
        self._place_of += [number] * (len(ops) - skip if skip < len(ops) else 0)

    def _key_stays(self, first: int) -> bool:
        return all(self._columns[n][first::2] == self._columns[n][first + 1 :: 2] for n in self._keys)

    def _with_new_keys(self, first: int, number: int, skip: int) -> None:
        """Another key is another row for readers of the topic: the old one is deleted, the new one created."""
        for row, old in enumerate(range(first, self._images, 2)):
            if row < skip:
                continue
            if all(self._columns[n][old] == self._columns[n][old + 1] for n in self._keys):
                self._extend(["u"], [old], [old + 1], [row], number=number, skip=0)
            else:
                self._moved[len(self._ops)] = (_NEW_KEY, old + 1)
                self._moved[len(self._ops) + 1] = (_OLD_KEY, old)
                self._extend(["d", "c"], [old, None], [None, old + 1], [row, row], number=number, skip=0)

    def keys(self) -> list[list[Any]]:
        """Raw values of the key's columns, of each change."""
        images = [new if old is None or op != "d" else old
                  for op, old, new in zip(self._ops, self._before, self._after, strict=True)]  # fmt: skip
        return [[self._columns[n][image] for image in images if image is not None] for n in self._keys]

    def keep(self, wanted: list[bool]) -> None:
        """Leave out the other changes."""
        kept = [n for n, want in enumerate(wanted) if want]
        self._moved = {place: self._moved[n] for place, n in enumerate(kept) if n in self._moved}
        for name in ("_ops", "_before", "_after", "_place_of", "_rows"):
            values = getattr(self, name)
            setattr(self, name, [values[n] for n in kept])

    def chunk(self, at: SourcePartition, then: Offset, *, now_us: int, tombstones: bool) -> Chunk:
        table = self.stream.table
        kind = arrow_type(table.row)
        arrays = []
        for n, (place, make) in enumerate(zip(self.stream.places, self.stream.makers, strict=True)):
            made = make(self._columns[place])
            want = kind.field(n).type
            arrays.append(made if made.type == want else made.cast(want))
        images = pa.StructArray.from_arrays(arrays, fields=[kind.field(n) for n in range(kind.num_fields)])
        made = chunk_of_columns(
            table, at, then, ops=pa.array(self._ops, pa.string()), before=self._picked(images, self._before),
            after=self._picked(images, self._after), source=self._source(), now_us=now_us, tombstones=tombstones,
        )  # fmt: skip
        return replace(made, headers=self._headers(images)) if self._moved else made

    def _headers(self, images: Any) -> list[dict[str, bytes]]:
        """A deleted key names the new one, and a new key the one that was deleted."""

        def key(image: int) -> bytes:
            row = images[image].as_py()
            told = {name: row[name] for name in self.stream.table.key}
            return json.dumps(told, separators=(",", ":"), ensure_ascii=False, default=str).encode()

        made: list[dict[str, bytes]] = [{} for _ in self._ops]
        for row, (name, image) in self._moved.items():
            made[row][name] = key(image)
        return made

    @staticmethod
    def _picked(images: Any, places: list[int | None]) -> Any:
        if places and places[0] == 0 and len(places) == len(images) and None not in places:
            return images  # every row, in its order
        if all(place is None for place in places):
            return pa.nulls(len(places), images.type)
        return images.take(pa.array(places, _LONG))

    def _source(self) -> Any:
        kind = arrow_type(self.stream.table.source)
        count, index = len(self._ops), pa.array(self._place_of, pa.int32())
        kinds: tuple[Any, ...] = (_LONG, pa.string(), pa.string(), _LONG, _LONG, _LONG)
        told = zip(zip(*self._places, strict=True), kinds, strict=True)
        times, gtids, files, positions, servers, threads = (
            pa.array(list(values), of).take(index) for values, of in told
        )
        connector, prefix = self._named
        made = {
            "version": pa.repeat(own_version(), count), "connector": pa.repeat(connector, count),
            "name": pa.repeat(prefix, count), "ts_ms": pa.compute.divide(times, 1000),
            "snapshot": pa.repeat("false", count), "db": pa.repeat(self.stream.database, count),
            "ts_us": times, "ts_ns": pa.compute.multiply(times, 1000), "table": pa.repeat(self.stream.name, count),
            "server_id": servers, "gtid": gtids, "file": files, "pos": positions,
            "row": pa.array(self._rows, pa.int32()), "thread": threads,
        }  # fmt: skip
        fields = [kind.field(n) for n in range(kind.num_fields)]
        arrays = [made[field.name] if field.name in made else pa.nulls(count, field.type) for field in fields]
        return pa.StructArray.from_arrays(arrays, fields=fields)
