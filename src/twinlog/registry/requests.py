"""What a client asks for when it sends a schema, and how Confluent prints such a request in its messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from twinlog.registry.schemas.schema import Metadata, Reference, RuleSet

_BLANK: Final = "".join(map(chr, range(0x21)))
"""What Java trims."""


@dataclass(frozen=True, slots=True)
class SchemaRequest:
    """A schema as it came. `version` 0 and `id` -1 mean that none was given; version -1 means the latest."""

    subject: str
    text: str | None
    kind: str | None = None
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    version: int = 0
    id: int = -1

    @property
    def is_blank(self) -> bool:
        return self.text is None or not self.text.strip(_BLANK)

    def with_parts(self, metadata: Metadata | None, rule_set: RuleSet | None) -> "SchemaRequest":
        return replace(self, metadata=metadata, rule_set=rule_set)

    def printed(self, *, bare: bool, references: str | None = None) -> str:
        """As Java prints it; `bare` leaves out version and id. `references` are printed instead of its own."""
        version, number = ("null", "null") if bare else (str(self.version), str(self.id))
        shown = references or printed_references(self.references)
        return (
            f"{{subject={self.subject},version={version},id={number},schemaType={self.kind or 'AVRO'},"
            f"references={shown},metadata={_printed_metadata(self.metadata)},"
            f"ruleSet={'null' if self.rule_set is None else 'RuleSet'},schema={self.text},schemaTags=null,ts=null,"
            "deleted=null}"
        )


@dataclass(frozen=True, slots=True)
class Options:
    """How a schema is to be treated, beside what it is."""

    normalize: bool = False
    form: str = ""
    deleted: bool = False
    pairs: tuple[tuple[str, str], ...] = field(default=())


def printed_references(references: Sequence[Reference]) -> str:
    """References as Java prints them."""
    return f"[{', '.join(map(printed_reference, references))}]"


def printed_reference(reference: Reference) -> str:
    """A reference as Java prints it."""
    return f"{{name='{reference.name}', subject='{reference.subject}', version={reference.version}}}"


def _printed_metadata(metadata: Metadata | None) -> str:
    if metadata is None:
        return "null"
    tags = _printed_map({key: f"[{', '.join(tags)}]" for key, tags in (metadata.tags or {}).items()})
    properties = _printed_map(dict(metadata.properties or {}))
    sensitive = f"[{', '.join(metadata.sensitive or ())}]"
    return f"Metadata{{tags={tags}, properties={properties}, sensitive={sensitive}}}"


def _printed_map(texts: dict[str, str]) -> str:
    return f"{{{', '.join(f'{key}={value}' for key, value in texts.items())}}}"
