"""Finding the version of a subject that a client's schema is: by identity, then by what clients may leave out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from twinlog.registry.content import (
    VERSION_PROPERTY,
    Content,
    merged_metadata,
    metadata_of,
    with_version,
    without_version,
)
from twinlog.registry.parsing import Canonical, How, Parser, how_to_read
from twinlog.registry.refusals import Refusal
from twinlog.registry.requests import SchemaRequest
from twinlog.registry.rule_sets import merged_rules, rule_set_of
from twinlog.registry.rules import Rules
from twinlog.registry.schemas.avro.equality import is_equal
from twinlog.registry.schemas.schema import Metadata
from twinlog.registry.scopes import config_in_scope
from twinlog.registry.state import Entry, State
from twinlog.registry.subject_names import DEFAULT, SubjectName, context_of


@dataclass(frozen=True, slots=True)
class Hit:
    """A version, and whether it has exactly the content that was asked for."""

    entry: Entry
    exact: bool


def find(
    state: State, parser: Parser, request: SchemaRequest, how: How, *, deleted: bool, latest_only: bool = False
) -> Hit | None:
    """The version of the request's subject. Raises Refusal for a schema that is none."""
    if request.is_blank:
        return None
    wanted = parser.of_request(state, request, how)
    return find_canonical(state, parser, request.subject, wanted, deleted=deleted, latest_only=latest_only)


def find_canonical(
    state: State, parser: Parser, subject: str, wanted: Canonical, *, deleted: bool, latest_only: bool = False
) -> Hit | None:
    """The version of a subject that a parsed schema is."""
    if not latest_only:
        known = by_identity(state, subject, wanted.content, deleted=deleted)
        if known is not None:
            return Hit(known, exact=True)
        candidates = state.versions(subject, deleted=deleted)[::-1]
    else:
        newest = state.latest(subject)
        candidates = [] if newest is None else [newest]
    for entry in candidates:
        if is_same(state, parser, wanted, entry):
            return Hit(entry, exact=False)
    return None


def by_identity(state: State, subject: str, content: Content, *, deleted: bool) -> Entry | None:
    """The version of a subject with exactly this content."""
    schema_id = state.id_of(context_of(subject), content.digest)
    entry = None if schema_id is None else state.holders(context_of(subject), schema_id).get(subject)
    if entry is None or entry.content.digest != content.digest or (entry.deleted and not deleted):
        return None
    return entry


def is_same(state: State, parser: Parser, wanted: Canonical, entry: Entry) -> bool:
    """Whether a schema means a version although it is written otherwise.

    A client may write out what a version refers to, and may leave out the property that holds the version.
    """
    old = entry.content
    if wanted.content.kind != old.kind or wanted.content.rule_set != old.rule_set:
        return False
    if not _same_metadata(wanted.content.metadata, old.metadata, entry.version):
        return False
    if wanted.content.references == old.references:
        return wanted.content.text == old.text or (old.kind == "AVRO" and is_equal(wanted.content.text, old.text))
    if wanted.content.references or not old.references:
        return False
    if wanted.content.text == old.text:
        return True
    try:
        stored = parser.of_entry(state, entry)
    except Refusal:
        return False
    return wanted.schema.formatted("resolved") == stored.formatted("resolved")


def _same_metadata(new: Metadata | None, old: Metadata | None, version: int) -> bool:
    mine = (new.properties or {}).get(VERSION_PROPERTY) if new is not None else None
    other = (old.properties or {}).get(VERSION_PROPERTY) if old is not None else None
    if mine is None and other is not None:
        return _plain(new) == _plain(without_version(old))
    if mine is not None and other is None:
        return mine == str(version) and _plain(without_version(new)) == _plain(old)
    return new == old


def _plain(metadata: Metadata | None) -> tuple[object, object, object]:
    if metadata is None:
        return {}, {}, ()
    return dict(metadata.tags or {}), dict(metadata.properties or {}), tuple(metadata.sensitive or ())


def inherited(
    config: Mapping[str, Any], request: SchemaRequest, previous: Entry | None, new_version: int | None
) -> SchemaRequest:
    """The request with the metadata and rules that the settings and the version before give it."""
    before = None if previous is None else previous.content
    metadata = request.metadata if request.metadata is not None else (before.metadata if before else None)
    metadata = merged_metadata(metadata_of(config.get("defaultMetadata")), metadata)
    metadata = merged_metadata(metadata, metadata_of(config.get("overrideMetadata")))
    rules = request.rule_set if request.rule_set is not None else (before.rule_set if before else None)
    rules = merged_rules(
        merged_rules(rule_set_of(config.get("defaultRuleSet")), rules), rule_set_of(config.get("overrideRuleSet"))
    )
    has_version = metadata is not None and VERSION_PROPERTY in (metadata.properties or {})
    if new_version is not None and (request.version != 0 or has_version):
        metadata = with_version(metadata, new_version)
    if metadata is None and rules is None:
        return request
    return request.with_parts(metadata, rules)


def look_up(
    state: State, parser: Parser, request: SchemaRequest, rules: Rules, *, normalize: bool, deleted: bool
) -> Hit | None:
    """Answers the lookup of a client: in the subject, then in subjects of that name in other contexts."""
    hit = _in_subject(state, parser, request, rules, normalize=normalize, deleted=deleted)
    if hit is not None or context_of(request.subject) != DEFAULT:
        return hit
    for context in state.context_names():
        other = replace(request, subject=SubjectName(context, request.subject).full)
        if other.subject not in state.subjects:
            continue
        try:
            hit = _in_subject(state, parser, other, rules, normalize=normalize, deleted=deleted)
        except Refusal:
            continue
        if hit is not None:
            return hit
    return None


def _in_subject(
    state: State, parser: Parser, request: SchemaRequest, rules: Rules, *, normalize: bool, deleted: bool
) -> Hit | None:
    how = how_to_read(state, request, rules, normalize=normalize, new=False)
    hit = find(state, parser, request, how, deleted=deleted)
    if hit is not None:
        return hit
    previous = state.latest(request.subject)
    if previous is None:
        return None
    config = config_in_scope(state, request.subject, rules.default_level)
    fuller = inherited(config, request, previous, None)
    return None if fuller == request else find(state, parser, fuller, how, deleted=deleted)
