"""Records as rows of a lake's table: Arrow types, rows that fit a table's columns. Vectorised but for documents.

Inside of lists and maps times stay numbers.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

from twinlog.pipelines.arrow_schemas import arrow_type
from twinlog.pipelines.schemas import DATE, TIME, TIMESTAMP, Schema, logical_name, unit_of

pc: Any = pyarrow.compute
_INSTANT: Final = pa.timestamp("us", "UTC")
_WIDER: Final = {(pa.int32(), pa.int64()), (pa.float32(), pa.float64())}
_SMALL: Final = (pa.int8(), pa.int16())


class RowsUnfit(Exception):
    """Rows that the columns of a table cannot hold."""


def rows_of_structs(values: Any, schema: Schema, *, has_times: bool) -> pa.Table:
    """One column per field; `has_times`: the format knows times of a day."""
    names = [field.name for field in schema.fields]
    arrays = [_array(pc.struct_field(values, [n]), field.schema, has_times) for n, field in enumerate(schema.fields)]
    return pa.Table.from_arrays(arrays, names=names)


def rows_of_documents(texts: Any) -> pa.Table:
    """One column per member, with the types that the values show. Raises RowsUnfit."""
    documents = [json.loads(text) for text in texts.to_pylist()]
    if not all(isinstance(document, dict) for document in documents):
        raise RowsUnfit("a row is made of an object, and the value is none")
    names = dict.fromkeys(name for document in documents for name in document)
    try:
        made = pa.table({name: pa.array([document.get(name) for document in documents]) for name in names})
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise RowsUnfit(str(error)) from error
    known = [(field.name, _known(field.type)) for field in made.schema]
    return fitted(made, pa.schema([pa.field(name, kind) for name, kind in known if kind is not None]))


def _known(kind: Any) -> Any:
    """The type without members of which only nulls were seen; None: nothing else is left of it."""
    if pa.types.is_struct(kind):
        fields = [(kind.field(n).name, _known(kind.field(n).type)) for n in range(kind.num_fields)]
        left = [pa.field(name, kind) for name, kind in fields if kind is not None]
        return pa.struct(left) if left else None
    if pa.types.is_list(kind):
        return None if pa.types.is_null(kind.value_type) else pa.list_(_textual(kind.value_type))
    return None if pa.types.is_null(kind) else kind


def _textual(kind: Any) -> Any:
    """Inside of a list a member of which only nulls were seen is a text."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(kind.field(n).name, _textual(kind.field(n).type)) for n in range(kind.num_fields)])
    if pa.types.is_list(kind):
        return pa.list_(_textual(kind.value_type))
    return pa.string() if pa.types.is_null(kind) else kind


def _array(array: Any, schema: Schema, has_times: bool) -> Any:
    match logical_name(schema):
        case name if name == DATE:
            return array.cast(pa.int32()).cast(pa.date32())
        case name if name == TIMESTAMP:
            unit: Any = unit_of(schema)
            return array.cast(pa.int64()).cast(pa.timestamp(unit, "UTC")).cast(_INSTANT, safe=False)
        case name if name == TIME and has_times:
            if unit_of(schema) == "us":
                return array.cast(pa.int64()).cast(pa.time64("us"))
            return array.cast(pa.int32()).cast(pa.time32("ms")).cast(pa.time64("us"))
    if schema.type == "struct":
        arrays = [_array(pc.struct_field(array, [n]), field.schema, has_times) for n, field in enumerate(schema.fields)]
        fields = [pa.field(field.name, made.type) for field, made in zip(schema.fields, arrays, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=pc.is_null(array))
    if schema.type in {"array", "map"}:
        return array.cast(_wide(arrow_type(schema)))
    return array.cast(pa.int32()) if array.type in _SMALL else array


def _wide(kind: Any) -> Any:
    """Without the small numbers, which no lake has."""
    if pa.types.is_struct(kind):
        return pa.struct([kind.field(n).with_type(_wide(kind.field(n).type)) for n in range(kind.num_fields)])
    if pa.types.is_list(kind):
        return pa.list_(_wide(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_wide(kind.key_type), _wide(kind.item_type))
    return pa.int32() if kind in _SMALL else kind


def merged(table: pa.Schema, rows: pa.Schema, *, widens: bool) -> pa.Schema:
    """The columns of a table, with what the rows have beyond them behind."""
    there = {field.name: field for field in table}
    new = {field.name: field for field in rows}
    old = [
        field.with_type(_merged(field.type, new[field.name].type, widens)) if field.name in new else field
        for field in table
    ]
    return pa.schema([*old, *(field.with_nullable(True) for name, field in new.items() if name not in there)])


def _merged(old: Any, new: Any, widens: bool) -> Any:
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        fields = [pa.schema([kind.field(n) for n in range(kind.num_fields)]) for kind in (old, new)]
        return pa.struct(list(merged(*fields, widens=widens)))
    return new if widens and (old, new) in _WIDER else old


def fitted(rows: pa.Table, columns: pa.Schema) -> pa.Table:
    """The rows with exactly these columns. Raises RowsUnfit."""
    made = []
    for wanted in columns:
        try:
            column = _fitted(rows.column(wanted.name), wanted.type) if wanted.name in rows.column_names else None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise RowsUnfit(f"column {wanted.name}: {error}") from error
        column = pa.nulls(rows.num_rows, wanted.type) if column is None else column
        if not wanted.nullable and column.null_count:
            raise RowsUnfit(f"column {wanted.name} needs a value, and the record has none")
        made.append(column)
    return pa.Table.from_arrays(made, schema=columns)


def _fitted(array: Any, kind: Any) -> Any:
    if not pa.types.is_struct(kind) or not pa.types.is_struct(array.type):
        return array if array.type == kind else array.cast(kind)
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    there = {whole.type.field(n).name: n for n in range(whole.type.num_fields)}
    fields = [kind.field(n) for n in range(kind.num_fields)]
    arrays = [
        _fitted(pc.struct_field(whole, [there[field.name]]), field.type)
        if field.name in there
        else pa.nulls(len(whole), field.type)
        for field in fields
    ]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=pc.is_null(whole))
