"""The JSON objects of answers, with their fields in Confluent's order. Pure."""

from typing import Any

from twinlog.registry.content import Content, metadata_json
from twinlog.registry.records import reference_json
from twinlog.registry.rule_sets import rule_set_json
from twinlog.registry.schemas.schema import Reference
from twinlog.registry.state import Entry
from twinlog.registry.subject_names import DEFAULT, beside, context_of


def _content(
    content: Content, text: str | None, references: tuple[Reference, ...] | None = None, *, text_first: bool = False
) -> dict[str, Any]:
    body: dict[str, Any] = {"guid": content.guid, "schemaType": content.kind}
    if text_first:
        body["schema"] = content.text if text is None else text
    used = content.references if references is None else references
    if used:
        body["references"] = [reference_json(reference) for reference in used]
    if content.metadata is not None:
        body["metadata"] = metadata_json(content.metadata)
    if content.rule_set is not None:
        body["ruleSet"] = rule_set_json(content.rule_set)
    if not text_first:
        body["schema"] = content.text if text is None else text
    return body


def full_version(
    entry: Entry, *, text: str | None = None, qualified: bool = False, aliases: list[str] | None = None
) -> dict[str, Any]:
    """A version with its time and whether it is deleted."""
    return {
        **bare_version(entry, text=text, qualified=qualified, aliases=aliases),
        "ts": entry.ts,
        "deleted": entry.deleted,
    }


def bare_version(
    entry: Entry, *, text: str | None = None, qualified: bool = False, aliases: list[str] | None = None
) -> dict[str, Any]:
    """A version without its time."""
    references = _qualified(entry) if qualified else None
    body = {
        "subject": entry.subject,
        "version": entry.version,
        "id": entry.id,
        **_content(entry.content, text, references),
    }
    return body if aliases is None else {**body, "aliases": aliases}


def by_id(
    entry: Entry, *, text: str | None = None, qualified: bool = False, max_id: int | None = None, named: bool = True
) -> dict[str, Any]:
    """A schema without its id: the client has asked with that."""
    body: dict[str, Any] = {"subject": entry.subject, "version": entry.version} if named else {}
    body |= _content(entry.content, text, _qualified(entry) if qualified else None, text_first=True)
    if max_id is not None:
        body["maxId"] = max_id
    return {**body, "ts": entry.ts, "deleted": entry.deleted}


def registered(
    schema_id: int, version: int, content: Content, *, text: str | None = None, of: Entry | None = None
) -> dict[str, Any]:
    """The answer to a registration."""
    body = {"id": schema_id, "version": version, **_content(content, text)}
    return body if of is None else {**body, "ts": of.ts, "deleted": of.deleted}


def _qualified(entry: Entry) -> tuple[Reference, ...] | None:
    """References with the context of their subject written out; for subjects outside of the default context."""
    if context_of(entry.subject) == DEFAULT:
        return None
    return tuple(
        Reference(reference.name, beside(entry.subject, reference.subject), reference.version)
        for reference in entry.content.references
    )
