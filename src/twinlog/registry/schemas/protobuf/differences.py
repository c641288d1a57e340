"""The names of differences that break compatibility, and Confluent's sentences for them."""

from dataclasses import dataclass

_SENTENCES = {
    "PACKAGE_CHANGED": "The package at '{path}' in the %s schema does not match the package in the %s schema",
    "MESSAGE_REMOVED": "The %s schema is missing a MESSAGE type at path '{path}' in the %s schema",
    "FIELD_KIND_CHANGED": "The type of a field at path '{path}' in the %s schema does not match the %s schema",
    "FIELD_SCALAR_KIND_CHANGED": (
        "The kind of a SCALAR field at path '{path}' in the %s schema does not match its kind in the %s schema"
    ),
    "FIELD_NAMED_TYPE_CHANGED": (
        "The type of a MESSAGE field at path '{path}' in the %s schema does not match its type in the %s schema"
    ),
    "FIELD_NUMERIC_LABEL_CHANGED": (
        "The label for a NUMERIC field at path '{path}' in the %s schema does not match its label in the %s schema"
    ),
    "REQUIRED_FIELD_ADDED": "A required field  at path '{path}' in the %s schema is missing in the %s schema",
    "REQUIRED_FIELD_REMOVED": "The %s schema is missing a required field at path: '{path}' in the %s schema",
    "ONEOF_FIELD_REMOVED": "The %s schema is missing a oneof field at path '{path}' in the %s schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": (
        "Multiple fields in the oneof at path '{path}' in the %s schema are outside a oneof in the %s schema"
    ),
    "FIELD_MOVED_TO_EXISTING_ONEOF": (
        "A field in the oneof at path '{path}' in the %s schema is outside an existing oneof in the %s schema"
    ),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason why records of the old schema cannot be read. `path` is names of messages, then a oneof or number."""

    kind: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        """Confluent's text, with two gaps for the words new and old."""
        description = _SENTENCES[self.kind].replace("{path}", "#/" + "/".join(self.path))
        return f'{{errorType:"{self.kind}", description:"{description}"}}'
