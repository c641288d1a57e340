"""JsonSchemaConverter: JSON with a schema in a registry, in Confluent's wire format. Expressions, made on driver."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.converters.avro import expect, with_heads, with_schema
from twinlog.pipelines.converters.json_documents import JsonConverter, json_text
from twinlog.pipelines.converters.json_schema_types import connect_schema, json_schema
from twinlog.pipelines.converters.registry_client import RegistryClient
from twinlog.pipelines.converters.registry_settings import RegistrySettings, subject
from twinlog.pipelines.converters.wire_format import head, split, split_all
from twinlog.pipelines.expressions import with_defaults
from twinlog.pipelines.records import Decoded, Encoded, PlanRefused, Shape, Side
from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.settings import Setting, read_settings, setting

JSON: Final = "JSON"


@setting
class JsonSchemaSettings(RegistrySettings):
    """Keys of JsonSchemaConverter."""

    decimals: str = Setting("decimal.format", "how decimals are written", "BASE64", choices=("BASE64", "NUMERIC"))
    optional: bool = Setting(
        "use.optional.for.nonrequired", "properties that are not required may be null", default=False
    )


class JsonSchemaConverter:
    """JSON Schema with a registry."""

    also: ClassVar = ("io.confluent.connect.json.JsonSchemaConverter",)
    settings: ClassVar = JsonSchemaSettings
    carries_schemas = True

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(JsonSchemaSettings, config)
        self.registry = RegistryClient(self.s)
        keys = {"decimal.format": self.s.decimals.upper(), "replace.null.with.default": str(not self.s.keep_nulls)}
        self._json = JsonConverter({"schemas.enable": "true", **keys})

    def tell(self, data: bytes) -> tuple[Hashable, bytes]:
        return split(data)

    def tell_all(self, column: Any) -> tuple[Hashable, Any] | None:
        return split_all(column)

    def shape(self, schema: Hashable) -> Shape:
        if schema is None:
            return Shape(Schema("bytes", optional=True))  # only records without a value are there
        registered = expect(self.registry.schema(int(str(schema))), JSON)
        others = {name: json.loads(text) for name, text in registered.references}
        made = connect_schema(json.loads(registered.text), others, nonrequired_optional=self.s.optional)
        return Shape(made, wire=JSON)

    def decode(self, column: Column, shape: Shape) -> Decoded:
        if shape.wire != JSON:
            return Decoded(column)
        text = F.concat(F.lit('{"payload":'), column.cast("string"), F.lit("}"))
        return self._json.decode(text, shape)

    def encode(self, column: Column, shape: Shape) -> Encoded:  # noqa: ARG002
        raise PlanRefused("JsonSchemaConverter needs to know the topic")

    def encode_to(self, column: Column, shape: Shape, topic: Column, topics: Sequence[str], side: Side) -> Encoded:
        schema = with_schema(shape, "JsonSchemaConverter")
        text = json.dumps(json_schema(schema, self.s.decimals), separators=(",", ":"), ensure_ascii=False)
        heads = {
            topic_name: head(
                expect(self.registry.id_of(subject(self.s, side, topic_name, schema.name), JSON, text), JSON).id
            )
            for topic_name in topics
        }
        value = column if self.s.keep_nulls else with_defaults(column, schema)
        return with_heads(Encoded(json_text(value, schema, self.s.decimals.upper()).cast("binary")), heads, topic)
