"""DropHeaders, InsertHeader and HeaderFrom. Header values are text, as SimpleHeaderConverter writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.expressions import path
from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.schemas import Field, Schema
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.pipelines.text_form import text_form
from twinlog.pipelines.transforms.sides import KAFKA, Sided, changed_struct, needs_object


@setting
class DropHeadersSettings:
    """Keys of DropHeaders."""

    headers: tuple[str, ...] = Setting("headers", "names of headers to leave out")


class DropHeaders:
    """Leaves headers out."""

    also = (f"{KAFKA}.DropHeaders",)
    settings = DropHeadersSettings
    sides = ()

    def __init__(self, config: Mapping[str, str]) -> None:
        self.names = read_settings(DropHeadersSettings, config).headers

    def apply(self, record: RecordColumns) -> RecordColumns:
        kept = F.filter(record.headers, lambda header: ~header.getField("key").isin(*self.names))
        return replace(record, headers=kept)


@setting
class InsertHeaderSettings:
    """Keys of InsertHeader."""

    header: str = Setting("header", "name of the header")
    value: str = Setting("value.literal", "its value")


class InsertHeader:
    """Adds a header with a constant value."""

    also = (f"{KAFKA}.InsertHeader",)
    settings = InsertHeaderSettings
    sides = ()

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(InsertHeaderSettings, config)

    def apply(self, record: RecordColumns) -> RecordColumns:
        return replace(record, headers=with_header(record.headers, self.s.header, F.lit(self.s.value)))


def with_header(headers: Column, name: str, text: Column) -> Column:
    header = F.struct(F.lit(name).alias("key"), text.cast("binary").alias("value"))
    return F.concat(headers, F.array(header))


@setting
class HeaderFromSettings:
    """Keys of HeaderFrom."""

    fields: tuple[str, ...] = Setting("fields", "fields to take")
    headers: tuple[str, ...] = Setting("headers", "names of their headers, in the same order")
    operation: str = Setting("operation", "move also removes the field", choices=("move", "copy"))
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


class _HeaderFrom(Sided):
    settings = HeaderFromSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(HeaderFromSettings, config)
        if len(self.s.fields) != len(self.s.headers):
            raise SettingsRefused([Finding("headers", "must have as many names as `fields`")])

    def apply(self, record: RecordColumns) -> RecordColumns:
        record = needs_object(record, self.side, f"header {self.s.operation}", null_passes=False)
        column, schema = record.part(self.side), record.shape(self.side).schema
        if schema is None:
            return self._documents(record, column)
        if schema.type != "struct":
            return record
        headers = record.headers
        for name, header in zip(self.s.fields, self.s.headers, strict=True):
            its = schema.field(name)
            if its is None:
                return record.refused_when(F.lit(True), f"{name} is not a valid field name")
            headers = with_header(headers, header, header_text(column.getField(name), its))
        record = replace(record, headers=headers)
        if self.s.operation == "copy":
            return record

        def change(field: Field, its: Column) -> tuple[Field, Column] | None:
            return None if field.name in self.s.fields else (field, its)

        made, after = changed_struct(column, schema, change)
        return record.with_part(self.side, made, Shape(after))

    def _documents(self, record: RecordColumns, column: Column) -> RecordColumns:
        headers = record.headers
        for name, header in zip(self.s.fields, self.s.headers, strict=True):
            part = F.try_variant_get(column, path(name), "variant")
            is_text = F.schema_of_variant(part) == "STRING"
            text = F.when(is_text, F.try_variant_get(part, "$", "string")).otherwise(F.to_json(part))
            headers = with_header(headers, header, F.when(~F.is_variant_null(part), text))
        record = replace(record, headers=headers)
        if self.s.operation == "copy":
            return record
        return record.with_part(self.side, F.variant_delete(column, *[path(field) for field in self.s.fields]))


def header_text(column: Column, schema: Schema) -> Column:
    return text_form(column, Shape(schema))


class HeaderFromKey(_HeaderFrom):
    """HeaderFrom on keys."""

    also, side = (f"{KAFKA}.HeaderFrom$Key",), "key"


class HeaderFromValue(_HeaderFrom):
    """HeaderFrom on values."""

    also, side = (f"{KAFKA}.HeaderFrom$Value",), "value"
