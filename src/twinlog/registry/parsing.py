"""From the text of a request or of a stored version to a parsed schema, with its references; kept in a bounded cache.

Runs wherever it is called; `parse` may take long for large texts, so the caller sends those to a worker (`work.py`).
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from twinlog.registry.content import Content
from twinlog.registry.refusals import Refusal, invalid_schema
from twinlog.registry.requests import SchemaRequest, printed_references
from twinlog.registry.rules import Rules
from twinlog.registry.schemas.parse import parse
from twinlog.registry.schemas.schema import (
    InvalidSchema,
    ParsedSchema,
    Reference,
    TooComplex,
    normalized_references,
)
from twinlog.registry.scopes import IMPORTING, config_in_scope, mode_in_scope
from twinlog.registry.state import Entry, State
from twinlog.registry.subject_names import beside

KINDS: Final = ("JSON", "PROTOBUF", "AVRO")
_Key = tuple[str, str, tuple[tuple[str, str], ...], bool, bool]


class How(NamedTuple):
    """How a schema is read.

    Versions that a `new` schema refers to must not be deleted. `strict` checks names and defaults of Avro. `checked` is
    false in mode IMPORT, where content is taken as it is. `field_names` refuses names of fields that are kept for the
    system.
    """

    normalize: bool = False
    new: bool = False
    strict: bool = False
    checked: bool = True
    field_names: bool = False


def how_to_read(state: State, request: SchemaRequest, rules: Rules, *, normalize: bool, new: bool = True) -> How:
    """What the settings and the mode of the subject demand. `new` is false where nothing is to be written."""
    config = config_in_scope(state, request.subject, rules.default_level)
    if mode_in_scope(state, request.subject) in IMPORTING:
        return How(normalize, checked=False)
    fields = bool(config.get("validateFields", rules.validate_fields))
    is_new = new and request.id < 0 and bool(config.get("validateNames", rules.validate_new))
    # Confluent 8.1 checks names and defaults of what it normalizes; with the setting of 8.2 always.
    strict = is_new and (normalize or bool(config.get("validateNewSchemas")))
    return How(normalize, is_new, strict, field_names=fields)


class Parser:
    """Parses schemas, and keeps the last results."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._known: OrderedDict[_Key, ParsedSchema] = OrderedDict()

    def parsed(
        self, kind: str, text: str, resolved: Mapping[str, str], *, new: bool = False, checked: bool = False
    ) -> ParsedSchema:
        """Raises InvalidSchema or TooComplex."""
        key = (kind, text, tuple(resolved.items()), new, checked)
        schema = self.remembered(key)
        if schema is None:
            schema = parse(kind, text, resolved, new=new, checked=checked)
            self.remember(key, schema)
        return schema

    def remembered(self, key: _Key) -> ParsedSchema | None:
        schema = self._known.get(key)
        if schema is not None:
            self._known.move_to_end(key)
        return schema

    def remember(self, key: _Key, schema: ParsedSchema) -> None:
        self._known[key] = schema
        if len(self._known) > self._most:
            self._known.popitem(last=False)

    def of_request(self, state: State, request: SchemaRequest, how: "How") -> "Canonical":
        """The canonical form of what a client sent. Raises Refusal 42201."""
        kind = "AVRO" if request.kind is None else request.kind
        if kind not in KINDS:
            raise invalid_schema(f"Invalid schema type {kind}")
        references = request.references
        try:
            references, resolved = resolve(state, request.subject, references, live=how.new)
            request = replace(request, references=references)  # a message names the version that `-1` stood for
            schema = self.parsed(kind, request.text or "", resolved, new=how.strict, checked=how.checked)
            if how.field_names:
                schema.check_field_names()
            if how.normalize:
                schema, references = schema.normalized(), normalized_references(references)
            text = schema.text
        except (InvalidSchema, TooComplex) as wrong:
            raise _refused(request, wrong) from None
        return Canonical(schema, Content(kind, text, references, request.metadata, request.rule_set))

    def of_entry(self, state: State, entry: Entry) -> ParsedSchema:
        """A stored version. Raises Refusal 42201 where its references are gone or its text cannot be read."""
        return self.of_content(state, entry.subject, entry.content)

    def of_content(self, state: State, subject: str, content: Content) -> ParsedSchema:
        try:
            _, resolved = resolve(state, subject, content.references, live=False)
            return self.parsed(content.kind, content.text, resolved)
        except (InvalidSchema, TooComplex) as wrong:
            request = SchemaRequest(subject, content.text, content.kind, content.references, content.metadata)
            raise _refused(request, wrong) from None


class Canonical:
    """A parsed schema and the content that is stored of it."""

    __slots__ = ("content", "schema")

    def __init__(self, schema: ParsedSchema, content: Content) -> None:
        self.schema = schema
        self.content = content


def resolve(
    state: State, subject: str, references: Sequence[Reference], *, live: bool
) -> tuple[tuple[Reference, ...], dict[str, str]]:
    """References with `-1` replaced by the latest version, and the texts by name, those they need first."""
    if not references:
        return (), {}
    resolver = _Resolver(state, live, {}, set())
    return tuple(resolver.resolve(subject, references)), resolver.texts


@dataclass
class _Resolver:
    state: State
    live: bool
    texts: dict[str, str]
    visited: set[str]

    def resolve(self, subject: str, references: Sequence[Reference]) -> list[Reference]:
        resolved: list[Reference] = []
        for reference in references:
            target = beside(subject, reference.subject)
            latest = reference.version == -1
            entry = self.state.latest(target) if latest else self.state.entry(target, reference.version)
            if entry is None or (self.live and entry.deleted):
                raise InvalidSchema(f'No schema reference found for subject "{target}" and version {reference.version}')
            resolved.append(Reference(reference.name, reference.subject, entry.version) if latest else reference)
            if reference.name in self.visited:
                continue
            self.visited.add(reference.name)
            if reference.name not in self.texts:
                self.resolve(entry.subject, entry.content.references)
                self.texts[reference.name] = entry.content.text
        return resolved


def _refused(request: SchemaRequest, wrong: InvalidSchema | TooComplex) -> Refusal:
    kind = request.kind or "AVRO"
    checked = isinstance(wrong, InvalidSchema) and wrong.rejected_by_check
    said = wrong if isinstance(wrong, InvalidSchema) else InvalidSchema(wrong.message)
    printed, references = request.printed(bare=not checked), printed_references(request.references)
    return invalid_schema(said.sentence(kind, printed, references))
