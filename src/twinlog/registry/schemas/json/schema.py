"""A JSON Schema of the registry: the value of its text, and what it means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from twinlog.registry.schemas.budget import Budget, bounded_depth
from twinlog.registry.schemas.json.compatibility import differences
from twinlog.registry.schemas.json.differences import LENIENT
from twinlog.registry.schemas.json.drafts import DraftReader
from twinlog.registry.schemas.json.keywords import refuse
from twinlog.registry.schemas.json.model import About, Anything, Nothing, Object, Schema
from twinlog.registry.schemas.json.modern import ModernReader
from twinlog.registry.schemas.json.text import print_text, read_text, sorted_keys
from twinlog.registry.schemas.json.uris import resolve
from twinlog.registry.schemas.schema import InvalidSchema

_DRAFTS = {
    **dict.fromkeys(("json-schema.org/draft-04/schema", "json-schema.org/schema"), 4),
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    **dict.fromkeys(("json-schema.org/draft/2019-09/schema", "json-schema.org/draft/2020-12/schema"), 2020),
}
_KEPT_FOR_THE_SYSTEM = "$$"


@dataclass(frozen=True)
class JsonSchema:
    """`value` is the JSON of the text, `references` maps the names of references to their texts."""

    value: Any
    references: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["JSON"] = "JSON"

    @cached_property
    def text(self) -> str:
        with bounded_depth():
            return print_text(self.value)

    def normalized(self) -> "JsonSchema":
        with bounded_depth():
            return JsonSchema(sorted_keys(self.value), self.references)

    def formatted(self, form: str) -> str:  # noqa: ARG002  JSON Schema has no other forms
        return self.text

    @cached_property
    def meaning(self) -> Schema:
        """Raises InvalidSchema where the content is not valid."""
        with bounded_depth():
            return _meaning(self.value, self.references)

    def check(self) -> None:
        _ = self.meaning

    def check_field_names(self) -> None:
        meaning = self.meaning
        if isinstance(meaning, Object) and any(name.startswith(_KEPT_FOR_THE_SYSTEM) for name in meaning.properties):
            raise InvalidSchema("#: Field names cannot start with $$ prefix", rejected_by_check=True)

    def has_field(self, name: str) -> bool:
        properties = self.value.get("properties") if isinstance(self.value, dict) else None
        return isinstance(properties, dict) and name in properties

    def cannot_read(self, writer: "JsonSchema", policy: str) -> list[str]:
        """Why this schema refuses values of `writer`; each reason has two gaps for new and old."""
        with bounded_depth():
            all_differences = differences(writer.meaning, self.meaning, Budget())
        allowed = LENIENT if policy == "LENIENT" else frozenset[str]()
        return [str(difference) for difference in all_differences if difference.kind not in allowed]


def parse_json(text: str, resolved: Mapping[str, str]) -> JsonSchema:
    """The schema of `text`. Its content is not checked yet."""
    with bounded_depth():
        return JsonSchema(read_text(text), resolved)


def _meaning(value: Any, references: Mapping[str, str]) -> Schema:
    if isinstance(value, bool):
        about = About(source=value)
        return Anything(about) if value else Nothing(about)
    if value is None:
        refuse("null is no schema")
    if not isinstance(value, dict):
        return Anything(About())  # Confluent takes a list, a text or a number for a schema without keywords
    draft = _draft(value)
    texts = {name: read_text(text) for name, text in references.items()}
    if draft > 7:
        return ModernReader(texts).read(value)
    own = value.get("id" if draft == 4 else "$id")
    base = resolve(None, own) if isinstance(own, str) else None
    return DraftReader(draft, {resolve(base, name): read for name, read in texts.items()}).read(value)


def _draft(value: dict[str, Any]) -> int:
    """Draft 7 unless `$schema` names another one."""
    if "$schema" not in value:
        return 7
    named = value["$schema"]
    if not isinstance(named, str):
        refuse("$schema is no text")
    scheme, _, address = named.partition("://")
    if scheme not in {"http", "https"}:
        return 7
    exact = _DRAFTS.get(address.removesuffix("#"))
    if exact is not None:
        return exact
    older = [draft for known, draft in _DRAFTS.items() if draft <= 7 and address.startswith(known)]
    return older[0] if older else 7
