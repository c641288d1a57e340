"""ProtobufConverter: Protobuf with a schema registry, in Confluent's wire format. Made on the driver.

No Spark release of this version has Protobuf functions: Google's library parses in the Python workers, per batch.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from pyspark.sql import Column

from twinlog.pipelines.converters import batch_codec
from twinlog.pipelines.converters.avro import expect, with_heads, with_schema
from twinlog.pipelines.converters.protobuf_files import file_of, message_at
from twinlog.pipelines.converters.protobuf_schemas import DEFAULT_NAME, connect_schema, proto_text
from twinlog.pipelines.converters.protobuf_values import References, reader, writer
from twinlog.pipelines.converters.registry_client import RegistryClient
from twinlog.pipelines.converters.registry_settings import RegistrySettings, subject
from twinlog.pipelines.converters.wire_format import head, indexes_at, split, written_indexes
from twinlog.pipelines.expressions import with_defaults
from twinlog.pipelines.records import Decoded, Encoded, PlanRefused, Shape, Side
from twinlog.pipelines.schemas import Schema
from twinlog.pipelines.settings import Setting, read_settings, setting

PROTOBUF: Final = "PROTOBUF"


@setting
class ProtobufSettings(RegistrySettings):
    """Keys of ProtobufConverter."""

    scale: int = Setting("decimal.scale", "digits behind the point of decimals that are read", 0, at_least=0)


@dataclass(frozen=True)
class MessageOf:
    """A message of a Protobuf file: all that a worker needs."""

    text: str
    references: References
    indexes: tuple[int, ...]


class ProtobufConverter:
    """Protobuf with a schema registry."""

    also: ClassVar = ("io.confluent.connect.protobuf.ProtobufConverter",)
    settings: ClassVar = ProtobufSettings
    carries_schemas = True

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(ProtobufSettings, config)
        self.registry = RegistryClient(self.s)

    def tell(self, data: bytes) -> tuple[Hashable, bytes]:
        schema_id, rest = split(data)
        indexes, _ = indexes_at(rest)
        return (schema_id, *indexes), rest

    def shape(self, schema: Hashable) -> Shape:
        if not isinstance(schema, tuple):
            return Shape(Schema("bytes", optional=True))  # only records without a value are there
        registered = expect(self.registry.schema(schema[0]), PROTOBUF)
        message = message_at(file_of(registered.text, registered.references), schema[1:])
        return Shape(
            connect_schema(message, self.s.scale), wire=MessageOf(registered.text, registered.references, schema[1:])
        )

    def decode(self, column: Column, shape: Shape) -> Decoded:
        its = shape.wire
        if not isinstance(its, MessageOf) or shape.schema is None:
            return Decoded(column)
        make = partial(reader, its.text, its.references, its.indexes, shape.schema)
        return batch_codec.decoded(column, shape.schema, make, "Protobuf")

    def encode(self, column: Column, shape: Shape) -> Encoded:  # noqa: ARG002
        raise PlanRefused("ProtobufConverter needs to know the topic")

    def encode_to(self, column: Column, shape: Shape, topic: Column, topics: Sequence[str], side: Side) -> Encoded:
        if self.s.latest:
            raise PlanRefused("use.latest.version: ProtobufConverter writes with the schema of the records only")
        schema = with_schema(shape, "ProtobufConverter")
        text = proto_text(schema)
        name = schema.name or DEFAULT_NAME
        heads = {
            topic_name: head(
                expect(self.registry.id_of(subject(self.s, side, topic_name, name), PROTOBUF, text), PROTOBUF).id
            )
            for topic_name in topics
        }
        value = column if self.s.keep_nulls else with_defaults(column, schema)
        done = batch_codec.encoded(value, partial(writer, text, schema, written_indexes((0,))), "Protobuf")
        return with_heads(done, heads, topic)
