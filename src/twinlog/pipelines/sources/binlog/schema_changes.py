"""Records of statements that change tables, on the topic that is named as the prefix. Pure."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.pipelines.api import Chunk, SourcePartition
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.schemas import Field, Schema
from twinlog.pipelines.sources.binlog.buffer import Place
from twinlog.pipelines.sources.binlog.catalogue import source_of
from twinlog.pipelines.sources.binlog.events import Query
from twinlog.pipelines.sources.binlog.settings import BinlogSettings
from twinlog.pipelines.sources.debezium.envelope import own_version

_TEXT: Final = Schema("string", optional=True)
_CHANGE: Final = Schema(
    "struct", name="io.debezium.connector.schema.Change", version=1,
    fields=(Field("type", Schema("string")), Field("id", Schema("string"))),
)  # fmt: skip


def schemas_of(connector: str) -> tuple[Schema, Schema]:
    """Key and value."""
    name = f"io.debezium.connector.{connector}"
    key = Schema("struct", name=f"{name}.SchemaChangeKey", version=1, fields=(Field("databaseName", Schema("string")),))
    value = Schema(
        "struct", name=f"{name}.SchemaChangeValue", version=1,
        fields=(
            Field("source", source_of(connector)), Field("ts_ms", Schema("int64")), Field("databaseName", _TEXT),
            Field("schemaName", _TEXT), Field("ddl", _TEXT), Field("tableChanges", Schema("array", values=_CHANGE)),
        ),
    )  # fmt: skip
    return key, value


def schema_change(s: BinlogSettings, connector: str, query: Query, place: Place) -> Chunk:
    """One statement. The list of changed tables is empty: the records of a table carry its columns."""
    key, value = schemas_of(connector)
    source = {
        "version": own_version(), "connector": connector, "name": s.prefix, "ts_ms": place.at_us // 1000,
        "ts_us": place.at_us, "ts_ns": place.at_us * 1000, "snapshot": "false", "db": query.database,
        "server_id": place.server_id, "gtid": place.gtid, "file": place.file, "pos": place.pos, "row": 0,
    }  # fmt: skip
    kinds = {field.name: arrow_type(field.schema) for field in value.fields}
    now_ms = int(SYSTEM_CLOCK.now_s() * 1000)
    told = {"source": source, "ts_ms": now_ms, "databaseName": query.database, "ddl": query.text, "tableChanges": []}
    rows = {"key.databaseName": pa.array([query.database])}
    rows |= {name: pa.array([told.get(name)], kind) for name, kind in kinds.items()}
    return Chunk(s.prefix, pa.RecordBatch.from_pydict(rows), SourcePartition({}), {}, key=("key.databaseName",),
                 key_apart=True, schema=value, key_schema=key)  # fmt: skip
