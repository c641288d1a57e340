"""Debezium's record shape without a server."""

from __future__ import annotations

import pyarrow as pa
from tests.kit.changes import plain

from twinlog.pipelines.api import Chunk, SourcePartition
from twinlog.pipelines.schemas import Field, Schema
from twinlog.pipelines.source_task import with_tombstones
from twinlog.pipelines.sources.debezium.envelope import Change, Table, chunk_of, source_schema


def test_a_deleted_row_of_a_table_without_a_key_gets_a_tombstone_as_from_debezium() -> None:
    table = Table("t", (Field("n", Schema("int32", optional=True)),), (), source_schema("s"))
    told = {"connector": "c", "name": "t", "snapshot": "false", "db": "d"}
    changes = [Change("d", [1], None, told, 5), Change("c", None, [2], told, 6)]

    def chunk(*, tombstones: bool) -> Chunk:
        makers = [lambda values: pa.array(values, pa.int32())]
        return chunk_of(table, makers, changes, SourcePartition({"server": "t"}), {}, now_us=7, tombstones=tombstones)

    assert [record[1:3] for record in plain(chunk(tombstones=True))] == [("d", ()), ("tombstone", ()), ("c", ())]
    assert [record[1] for record in plain(chunk(tombstones=False))] == ["d", "c"]
    places, gone = with_tombstones(chunk(tombstones=True), 2)
    assert (places.to_pylist(), gone.to_pylist()) == ([0, 0, 1], [False, True, False])
