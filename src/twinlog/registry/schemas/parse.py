"""From the text of a request or record to a parsed schema."""

from collections.abc import Mapping

from twinlog.registry.schemas.avro.schema import parse_avro
from twinlog.registry.schemas.schema import InvalidSchema, ParsedSchema


def parse(kind: str, text: str, resolved: Mapping[str, str] | None = None, *, new: bool = False) -> ParsedSchema:
    """The schema, or InvalidSchema with Confluent's reason.

    `resolved` maps the name of each reference to the text of the referenced schema. It also has the references of
    those, in the order of their dependencies. `new` adds the checks of Confluent 8.2 for schemas that are registered
    for the first time. TooComplex is raised for a text beyond the limits of work.
    """
    references = resolved or {}
    if kind == "AVRO":
        return parse_avro(text, references, new=new)
    raise InvalidSchema(f"Invalid schema type {kind}")
