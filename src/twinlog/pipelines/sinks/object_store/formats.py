"""Rows as the bytes of a file: JSON lines, Avro, Parquet, CSV. Runs in Python workers."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any, Final

import fastavro
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from twinlog.pipelines.api import Finding, SettingsRefused
from twinlog.pipelines.converters.avro_schemas import avro_schema
from twinlog.pipelines.converters.avro_values import from_arrow, wire_schema
from twinlog.pipelines.schemas import DATE, TIME, TIMESTAMP, Schema
from twinlog.pipelines.sinks.object_store.settings import ObjectStoreSettings

pc: Any = pyarrow.compute
_ENDINGS: Final = {"json": ".json", "avro": ".avro", "parquet": ".snappy.parquet", "csv": ".csv", "bytearray": ".bin"}


def form_of(s: ObjectStoreSettings) -> str:
    """json, avro, parquet or csv. Raises SettingsRefused."""
    name = s.form.rpartition(".")[2].removesuffix("Format").lower()
    if name not in {"json", "avro", "parquet", "csv"}:
        raise SettingsRefused([Finding("format.class", f"{s.form}: no Json-, Avro-, Parquet- or CsvFormat")])
    return name


def ending(s: ObjectStoreSettings) -> str:
    form = form_of(s)
    if form == "parquet":
        return f".{s.parquet_codec}.parquet" if s.parquet_codec not in {"none", "uncompressed"} else ".parquet"
    return _ENDINGS[form] + (".gz" if s.compression == "gzip" and form in {"json", "csv"} else "")


def file_bytes(values: Any, schema: Schema | None, s: ObjectStoreSettings) -> bytes:
    """A whole file of these values. Raises ValueError for values that the format cannot hold."""
    form = form_of(s)
    if form == "json":
        data = b"".join(line.encode() + b"\n" for line in values.to_pylist())
        return _packed(data, s)
    if schema is None:
        raise ValueError(f"{form} files need records with a schema; these have none")
    if form == "avro":
        return _avro(values, schema, s)
    if schema.type != "struct":
        raise ValueError(f"{form} files need structs, not {schema.type}")
    table = pa.Table.from_arrays(
        [_logical(values.field(n), field.schema) for n, field in enumerate(schema.fields)],
        names=[field.name for field in schema.fields],
    )
    out = io.BytesIO()
    if form == "parquet":
        codec: Any = "none" if s.parquet_codec in {"none", "uncompressed"} else s.parquet_codec
        pyarrow.parquet.write_table(table, out, compression=codec)
        return out.getvalue()
    pyarrow.csv.write_csv(_flat(table), out)
    return _packed(out.getvalue(), s)


def _packed(data: bytes, s: ObjectStoreSettings) -> bytes:
    return gzip.compress(data, mtime=0) if s.compression == "gzip" else data


def _avro(values: Any, schema: Schema, s: ObjectStoreSettings) -> bytes:
    shape, out = from_arrow(schema), io.BytesIO()
    rows = [row if shape is None or row is None else shape(row) for row in values.to_pylist()]
    avro = avro_schema(schema)
    # The file has the schema with its logical types; the values are physical already.
    fastavro.writer(out, fastavro.parse_schema(wire_schema(avro), _force=True), rows, codec=s.avro_codec,
                    metadata={"connect.schema": json.dumps(avro)})  # fmt: skip
    return out.getvalue()


def _logical(column: Any, schema: Schema) -> Any:
    """Times as times, not as numbers."""
    if schema.name == TIMESTAMP:
        return column.cast(pa.timestamp("ms", "UTC"))
    if schema.name == DATE:
        return column.cast(pa.int32()).cast(pa.date32())
    if schema.name == TIME:
        return column.cast(pa.time32("ms"))
    return column


def _flat(table: pa.Table) -> pa.Table:
    """Lists and structs as JSON: CSV has one text per value."""
    for n, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [None if row is None else json.dumps(row, default=str) for row in table.column(n).to_pylist()]
            table = table.set_column(n, field.name, pa.array(texts, pa.string()))
        elif pa.types.is_binary(field.type):
            table = table.set_column(n, field.name, pc.cast(table.column(n), pa.string()))
    return table
