"""ExtractField and HoistField: a field instead of the whole, the whole as a field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import functions as F

from twinlog.pipelines.expressions import path, variant_null
from twinlog.pipelines.records import SCHEMALESS, RecordColumns, Shape
from twinlog.pipelines.schemas import Field, Schema
from twinlog.pipelines.settings import Setting, read_settings, setting
from twinlog.pipelines.transforms.paths import field_path
from twinlog.pipelines.transforms.sides import KAFKA, Sided, needs_object

_ILLEGAL = "java.lang.IllegalArgumentException"
_REQUIRED = "Conversion error: null value for field that is required and has no default value"


@setting
class ExtractFieldSettings:
    """Keys of ExtractField."""

    field: str = Setting("field", "the field to take out")
    syntax: str = Setting("field.syntax.version", "V2: a.b is b in a", "V1", choices=("V1", "V2"))
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


class _ExtractField(Sided):
    settings = ExtractFieldSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        s = read_settings(ExtractFieldSettings, config)
        self.name = s.field
        self.path = field_path(s.field) if s.syntax == "v2" else [s.field]

    def apply(self, record: RecordColumns) -> RecordColumns:
        record = needs_object(record, self.side, "field extraction")
        column, schema = record.part(self.side), record.shape(self.side).schema
        if schema is None:
            extracted = F.try_variant_get(column, "$" + "".join(path(name)[1:] for name in self.path), "variant")
            return record.with_part(self.side, F.when(~F.is_variant_null(extracted), extracted))
        if schema.type != "struct":
            return record
        for name in self.path:
            inner = schema.field(name) if schema.type == "struct" else None
            if inner is None:
                if len(self.path) > 1:
                    return record.with_part(
                        self.side, F.lit(None).cast("string"), Shape(Schema("string", optional=True))
                    )
                return record.refused_when(F.lit(True), f"Unknown field: {self.name}", _ILLEGAL)
            column, schema = column.getField(name), inner
        if len(self.path) > 1 and not schema.optional and schema.default is None:
            # A parent is null. Kafka's converters refuse what then comes out; to a sink it would look like a deletion.
            lost = F.isnotnull(record.part(self.side)) & F.isnull(column)
            record = record.refused_when(lost, _REQUIRED)
        return record.with_part(self.side, column, Shape(schema))


class ExtractFieldKey(_ExtractField):
    """ExtractField on keys."""

    also, side = (f"{KAFKA}.ExtractField$Key",), "key"


class ExtractFieldValue(_ExtractField):
    """ExtractField on values."""

    also, side = (f"{KAFKA}.ExtractField$Value",), "value"


@setting
class HoistFieldSettings:
    """Keys of HoistField."""

    field: str = Setting("field", "name of the field that holds the whole")


class _HoistField(Sided):
    settings = HoistFieldSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.name = read_settings(HoistFieldSettings, config).field

    def apply(self, record: RecordColumns) -> RecordColumns:
        column, schema = record.part(self.side), record.shape(self.side).schema
        if schema is None:
            empty = F.parse_json(F.lit("{}"))
            made = F.variant_set(empty, path(self.name), F.coalesce(column, variant_null()))
            return record.with_part(self.side, made, SCHEMALESS)
        after = Schema("struct", fields=(Field(self.name, schema),))
        return record.with_part(self.side, F.struct(column.alias(self.name)), Shape(after))


class HoistFieldKey(_HoistField):
    """HoistField on keys."""

    also, side = (f"{KAFKA}.HoistField$Key",), "key"


class HoistFieldValue(_HoistField):
    """HoistField on values."""

    also, side = (f"{KAFKA}.HoistField$Value",), "value"


@setting
class ValueToKeySettings:
    """Keys of ValueToKey."""

    fields: tuple[str, ...] = Setting("fields", "fields of the value that make the key")
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


class ValueToKey:
    """A key of fields of the value."""

    also = (f"{KAFKA}.ValueToKey",)
    settings = ValueToKeySettings
    sides = ("value",)

    def __init__(self, config: Mapping[str, str]) -> None:
        self.fields = read_settings(ValueToKeySettings, config).fields

    def apply(self, record: RecordColumns) -> RecordColumns:
        record = needs_object(record, "value", "copying fields from value to key", null_passes=False)
        column, schema = record.value, record.value_shape.schema
        if schema is None:
            made = F.parse_json(F.lit("{}"))
            for name in self.fields:
                part = F.try_variant_get(column, path(name), "variant")
                made = F.variant_set(made, path(name), F.coalesce(part, variant_null()))
            return replace(record, key=made, key_shape=SCHEMALESS)
        if schema.type != "struct":
            return record
        fields = []
        for name in self.fields:
            its = schema.field(name)
            if its is None:
                return record.refused_when(F.lit(True), f"Field does not exist: {name}")
            fields.append(Field(name, its))
        made = F.struct(*[column.getField(field.name).alias(field.name) for field in fields])
        return replace(record, key=made, key_shape=Shape(Schema("struct", fields=tuple(fields))))
