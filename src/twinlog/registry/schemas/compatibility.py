"""Compatibility of two versions of a schema, in the direction that the level demands."""

from typing import Literal

from twinlog.registry.schemas.avro.schema import AvroSchema
from twinlog.registry.schemas.json.schema import JsonSchema
from twinlog.registry.schemas.protobuf.schema import ProtobufSchema
from twinlog.registry.schemas.schema import ParsedSchema

Direction = Literal["NONE", "BACKWARD", "FORWARD", "FULL"]
OTHER_KIND = "Incompatible because of different schema type"


def incompatibilities(level: str, new: ParsedSchema, old: ParsedSchema, *, policy: str = "STRICT") -> list[str]:
    """Confluent's messages; none means compatible. `level` may carry `_TRANSITIVE`: the caller walks the versions."""
    forward, backward = both_ways(level, new, old, policy=policy)
    return [*forward, *backward]


def both_ways(
    level: str, new: ParsedSchema, old: ParsedSchema, *, policy: str = "STRICT"
) -> tuple[list[str], list[str]]:
    """Why the old schema cannot read data of the new one, and why the new cannot read that of the old."""
    direction = level.removesuffix("_TRANSITIVE")
    forward: list[str] = []
    backward: list[str] = []
    if direction in {"FORWARD", "FULL"}:
        forward = [_named(reason, "old", "new") for reason in _cannot_read(old, new, policy)]
    if direction in {"BACKWARD", "FULL"}:
        backward = [_named(reason, "new", "old") for reason in _cannot_read(new, old, policy)]
    return forward, backward


def _cannot_read(reader: ParsedSchema, writer: ParsedSchema, policy: str) -> list[str]:
    if isinstance(reader, AvroSchema) and isinstance(writer, AvroSchema):
        return reader.cannot_read(writer, policy)
    if isinstance(reader, JsonSchema) and isinstance(writer, JsonSchema):
        return reader.cannot_read(writer, policy)
    if isinstance(reader, ProtobufSchema) and isinstance(writer, ProtobufSchema):
        return reader.cannot_read(writer, policy)
    return [OTHER_KIND]


def _named(reason: str, reader: str, writer: str) -> str:
    """Fills the two gaps. A text without gaps, or with a `%` of its own, stays as it is."""
    return reason.replace("%s", reader, 1).replace("%s", writer, 1)
