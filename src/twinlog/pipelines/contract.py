"""Checks for your own connectors: what the framework relies on. Used in the tests of a connector.

    from twinlog.pipelines.contract import source_faults

    def test_contract(tmp_path):
        assert source_faults(lambda: CsvFolder(CsvFolderSettings(folder=str(tmp_path), topic="t"))) == []

Each function returns sentences, one per promise that is not kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from twinlog.model.names import TopicPartition
from twinlog.pipelines.api import Chunk, Offset, Owner, Sink, SinkBatch, Source, SourcePartition, Superseded
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.source_task import physical, schemas_of


def source_faults(make: Callable[[], Source]) -> list[str]:
    """What is wrong with a source that has something to read. `make` builds it, each time anew."""
    faults: list[str] = []
    places = list(make().partitions())
    if not places:
        return ["partitions(): there is nothing to read; give the check a source with some rows"]
    keys = [json.dumps(dict(partition.at)) for partition in places]
    if len(set(keys)) < len(keys):
        faults.append("partitions(): two partitions have the same `at`; their positions would be one")
    for place in places:
        faults += _partition_faults(make, place)
    return faults


def _partition_faults(make: Callable[[], Source], place: SourcePartition) -> Iterator[str]:
    name = dict(place.at)
    whole = list(make().read(place, None, lambda: False))
    again = list(make().read(place, None, lambda: False))
    if _rows(whole) != _rows(again):
        yield f"{name}: read() gives other rows when it is called again with the same start"
        return
    for number, chunk in enumerate(whole):
        yield from _chunk_faults(chunk, f"{name}, chunk {number}")
        start: Offset = json.loads(json.dumps(dict(chunk.next)))
        rest = list(make().read(place, start, lambda: False))
        if _rows(rest) != _rows(whole[number + 1 :]):
            yield f"{name}: read() from the position {start} does not give the rows behind it"
    if whole and len(list(make().read(place, None, lambda: True))) > 1:
        yield f"{name}: read() continues although stop() is true"


def _chunk_faults(chunk: Chunk, name: str) -> Iterator[str]:
    rows = _batch(chunk)
    if not all(value is None or isinstance(value, str | int | float | bool) for value in chunk.next.values()):
        yield f"{name}: `next` holds values that are no text, number, boolean or null"
    missing = [column for column in chunk.key if column not in rows.schema.names]
    if missing:
        yield f"{name}: key columns that are not among the rows: {', '.join(missing)}"
        return
    try:
        value, _ = schemas_of(chunk, rows)
        if value.type == "struct" and chunk.schema is not None:
            kind = arrow_type(value)
            names = [column for column in rows.schema.names
                     if column != chunk.timestamp and not (chunk.key_apart and column in chunk.key)]  # fmt: skip
            for number, column in enumerate(names):
                physical(rows.column(column), kind.field(number).type)
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        yield f"{name}: the rows do not fit their schema: {error}"


def _batch(chunk: Chunk) -> pa.RecordBatch:
    return chunk.rows if isinstance(chunk.rows, pa.RecordBatch) else pa.RecordBatch.from_pylist(list(chunk.rows))


def _rows(chunks: Sequence[Chunk]) -> list[tuple[str, Any]]:
    return [(chunk.topic, row) for chunk in chunks for row in _batch(chunk).to_pylist()]


def sink_faults(make: Callable[[], Sink], batch: SinkBatch) -> list[str]:
    """What is wrong with a sink. `batch` are good records of one topic partition; the target must be empty."""
    faults: list[str] = []
    place = TopicPartition(batch.rows.column("topic")[0].as_py(), batch.rows.column("partition")[0].as_py())
    end = int(batch.rows.column("offset")[len(batch) - 1].as_py()) + 1
    is_exact = make().delivery == "exactly-once"
    first = make()
    first.open(Owner("contract", 1), [place])
    refused = list(first.put(batch))
    first.close()
    if refused:
        faults.append(f"put(): refuses good records: {refused[0].reason}")
    second = make()
    known = second.open(Owner("contract", 2), [place])
    if is_exact and known.get(place):
        faults.append(f"open(): says {known[place]} is stored, although nothing was flushed")
    second.put(batch)
    second.flush({place: end})
    second.close()
    third = make()
    known = third.open(Owner("contract", 3), [place])
    if is_exact and known.get(place) != end:
        faults.append(f"open(): says {known.get(place)} is stored after flush() of {end}")
    told = third.positions("contract")
    if is_exact and told is not None and told.get(place) != end:
        faults.append(f"positions(): does not say that {end} is stored")
    third.close()
    if is_exact:
        faults += _fence_faults(make(), place, batch, end)
    return faults


def _fence_faults(old: Sink, place: TopicPartition, batch: SinkBatch, end: int) -> Iterator[str]:
    try:
        old.open(Owner("contract", 1), [place])
        old.put(batch)
        old.flush({place: end})
    except Superseded:
        return
    finally:
        old.close()
    yield "open(), put() and flush() let an owner write whose generation is older than that of the last one"
