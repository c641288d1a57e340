"""SetSchemaMetadata: another name or version for the schema. No data changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import functions as F

from twinlog.pipelines.records import RecordColumns, Shape
from twinlog.pipelines.settings import Setting, read_settings, setting
from twinlog.pipelines.transforms.sides import KAFKA, Sided


@setting
class SchemaMetadataSettings:
    """Keys of SetSchemaMetadata."""

    name: str = Setting("schema.name", "new name", "")
    version: int | None = Setting("schema.version", "new version", None)
    defaults: bool = Setting("replace.null.with.default", "null becomes the default of its field", default=True)


class _SetSchemaMetadata(Sided):
    settings = SchemaMetadataSettings

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(SchemaMetadataSettings, config)

    def apply(self, record: RecordColumns) -> RecordColumns:
        column, schema = record.part(self.side), record.shape(self.side).schema
        if schema is None:
            return record.refused_when(F.isnotnull(column), "Schema required for [updating schema metadata]")
        after = replace(
            schema,
            name=self.s.name or schema.name,
            version=schema.version if self.s.version is None else self.s.version,
        )
        return record.with_part(self.side, column.alias("named"), Shape(after))


class SetSchemaMetadataKey(_SetSchemaMetadata):
    """SetSchemaMetadata on keys."""

    also, side = (f"{KAFKA}.SetSchemaMetadata$Key",), "key"


class SetSchemaMetadataValue(_SetSchemaMetadata):
    """SetSchemaMetadata on values."""

    also, side = (f"{KAFKA}.SetSchemaMetadata$Value",), "value"
