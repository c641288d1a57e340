"""Debezium's ExtractNewRecordState: the new row instead of the whole change event. Expressions, made on the driver.

| delete.tombstone.handling.mode | event of a delete         | tombstone |
|--------------------------------|---------------------------|-----------|
| tombstone (default)            | left out                  | stays     |
| drop                           | left out                  | left out  |
| rewrite                        | old row, __deleted = true | left out  |
| rewrite-with-tombstone         | old row, __deleted = true | stays     |
| delete-to-tombstone            | value null                | left out  |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.expressions import rebuilt
from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.schemas import OPTIONAL_STRING, Field, Schema
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.pipelines.transforms.headers import header_text, with_header
from twinlog.pipelines.transforms.sides import is_object, part, with_member

_DELETED: Final = "__deleted"
_TOP: Final = frozenset({"op", "ts_ms", "ts_us", "ts_ns"})
_OF_TRANSACTION: Final = frozenset({"id", "total_order", "data_collection_order"})
_LEGACY: Final = {
    ("drop", True): "drop", ("drop", False): "tombstone", ("rewrite", True): "rewrite",
    ("rewrite", False): "rewrite-with-tombstone", ("none", True): "delete-to-tombstone",
    ("none", False): "null-and-keep",
}  # fmt: skip


@setting
class UnwrapSettings:
    """Keys of ExtractNewRecordState."""

    mode: str = Setting(
        "delete.tombstone.handling.mode", "what becomes of deletes and tombstones", "tombstone",
        choices=("tombstone", "drop", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"),
    )  # fmt: skip
    old_mode: str = Setting("delete.handling.mode", "of older releases", "", choices=("", "drop", "rewrite", "none"))
    old_drop: str = Setting("drop.tombstones", "of older releases", "", choices=("", "true", "false"))
    fields: tuple[str, ...] = Setting("add.fields", "members of the event that the row gets: op, source.ts_ms", ())
    fields_prefix: str = Setting("add.fields.prefix", "before their names", "__")
    headers: tuple[str, ...] = Setting("add.headers", "members of the event that become headers", ())
    headers_prefix: str = Setting("add.headers.prefix", "before their names", "__")
    route: str = Setting("route.by.field", "a field of the row that holds the topic's name", "")
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


@dataclass(frozen=True)
class Member:
    """A member of the event: `op`, `source.ts_ms`, `lsn` (of source), `op:operation`."""

    path: tuple[str, ...]
    name: str

    def column(self, value: Column) -> Column:
        for one in self.path:
            value = value.getField(one)
        return value

    def document(self, value: Column) -> Column:
        for one in self.path:
            value = part(value, one)
        return F.when(~F.is_variant_null(value), value)

    def schema(self, envelope: Schema) -> Schema | None:
        found: Schema | None = envelope
        for one in self.path:
            found = None if found is None or found.type != "struct" else found.field(one)
        return found


def member(text: str, prefix: str) -> Member:
    wanted, _, alias = text.partition(":")
    parts = tuple(wanted.split("."))
    if len(parts) > 1:
        return Member(parts, prefix + (alias or "_".join(parts)))
    outer = () if wanted in _TOP else ("transaction",) if wanted in _OF_TRANSACTION else ("source",)
    return Member((*outer, wanted), prefix + (alias or wanted))


class ExtractNewRecordState:
    """The new row of a change event."""

    also: ClassVar = ("io.debezium.transforms.ExtractNewRecordState",)
    settings: ClassVar = UnwrapSettings
    sides: ClassVar = ("value",)

    def __init__(self, config: Mapping[str, str]) -> None:
        s = read_settings(UnwrapSettings, config)
        self.s, self.mode = s, s.mode
        if s.old_mode or s.old_drop:
            if "delete.tombstone.handling.mode" in config:
                raise SettingsRefused([Finding("delete.tombstone.handling.mode", "replaces delete.handling.mode and "
                                               "drop.tombstones; give either it or them")])  # fmt: skip
            self.mode = _LEGACY[s.old_mode or "drop", s.old_drop != "false"]
        self.fields = [member(one, s.fields_prefix) for one in s.fields]
        self.headers = [member(one, s.headers_prefix) for one in s.headers]

    def apply(self, record: RecordColumns) -> RecordColumns:
        schema = record.value_shape.schema
        if schema is None:
            return self._documents(record)
        if schema.type != "struct" or not (schema.name or "").endswith(".Envelope"):
            return record
        return self._structs(record, schema)

    def _structs(self, record: RecordColumns, envelope: Schema) -> RecordColumns:
        value, row = record.value, envelope.field("after")
        if row is None or row.type != "struct":
            return record.refused_when(F.lit(True), "the event has no member `after`")
        after, before = value.getField("after"), value.getField("before")
        is_event, is_gone = F.isnotnull(value), F.isnotnull(value) & F.isnull(after)
        base = F.coalesce(after, before) if self.mode.startswith("rewrite") else after
        fields = list(row.fields)
        columns = [(one.name, base.getField(one.name)) for one in row.fields]
        for one in self.fields:
            its = one.schema(envelope)
            if its is None:
                return record.refused_when(is_event, f"Unexpected field name: {'.'.join(one.path)}")
            fields.append(Field(one.name, replace(its, optional=True, default=None)))
            columns.append((one.name, one.column(value)))
        if self.mode.startswith("rewrite"):
            fields.append(Field(_DELETED, OPTIONAL_STRING))
            columns.append((_DELETED, F.when(is_gone, F.lit("true")).otherwise(F.lit("false"))))
        made = rebuilt(base, columns)
        texts = [(one, one.column(value), one.schema(envelope)) for one in self.headers]
        after_step = replace(
            record.with_part("value", made, Shape(replace(row, fields=tuple(fields)), absent=True)),
            headers=self._with_headers(record, is_event, texts),
        )
        if self.s.route and row.field(self.s.route) is not None:
            after_step = self._routed(after_step, base.getField(self.s.route).cast("string"))
        return self._dropped(after_step, is_event, is_gone)

    def _documents(self, record: RecordColumns) -> RecordColumns:
        """Events without a schema. Debezium hands them on as they are."""
        value = record.value
        is_event = is_object(value) & F.isnotnull(part(value, "op")) & F.isnotnull(part(value, "source"))
        after, before = (F.when(~F.is_variant_null(part(value, one)), part(value, one)) for one in ("after", "before"))
        is_gone = is_event & F.isnull(after)
        base = F.coalesce(after, before) if self.mode.startswith("rewrite") else after
        made = base
        for one in self.fields:
            made = with_member(made, one.name, one.document(value))
        if self.mode.startswith("rewrite"):
            deleted = F.when(is_gone, F.lit("true")).otherwise(F.lit("false")).cast("variant")
            made = with_member(made, _DELETED, deleted)
        headers = record.headers
        for one in self.headers:
            text = F.try_variant_get(one.document(value), "$", "string")
            headers = F.when(is_event, with_header(headers, one.name, text)).otherwise(headers)
        record = replace(record.with_part("value", F.when(is_event, made).otherwise(value)), headers=headers)
        if self.s.route:
            record = self._routed(record, F.try_variant_get(part(base, self.s.route), "$", "string"))
        return self._dropped(record, is_event, is_gone, F.isnull(value))

    def _with_headers(
        self, record: RecordColumns, is_event: Column, texts: list[tuple[Member, Column, Schema | None]]
    ) -> Column:
        headers = record.headers
        for one, column, schema in texts:
            if schema is not None:
                made = with_header(headers, one.name, header_text(column, schema))
                headers = F.when(is_event, made).otherwise(headers)
        return headers

    def _routed(self, record: RecordColumns, name: Column) -> RecordColumns:
        return replace(record, topic=F.coalesce(name, record.topic))

    def _dropped(
        self, record: RecordColumns, is_event: Column, is_gone: Column, is_tombstone: Column | None = None
    ) -> RecordColumns:
        tombstone = ~is_event if is_tombstone is None else is_tombstone
        drop = {
            "tombstone": is_gone, "drop": is_gone | tombstone, "rewrite": tombstone,
            "delete-to-tombstone": tombstone,
        }.get(self.mode)  # fmt: skip
        return record if drop is None else replace(record, drop=F.coalesce(drop, F.lit(False)))
