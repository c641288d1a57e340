"""AvroConverter: Avro with a schema registry, in Confluent's wire format. Made on the driver.

A record is decoded with the schema that it was written with. fastavro reads it in the Python workers, a batch at a
time: no Spark release of this version has Avro functions without a jar of another version.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from twinlog.pipelines.converters import batch_codec
from twinlog.pipelines.converters.avro_schemas import avro_text, connect_schema
from twinlog.pipelines.converters.avro_values import reader, writer
from twinlog.pipelines.converters.registry_client import Registered, RegistryClient
from twinlog.pipelines.converters.registry_settings import RegistrySettings, subject
from twinlog.pipelines.converters.wire_format import head, split, split_all
from twinlog.pipelines.expressions import with_defaults
from twinlog.pipelines.records import Decoded, Encoded, PlanRefused, Shape, Side
from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.settings import Setting, read_settings, setting

AVRO: Final = "AVRO"


@setting
class AvroSettings(RegistrySettings):
    """Keys of AvroConverter."""

    enhanced: bool = Setting("enhanced.avro.schema.support", "of no meaning here: names are kept", default=False)
    metadata: bool = Setting("connect.meta.data", "of no meaning here: Connect's names are kept", default=True)


@dataclass(frozen=True)
class AvroText:
    """The Avro schema of records: all that a worker needs."""

    text: str


class AvroConverter:
    """Avro with a schema registry."""

    also: ClassVar = (
        "io.confluent.connect.avro.AvroConverter",
        "io.apicurio.registry.utils.converter.AvroConverter",
    )
    settings: ClassVar = AvroSettings
    carries_schemas = True

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(AvroSettings, config)
        self.registry = RegistryClient(self.s)

    def tell(self, data: bytes) -> tuple[Hashable, bytes]:
        return split(data)

    def tell_all(self, column: Any) -> tuple[Hashable, Any] | None:
        return split_all(column)

    def shape(self, schema: Hashable) -> Shape:
        if schema is None:
            return Shape(Schema("bytes", optional=True))  # only records without a value are there
        text = whole_schema(expect(self.registry.schema(int(str(schema))), AVRO))
        return Shape(connect_schema(json.loads(text)), wire=AvroText(text))

    def decode(self, column: Column, shape: Shape) -> Decoded:
        if not isinstance(shape.wire, AvroText) or shape.schema is None:
            return Decoded(column)
        return batch_codec.decoded(column, shape.schema, partial(reader, shape.wire.text), "Avro")

    def encode(self, column: Column, shape: Shape) -> Encoded:  # noqa: ARG002
        raise PlanRefused("AvroConverter needs to know the topic")

    def encode_to(self, column: Column, shape: Shape, topic: Column, topics: Sequence[str], side: Side) -> Encoded:
        schema = with_schema(shape, "AvroConverter")
        text = avro_text(schema)
        ids = {
            topic_name: expect(
                self.registry.id_of(subject(self.s, side, topic_name, record_name(text)), AVRO, text), AVRO
            )
            for topic_name in topics
        }
        written = {registered.id: registered.text for registered in ids.values()}
        if len(set(written.values())) > 1:
            raise PlanRefused("use.latest.version: the topics of one stream have different latest schemas")
        value = column if self.s.keep_nulls else with_defaults(column, schema)
        done = batch_codec.encoded(value, partial(writer, next(iter(written.values())), schema, b""), "Avro")
        return with_heads(done, {topic_name: head(registered.id) for topic_name, registered in ids.items()}, topic)


def with_schema(shape: Shape, who: str) -> Schema:
    if shape.schema is None:
        raise PlanRefused(f"{who} writes records with a schema; these have none")
    return shape.schema


def record_name(text: str) -> str | None:
    parsed = json.loads(text)
    parsed = (
        next((member for member in parsed if isinstance(member, dict)), parsed) if isinstance(parsed, list) else parsed
    )
    if not isinstance(parsed, dict) or "name" not in parsed:
        return None
    space = parsed.get("namespace")
    return f"{space}.{parsed['name']}" if space else str(parsed["name"])


def expect(registered: Registered, kind: str) -> Registered:
    """Raises PlanRefused for a schema of another kind."""
    if registered.kind != kind:
        raise PlanRefused(
            f"schema {registered.id} of the registry is {registered.kind}, not {kind}; choose its converter"
        )
    return registered


def whole_schema(registered: Registered) -> str:
    """A schema with the definitions that it refers to put where they are used first."""
    if not registered.references:
        return registered.text
    known = {}
    for _, text in registered.references:
        parsed = json.loads(text)
        if isinstance(parsed, dict) and "name" in parsed:
            known[record_name(text) or ""] = parsed

    def filled(avro: Any, space: str) -> Any:
        if isinstance(avro, str):
            full = avro if "." in avro or not space else f"{space}.{avro}"
            definition = known.pop(full, None) or known.pop(avro, None)
            return avro if definition is None else filled(definition, space)
        if isinstance(avro, list):
            return [filled(member, space) for member in avro]
        own = avro.get("namespace", space)
        made = dict(avro)
        for key in ("items", "values"):
            if key in made:
                made[key] = filled(made[key], own)
        if isinstance(made.get("type"), dict | list):
            made["type"] = filled(made["type"], own)
        if "fields" in made:
            made["fields"] = [field | {"type": filled(field["type"], own)} for field in made["fields"]]
        return made

    return json.dumps(filled(json.loads(registered.text), ""))


def with_heads(done: Encoded, heads: Mapping[str, bytes], topic: Column) -> Encoded:
    """Bytes behind the id of their topic's schema."""
    first = next(iter(heads.values()))
    choice = F.unhex(F.lit(first.hex()))
    for name, prefix in heads.items():
        if prefix != first:
            choice = F.when(topic == name, F.unhex(F.lit(prefix.hex()))).otherwise(choice)
    return Encoded(F.concat(choice, done.column), done.problems)
