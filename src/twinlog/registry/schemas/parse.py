"""From the text of a request or record to a parsed schema."""

from collections.abc import Mapping

from twinlog.registry.schemas.avro.schema import parse_avro
from twinlog.registry.schemas.json.schema import parse_json
from twinlog.registry.schemas.protobuf.schema import parse_protobuf
from twinlog.registry.schemas.schema import InvalidSchema, ParsedSchema


def parse(
    kind: str, text: str, resolved: Mapping[str, str] | None = None, *, new: bool = False, checked: bool = True
) -> ParsedSchema:
    """The schema, or InvalidSchema with Confluent's reason.

    `resolved` maps the name of each reference to the text of the referenced schema. It also has the references of
    those, in the order of their dependencies. `new` adds the checks of Confluent 8.2 for schemas that are registered
    for the first time. `checked` is false for schemas in mode IMPORT and for stored ones: their content is not checked.
    TooComplex is raised for a text beyond the limits of work.
    """
    schema = _read(kind, text, resolved or {}, new=new)
    if checked:
        schema.check()
    return schema


def _read(kind: str, text: str, resolved: Mapping[str, str], *, new: bool) -> ParsedSchema:
    if kind == "AVRO":
        return parse_avro(text, resolved, new=new)
    if kind == "JSON":
        return parse_json(text, resolved)
    if kind == "PROTOBUF":
        return parse_protobuf(text, resolved)
    raise InvalidSchema(f"Invalid schema type {kind}")
