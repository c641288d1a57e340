"""InsertField: topic, partition, offset, timestamp or a constant as a field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.arrow.documents import Members, Unfit
from twinlog.pipelines.expressions import path, rebuilt
from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.schemas import TIMESTAMP, Field, Schema
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.pipelines.transforms.sides import KAFKA, Sided, is_object, needs_object


@setting
class InsertFieldSettings:
    """Keys of InsertField. A name that ends with ! is a required field."""

    topic: str = Setting("topic.field", "field for the topic", "")
    partition: str = Setting("partition.field", "field for the partition", "")
    offset: str = Setting("offset.field", "field for the offset, in sinks", "")
    timestamp: str = Setting("timestamp.field", "field for the timestamp", "")
    static: str = Setting("static.field", "field for static.value", "")
    value: str = Setting("static.value", "the constant", "")
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


@dataclass(frozen=True)
class _Insertion:
    name: str
    schema: Schema
    column: Column
    only_if_there: bool = False


_KINDS: Final = {
    "topic": Schema("string"),
    "partition": Schema("int32"),
    "offset": Schema("int64"),
    "timestamp": Schema("int64", name=TIMESTAMP, version=1),
}


class _InsertField(Sided):
    settings = InsertFieldSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(InsertFieldSettings, config)
        if not any((self.s.topic, self.s.partition, self.s.offset, self.s.timestamp, self.s.static)):
            raise SettingsRefused([Finding(None, "No field insertion configured")])
        if self.s.static and "static.value" not in config:
            raise SettingsRefused([Finding("static.value", f"No value specified for static field: {self.s.static}")])

    def _insertions(self, record: RecordColumns) -> list[_Insertion]:
        insertions = []
        for kind, schema in _KINDS.items():
            name = getattr(self.s, kind)
            if name:
                insertions.append(_insertion(name, schema, getattr(record, kind), only_if_there=kind == "timestamp"))
        if self.s.static:
            insertions.append(_insertion(self.s.static, Schema("string"), F.lit(self.s.value)))
        return insertions

    def apply(self, record: RecordColumns) -> RecordColumns:
        record = needs_object(record, self.side, "field insertion")
        column, schema = record.part(self.side), record.shape(self.side).schema
        new = self._insertions(record)
        if schema is None:
            made = column
            for insertion in new:
                put = F.variant_set(made, path(insertion.name), insertion.column.cast("variant"))
                made = F.when(F.isnotnull(insertion.column), put).otherwise(made) if insertion.only_if_there else put
            made = F.when(is_object(record, self.side), made).otherwise(column)
            return record.with_part(self.side, made, keeps_object=True)
        if schema.type != "struct":
            return record
        old = [(field.name, column.getField(field.name)) for field in schema.fields]
        made = rebuilt(column, [*old, *((insertion.name, insertion.column) for insertion in new)])
        after = schema.with_fields((*schema.fields, *(Field(insertion.name, insertion.schema) for insertion in new)))
        return record.with_part(self.side, made, Shape(after))

    def on_columns(self, members: Members) -> Members:
        for kind in _KINDS:
            name = getattr(self.s, kind)
            if name and members.record.column(kind).null_count:
                raise Unfit(f"a record has no {kind}")
            if name:
                members = members.with_column(_name(name), members.record.column(kind))
        if self.s.static:
            members = members.with_column(_name(self.s.static), pa.scalar(self.s.value, pa.string()))
        return members


def _name(text: str) -> str:
    return text.removesuffix("!").removesuffix("?")


def _insertion(name: str, schema: Schema, column: Column, *, only_if_there: bool = False) -> _Insertion:
    required = name.endswith("!")
    optional = Schema(schema.type, not required, schema.name, schema.version)
    return _Insertion(_name(name), optional, column, only_if_there)


class InsertFieldKey(_InsertField):
    """InsertField on keys."""

    also, side = (f"{KAFKA}.InsertField$Key",), "key"


class InsertFieldValue(_InsertField):
    """InsertField on values."""

    also, side = (f"{KAFKA}.InsertField$Value",), "value"
