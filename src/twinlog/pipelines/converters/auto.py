"""AutoConverter: recognises the format of each record by its bytes. Made on the driver.

    00 + id of a known schema   Avro, JSON Schema or Protobuf, if schema.registry.url is set
    {"schema": …, "payload": …} JSON with a schema
    other JSON                  JSON without a schema
    other text                  text
    all else                    bytes

It reads only. A source must say in which format it writes.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from pyspark.sql import Column

from twinlog.config.security.places import leads_to_urls
from twinlog.errors import RegistryRefused
from twinlog.pipelines.converters.avro import AVRO, AvroConverter
from twinlog.pipelines.converters.json_documents import JsonConverter
from twinlog.pipelines.converters.json_schema import JSON, JsonSchemaConverter
from twinlog.pipelines.converters.primitives import ByteArrayConverter, StringConverter
from twinlog.pipelines.converters.protobuf import PROTOBUF, ProtobufConverter
from twinlog.pipelines.converters.wire_format import HEAD_BYTES, SERIALIZATION, split
from twinlog.pipelines.records import ConversionFailed, Decoded, Encoded, PlanRefused, Shape
from twinlog.pipelines.settings import Setting, read_settings, setting

_WIRE: Final = "wire"


@setting
class AutoSettings:
    """Keys of AutoConverter; those of the registry's converters are passed on."""

    registry: str = Setting(
        "schema.registry.url", "addresses of the schema registry, if there is one", "", leads=leads_to_urls
    )


class AutoConverter:
    """Whatever the bytes are."""

    also: ClassVar = ("io.twinlog.AutoConverter", "auto")
    settings: ClassVar = AutoSettings
    carries_schemas = True

    def __init__(self, config: Mapping[str, str]) -> None:
        self.s = read_settings(AutoSettings, config)
        self._documents = JsonConverter({"schemas.enable": "false"})
        self._envelopes = JsonConverter({"schemas.enable": "true"})
        self._kinds: dict[str, Any] = {
            "document": self._documents, "envelope": self._envelopes,
            "text": StringConverter({}), "bytes": ByteArrayConverter({}),
        }  # fmt: skip
        self._wire: dict[str, Any] = {}
        self._ids: dict[int, str] = {}
        if self.s.registry:
            self._wire = {AVRO: AvroConverter(config), JSON: JsonSchemaConverter(config),
                          PROTOBUF: ProtobufConverter(config)}  # fmt: skip

    def tell(self, data: bytes) -> tuple[Hashable, bytes]:
        if self._wire and len(data) > HEAD_BYTES and data[0] == 0:
            schema_id, _ = split(data)
            kind = self._kind(schema_id)
            schema, rest = self._wire[kind].tell(data)
            return (_WIRE, kind, schema), rest
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return ("bytes",), data
        if text[:1] in {"{", "["}:
            try:
                parsed = json.loads(text)
            except ValueError:
                return ("text",), data
            if isinstance(parsed, dict) and parsed.keys() == {"schema", "payload"}:
                schema, rest = self._envelopes.tell(data)
                return ("envelope", schema), rest
            return ("document",), data
        return ("text",), data

    def _kind(self, schema_id: int) -> str:
        """AVRO, JSON or PROTOBUF; the registry is asked once for each id."""
        if schema_id not in self._ids:
            try:
                self._ids[schema_id] = self._wire[AVRO].registry.schema(schema_id).kind
            except RegistryRefused as error:
                raise ConversionFailed(str(error), SERIALIZATION) from error
        return self._ids[schema_id]

    def shape(self, schema: Hashable) -> Shape:
        if not isinstance(schema, tuple):
            plain: Shape = self._kinds["bytes"].shape(None)
            return replace(plain, wire=("bytes",))
        if schema[0] == _WIRE:
            shape: Shape = self._wire[str(schema[1])].shape(schema[2])
            return replace(shape, wire=(_WIRE, schema[1], shape.wire))
        inner: Shape = self._kinds[schema[0]].shape(schema[1] if len(schema) > 1 else None)
        return replace(inner, wire=schema)

    def decode(self, column: Column, shape: Shape) -> Decoded:
        its: Any = shape.wire
        if its[0] == _WIRE:
            made: Decoded = self._wire[its[1]].decode(column, replace(shape, wire=its[2]))
            return made
        plain: Decoded = self._kinds[its[0]].decode(column, shape)
        return plain

    def encode(self, column: Column, shape: Shape) -> Encoded:  # noqa: ARG002
        raise PlanRefused("AutoConverter reads only; choose the converter that shall write")
