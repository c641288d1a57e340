"""ReplaceField: keep, leave out and rename fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.arrow.documents import Members, Unfit
from twinlog.pipelines.expressions import path
from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.schemas import Field
from twinlog.pipelines.settings import Finding, Setting, SettingsRefused, read_settings, setting
from twinlog.pipelines.transforms.sides import KAFKA, Sided, changed_struct, is_object, needs_object


@setting
class ReplaceFieldSettings:
    """Keys of ReplaceField."""

    include: tuple[str, ...] = Setting("include", "fields to keep; empty: all", (), also=("whitelist",))
    exclude: tuple[str, ...] = Setting("exclude", "fields to leave out", (), also=("blacklist",))
    renames: tuple[str, ...] = Setting("renames", "old:new, comma separated", ())


class _ReplaceField(Sided):
    settings = ReplaceFieldSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        s = read_settings(ReplaceFieldSettings, config)
        self.include, self.exclude = set(s.include), set(s.exclude)
        wrong = [rename for rename in s.renames if len(rename.split(":")) != 2]
        if wrong:
            raise SettingsRefused([Finding("renames", f"{wrong[0]!r}: expected old:new")])
        self.renames = dict(rename.split(":") for rename in s.renames)

    def keeps(self, name: str) -> bool:
        return name not in self.exclude and (not self.include or name in self.include)

    def apply(self, record: RecordColumns) -> RecordColumns:
        record = needs_object(record, self.side, "field replacement")
        column, schema = record.part(self.side), record.shape(self.side).schema
        if schema is None:
            made = F.when(is_object(record, self.side), self._document(column)).otherwise(column)
            return record.with_part(self.side, made, keeps_object=True)
        if schema.type != "struct":
            return record

        def change(field: Field, its: Column) -> tuple[Field, Column] | None:
            if not self.keeps(field.name):
                return None
            return replace(field, name=self.renames.get(field.name, field.name)), its

        made, after = changed_struct(column, schema, change)
        return record.with_part(self.side, made, Shape(after))

    def on_columns(self, members: Members) -> Members:
        names = {name: self.renames.get(name, name) for name in members.columns if self.keeps(name)}
        if len(set(names.values())) < len(names):
            raise Unfit("a member is renamed to another that is there")
        return members.renamed(names)

    def _document(self, column: Column) -> Column:
        def of(name: str) -> Column:
            return F.try_variant_get(column, path(name), "variant")

        if self.include:
            made = F.parse_json(F.lit("{}"))
            for name in sorted(self.include - self.exclude):
                new = path(self.renames.get(name, name))
                made = F.when(F.isnotnull(of(name)), F.variant_set(made, new, of(name))).otherwise(made)
            return made
        made = column
        if self.exclude:
            made = F.variant_delete(made, *[path(name) for name in sorted(self.exclude)])
        moved = {old: new for old, new in self.renames.items() if self.keeps(old)}
        if moved:
            made = F.variant_delete(made, *[path(name) for name in moved])
            for old, new in moved.items():
                made = F.when(F.isnotnull(of(old)), F.variant_set(made, path(new), of(old))).otherwise(made)
        return made


class ReplaceFieldKey(_ReplaceField):
    """ReplaceField on keys."""

    also, side = (f"{KAFKA}.ReplaceField$Key",), "key"


class ReplaceFieldValue(_ReplaceField):
    """ReplaceField on values."""

    also, side = (f"{KAFKA}.ReplaceField$Value",), "value"
