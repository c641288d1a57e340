"""Debezium's ExtractNewRecordState: the new row instead of the whole change event. Expressions, made on the driver.

| delete.tombstone.handling.mode | event of a delete                | tombstone |
|--------------------------------|----------------------------------|-----------|
| absent, drop                   | left out                         | left out  |
| tombstone                      | null, with the schema of the row | left out  |
| rewrite                        | old row, __deleted = true        | left out  |
| rewrite-with-tombstone         | old row, __deleted = true        | stays     |
| delete-to-tombstone            | null, without a schema           | left out  |

The last one is of releases after 3.0; all others are compared with 3.0.8. Events of a truncated table are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
_MODES: Final = {
    "drop": ("drop", False), "tombstone": ("null", False), "rewrite": ("rewrite", False),
    "rewrite-with-tombstone": ("rewrite", True), "delete-to-tombstone": ("tombstone", False),
}  # fmt: skip
"""What becomes of the event of a delete, and whether tombstones stay."""
_LEGACY: Final = {"": "drop", "drop": "drop", "rewrite": "rewrite", "none": "null"}


@setting
class UnwrapSettings:
    """Keys of ExtractNewRecordState."""

    mode: str = Setting(
        "delete.tombstone.handling.mode", "what becomes of deletes and tombstones", "", choices=("", *_MODES),
    )  # fmt: skip
    old_mode: str = Setting("delete.handling.mode", "of older releases", "", choices=("", "drop", "rewrite", "none"))
    old_drop: str = Setting("drop.tombstones", "of older releases", "", choices=("", "true", "false"))
    fields: tuple[str, ...] = Setting("add.fields", "members of the event that the row gets: op, source.ts_ms", ())
    fields_prefix: str = Setting("add.fields.prefix", "before their names", "__")
    headers: tuple[str, ...] = Setting("add.headers", "members of the event that become headers", ())
    headers_prefix: str = Setting("add.headers.prefix", "before their names", "__")
    dropped_fields: str = Setting("drop.fields.header.name", "not supported", "")
    route: str = Setting("route.by.field", "a field of the row that holds the topic's name", "")
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


@dataclass(frozen=True)
class Member:
    """A member of the event: `op`, `source.ts_ms`, `lsn` (of source), `op:operation`."""

    outer: str  # the struct that should hold it; empty: the event itself
    inner: str
    name: str

    def located(self, envelope: Schema) -> tuple[tuple[str, ...], Schema] | None:
        """Where it is: in its struct, or else in the event. None: nowhere. Raises LookupError without the struct."""
        parent = envelope.field(self.outer) if self.outer else envelope
        if parent is None:
            raise LookupError(self.outer)
        its = parent.field(self.inner) if parent.type == "struct" else None
        if its is not None:
            return ((self.outer, self.inner) if self.outer else (self.inner,)), its
        its = envelope.field(self.inner)
        return None if its is None else ((self.inner,), its)

    def document(self, value: Column) -> Column:
        """Of an event without a schema."""
        for name in (self.outer, self.inner) if self.outer else (self.inner,):
            value = part(value, name)
        return F.when(~F.is_variant_null(value), value)


def members(texts: Iterable[str], prefix: str, key: str) -> list[Member]:
    """Read `add.fields` or `add.headers`. Raises SettingsRefused."""
    made = []
    for text in texts:
        wanted, *aliases = text.split(":")
        if len(aliases) > 1:
            raise SettingsRefused([Finding(key, f"{text}: only one name may follow the colon")])
        outer, _, rest = wanted.partition(".")
        inner = rest.partition(".")[0]
        name = aliases[0] if aliases else f"{outer}_{inner}" if inner else outer
        if not inner:
            inner = outer
            outer = "" if inner in _TOP else "transaction" if inner in _OF_TRANSACTION else "source"
        made.append(Member(outer, inner, prefix + name))
    return made


def _at(value: Column, path: Iterable[str]) -> Column:
    for name in path:
        value = value.getField(name)
    return value


class ExtractNewRecordState:
    """The new row of a change event."""

    also: ClassVar = ("io.debezium.transforms.ExtractNewRecordState",)
    settings: ClassVar = UnwrapSettings
    sides: ClassVar = ("value",)

    def __init__(self, config: Mapping[str, str]) -> None:
        s = self.s = read_settings(UnwrapSettings, config)
        legacy = _LEGACY[s.old_mode], s.old_drop == "false"
        self.deletes, self.keeps_tombstones = _MODES[s.mode] if s.mode else legacy
        if s.dropped_fields:
            raise SettingsRefused([Finding("drop.fields.header.name", "is not supported: the schema of a record would "
                                           "depend on its header; ReplaceField leaves fields out")])  # fmt: skip
        self.fields = members(s.fields, s.fields_prefix, "add.fields")
        self.headers = members(s.headers, s.headers_prefix, "add.headers")

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
        is_event = F.isnotnull(value)
        is_empty = is_event & F.isnull(after) & F.isnull(before)  # the table was truncated
        is_gone = is_event & F.isnull(after) & F.isnotnull(before)
        rewrites = self.deletes == "rewrite"
        base = F.coalesce(after, before) if rewrites else after
        fields = list(row.fields)
        columns = [(field.name, base.getField(field.name)) for field in row.fields]
        if rewrites:
            fields.append(Field(_DELETED, OPTIONAL_STRING))
            columns.append((_DELETED, F.when(is_gone, F.lit("true")).otherwise(F.lit("false"))))
        is_kept = is_event & ~is_empty & (F.lit(True) if rewrites else ~is_gone)
        for added in self.fields:
            try:
                member = added.located(envelope)
            except LookupError:
                record = record.refused_when(is_kept, f"the event has no member `{added.outer}`")
                continue
            if member is None:
                continue
            if any(added.name == field.name for field in fields):
                message = f"Cannot create field because of field name duplication {added.name}"
                record = record.refused_when(is_kept, message)
                continue
            fields.append(Field(added.name, replace(member[1], optional=True, default=None)))
            columns.append((added.name, _at(value, member[0])))
        record = self._with_headers(record, envelope, is_event)
        null_schema = row if self.deletes == "null" else None
        shape = Shape(replace(row, optional=False, fields=tuple(fields)), absent=True, null_schema=null_schema)
        made = record.with_part("value", rebuilt(base, columns), shape)
        if self.s.route:
            goes_on = is_event & ~is_empty & (~is_gone if self.deletes == "drop" else F.lit(True))
            made = self._routed(made, row, F.coalesce(after, before), goes_on)
        return self._dropped(made, is_empty, is_gone, ~is_event)

    def _documents(self, record: RecordColumns) -> RecordColumns:
        """Events without a schema. Debezium hands them on as they are."""
        value = record.value
        is_event = is_object(record, "value") & F.isnotnull(part(value, "op")) & F.isnotnull(part(value, "source"))
        after, before = (
            F.when(~F.is_variant_null(part(value, side)), part(value, side)) for side in ("after", "before")
        )
        is_empty = is_event & F.isnull(after) & F.isnull(before)
        is_gone = is_event & F.isnull(after) & F.isnotnull(before)
        made = base = F.coalesce(after, before) if self.deletes == "rewrite" else after
        if self.deletes == "rewrite":
            deleted = F.when(is_gone, F.lit("true")).otherwise(F.lit("false")).cast("variant")
            made = with_member(made, _DELETED, deleted)
        for field in self.fields:
            made = with_member(made, field.name, field.document(value))
        headers = record.headers
        for header in self.headers:
            text = F.try_variant_get(header.document(value), "$", "string")
            named = F.when(is_event, with_header(headers, header.name, text))
            if header.inner == "op":
                named = named.when(F.isnull(value), with_header(headers, header.name, F.lit("d")))
            headers = named.otherwise(headers)
        record = replace(record.with_part("value", F.when(is_event, made).otherwise(value)), headers=headers)
        if self.s.route:
            record = _sent_to(record, F.try_variant_get(part(base, self.s.route), "$", "string"))
        return self._dropped(record, is_empty, is_gone, F.isnull(value))

    def _with_headers(self, record: RecordColumns, envelope: Schema, is_event: Column) -> RecordColumns:
        headers = record.headers
        for header in self.headers:
            try:
                member = header.located(envelope)
            except LookupError:
                record = record.refused_when(is_event, f"the event has no member `{header.outer}`")
                continue
            others = with_header(headers, header.name, F.lit("d")) if header.inner == "op" else headers
            if member is not None:
                text = header_text(_at(record.value, member[0]), member[1])
                headers = F.when(is_event, with_header(headers, header.name, text)).otherwise(others)
        return replace(record, headers=headers)

    def _routed(self, record: RecordColumns, row: Schema, base: Column, goes_on: Column) -> RecordColumns:
        its = row.field(self.s.route)
        if its is None:
            return record.refused_when(goes_on, f"{self.s.route} is not a valid field name")
        if its.type != "string":
            return record.refused_when(goes_on, f"Field '{self.s.route}' is not of type STRING")
        return _sent_to(record, base.getField(self.s.route))

    def _dropped(self, record: RecordColumns, is_empty: Column, is_gone: Column, is_tombstone: Column) -> RecordColumns:
        drop = is_empty
        if self.deletes == "drop":
            drop |= is_gone
        if not self.keeps_tombstones:
            drop |= is_tombstone
        return replace(record, drop=F.coalesce(drop, F.lit(False)))


def _sent_to(record: RecordColumns, name: Column) -> RecordColumns:
    """Another topic, unless its name is blank."""
    return replace(record, topic=F.when(F.trim(name) != "", name).otherwise(record.topic))
