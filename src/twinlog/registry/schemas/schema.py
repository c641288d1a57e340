"""What a schema is to the registry: its kind, its canonical text, and the three classes that implement it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

SchemaType = Literal["AVRO", "JSON", "PROTOBUF"]


class InvalidSchema(Exception):
    """The text is no schema of its kind.

    `message` is the last part of Confluent's message of error 42201. `rejected_by_check` is true where the text could
    be read and a check of its content refused it: Confluent wraps the two cases in different sentences, which
    `sentence` gives. `cause` says more than Confluent does, for logs and for our own pages.
    """

    def __init__(self, message: str, *, rejected_by_check: bool = False, cause: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.rejected_by_check = rejected_by_check
        self.cause = cause

    def sentence(self, kind: str, schema: str, references: str = "[]") -> str:
        """Confluent's whole message. `schema` and `references` are the request as Confluent prints it."""
        if self.rejected_by_check:
            return f"Invalid schema {schema}, details: {self.message}"
        inner = f"Invalid schema {schema} with refs {references}" if kind == "AVRO" else "Invalid schema"
        return f"Invalid schema of type {kind}, details: {inner} of type {kind}, details: {self.message}"


class TooComplex(Exception):
    """The work for a schema exceeds its limit: it is nested too deeply, or two schemas have too many pairs."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, order=True)
class Reference:
    """A schema's use of another subject's version, under the name by which its text calls it."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class Metadata:
    """Tags, properties and names of sensitive properties. Absent (None) and empty differ in the identity."""

    tags: Mapping[str, Sequence[str]] | None = None
    properties: Mapping[str, str] | None = None
    sensitive: Sequence[str] | None = None


@dataclass(frozen=True)
class RuleSet:
    """Rules as the client sent them: lists of JSON objects by the time at which they apply."""

    migration_rules: Sequence[Mapping[str, Any]] | None = None
    domain_rules: Sequence[Mapping[str, Any]] | None = None
    encoding_rules: Sequence[Mapping[str, Any]] | None = None
    enable_at: str | None = field(default=None)


class ParsedSchema(Protocol):
    """A schema whose text was understood."""

    @property
    def kind(self) -> SchemaType: ...

    @property
    def text(self) -> str:
        """Canonical text: what is stored, hashed and served."""
        ...

    def normalized(self) -> "ParsedSchema":
        """The same schema with everything that has no meaning put in a fixed order."""
        ...

    def formatted(self, form: str) -> str:
        """The text in another form (`resolved`, `serialized`, …). An unknown form gives the canonical text."""
        ...

    def check(self) -> None:
        """Raises InvalidSchema where the text can be read but its content has no meaning, such as an unknown type."""
        ...

    def check_field_names(self) -> None:
        """Raises InvalidSchema for a name of a field that is kept for the system (setting `validateFields`)."""
        ...

    def has_field(self, name: str) -> bool:
        """Whether the type at the top has a field `name`."""
        ...


def normalized_references(references: Sequence[Reference]) -> tuple[Reference, ...]:
    """References as a normalized schema has them: sorted, each once."""
    return tuple(sorted(set(references)))
