"""Rows of one file as Arrow batches, behind the rows that were read before. Runs in a Python worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import fastavro
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from twinlog.pipelines.api import Schema
from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.converters.avro_schemas import connect_schema
from twinlog.pipelines.converters.avro_values import to_arrow, wire_schema
from twinlog.pipelines.converters.delimited import schema_of_ddl
from twinlog.pipelines.sources.folder.settings import FolderSettings


class Unreadable(Exception):
    """A file is not what the format says."""


def batches(path: Path, form: str, s: FolderSettings) -> Iterator[tuple[pa.RecordBatch, Schema | None]]:
    """All rows of a file. Raises Unreadable."""
    try:
        yield from _FORMS[form](path, s)
    except (pa.ArrowInvalid, ValueError, EOFError, ET.ParseError, KeyError, StopIteration) as error:
        raise Unreadable(f"{path.name}: no {form}: {error}") from error


def _csv(path: Path, s: FolderSettings) -> Iterator[tuple[pa.RecordBatch, Schema | None]]:
    parse = pyarrow.csv.ParseOptions(delimiter=chr(s.separator), newlines_in_values=True)
    if not path.stat().st_size:
        return
    with path.open("rb") as file:
        first = file.readline().decode().rstrip("\r\n").split(chr(s.separator))
    schema = schema_of_ddl(s.columns) if s.columns else None
    names = [field.name for field in schema.fields] if schema is not None else None
    if not s.header:
        read = pyarrow.csv.ReadOptions(column_names=names or [f"column{n + 1:02d}" for n in range(len(first))])
    else:
        read = pyarrow.csv.ReadOptions()
    kinds = None if schema is None else {field.name: arrow_type(field.schema) for field in schema.fields}
    strings = {name: pa.string() for name in (read.column_names or [title.strip('"') for title in first])}
    convert = pyarrow.csv.ConvertOptions(column_types=kinds or strings, strings_can_be_null=False)
    table = pyarrow.csv.read_csv(path, read, parse, convert)
    if names is not None:
        table = table.select(names)
    for batch in table.combine_chunks().to_batches():
        yield batch, schema


def _json(path: Path, s: FolderSettings) -> Iterator[tuple[pa.RecordBatch, Schema | None]]:
    if not s.columns:
        yield from _text(path, s)
        return
    schema = schema_of_ddl(s.columns)
    kind = pa.schema([(field.name, arrow_type(field.schema)) for field in schema.fields])
    rows = [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
    if rows:
        yield pa.RecordBatch.from_pylist([{name: row.get(name) for name in kind.names} for row in rows], kind), schema


def _text(path: Path, s: FolderSettings) -> Iterator[tuple[pa.RecordBatch, Schema | None]]:  # noqa: ARG001
    lines = [line.decode(errors="replace") for line in path.read_bytes().splitlines()]
    if lines:
        yield pa.RecordBatch.from_arrays([pa.array(lines, pa.string())], [""]), Schema("string")


def _parquet(path: Path, s: FolderSettings) -> Iterator[tuple[pa.RecordBatch, Schema | None]]:
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=s.batch):
        yield batch, None


def _avro(path: Path, s: FolderSettings) -> Iterator[tuple[pa.RecordBatch, Schema | None]]:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        avro: Any = reader.writer_schema
        schema = connect_schema(avro)
        if schema.type != "struct":
            raise ValueError("its records are no structs")
        # Physical values: the reader would make dates and decimals of logical types.
        file.seek(0)
        shape, rows = to_arrow(schema), []
        for row in fastavro.reader(file, reader_schema=wire_schema(avro)):
            rows.append(row if shape is None else shape(row))
            if len(rows) >= s.batch:
                yield _struct_batch(rows, schema), schema
                rows = []
        if rows:
            yield _struct_batch(rows, schema), schema


def _struct_batch(rows: list[Any], schema: Schema) -> pa.RecordBatch:
    kind = pa.schema([(field.name, arrow_type(field.schema)) for field in schema.fields])
    return pa.RecordBatch.from_pylist(rows, kind)


def _xml(path: Path, s: FolderSettings) -> Iterator[tuple[pa.RecordBatch, Schema | None]]:
    schema = schema_of_ddl(s.columns) if s.columns else None
    rows: list[dict[str, Any]] = []
    for _, element in ET.iterparse(path):  # noqa: S314  files of the operator's own folder
        if element.tag == s.row_tag:
            rows.append({**element.attrib, **{child.tag: child.text for child in element}})
            element.clear()
    if not rows:
        return
    names = (
        [field.name for field in schema.fields]
        if schema is not None
        else list(dict.fromkeys(n for r in rows for n in r))
    )
    texts = pa.RecordBatch.from_pylist([{name: row.get(name) for name in names} for row in rows],
                                       pa.schema([(name, pa.string()) for name in names]))  # fmt: skip
    if schema is not None:
        columns = [texts.column(n).cast(arrow_type(field.schema)) for n, field in enumerate(schema.fields)]
        texts = pa.RecordBatch.from_arrays(columns, names)
    yield texts, schema


_FORMS: Any = {"csv": _csv, "json": _json, "text": _text, "parquet": _parquet, "avro": _avro, "xml": _xml}
