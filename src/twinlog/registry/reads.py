"""Questions that clients ask of the state. Pure; every answer is a JSON value."""

from collections.abc import Callable
from typing import Any

from twinlog.registry import refusals
from twinlog.registry.bodies import bare_version, by_id, full_version
from twinlog.registry.content import digest_of
from twinlog.registry.parsing import Parser
from twinlog.registry.schemas.java_order import by_units, in_table_order
from twinlog.registry.state import Entry, State
from twinlog.registry.subject_names import DEFAULT, WILDCARD, SubjectName, beside, context_of, split

# --- by id and by GUID -----------------------------------------------------------------------------------------------


def entry_of_id(state: State, schema_id: int, subject: str) -> Entry | None:
    """A version that has an id. A subject that has it not is ignored; its context counts."""
    name = split(subject)
    holders = state.holders(name.context, schema_id)
    if not name.subject or name.context != DEFAULT:
        return (holders.get(subject) if name.subject else None) or (None if name.subject else _first(holders))
    if subject in holders:
        return holders[subject]
    for context in state.context_names():
        other = SubjectName(context, subject).full
        entry = state.holders(context, schema_id).get(other)
        if entry is not None:
            return entry
    return _first(holders)


def schema_by_id(
    state: State, parser: Parser, schema_id: int, subject: str, *, form: str, qualified: bool, with_max: bool
) -> dict[str, Any]:
    """A schema by its id."""
    entry = entry_of_id(state, schema_id, subject)
    if entry is None:
        raise refusals.schema_not_found(schema_id)
    max_id = state.max_id(context_of(entry.subject)) if with_max else None
    return by_id(entry, text=formatted(state, parser, entry, form), qualified=qualified, max_id=max_id)


def text_by_id(state: State, parser: Parser, schema_id: int, subject: str, form: str) -> str:
    """The text alone of a schema."""
    entry = entry_of_id(state, schema_id, subject)
    if entry is None:
        raise refusals.schema_not_found(schema_id)
    return formatted(state, parser, entry, form) or entry.content.text


def versions_of_id(state: State, schema_id: int, subject: str, *, deleted: bool) -> list[dict[str, Any]]:
    """Subjects and versions that have an id."""
    entry = entry_of_id(state, schema_id, subject)
    if entry is None:
        raise refusals.schema_not_found()
    holders = state.holders(context_of(entry.subject), schema_id)
    entries = (holders[name] for name in in_table_order(holders))
    return [{"subject": e.subject, "version": e.version} for e in entries if deleted or not e.deleted]


def schema_by_guid(state: State, parser: Parser, guid: str, form: str) -> dict[str, Any]:
    """A schema by its identity, in whatever context it is."""
    for _, entry in _holding(state, guid):
        return by_id(entry, text=formatted(state, parser, entry, form), named=False)
    raise refusals.schema_not_found(guid)


def ids_of_guid(state: State, guid: str) -> list[dict[str, Any]]:
    """The ids of an identity, by context."""
    return [{"context": context, "id": entry.id} for context, entry in _holding(state, guid)]


def _holding(state: State, guid: str) -> list[tuple[str, Entry]]:
    digest = digest_of(guid)
    entries: list[tuple[str, Entry]] = []
    for context in [DEFAULT, *state.context_names()] if digest is not None else ():
        schema_id = state.id_of(context, digest or b"")
        entry = None if schema_id is None else _first(state.holders(context, schema_id))
        if entry is not None:
            entries.append((context, entry))
    return entries


def _first(holders: dict[str, Entry]) -> Entry | None:
    if len(holders) > 1:
        return holders[in_table_order(holders)[0]]
    return next(iter(holders.values()), None)


# --- by subject ------------------------------------------------------------------------------------------------------


def version_of(state: State, subject: str, version: int | None, *, deleted: bool) -> Entry:
    """A version, None for the latest; a subject without context is also looked for in the other contexts."""
    entry = _version(state, subject, version, deleted=deleted)
    if entry is None and context_of(subject) == DEFAULT:
        for context in state.context_names():
            entry = _version(state, SubjectName(context, subject).full, version, deleted=deleted)
            if entry is not None:
                break
    if entry is not None:
        return entry
    if not state.has_subject(subject, deleted=deleted):
        raise refusals.subject_not_found(subject)
    raise refusals.version_not_found(-1 if version is None else version)


def _version(state: State, subject: str, version: int | None, *, deleted: bool) -> Entry | None:
    entry = state.latest(subject) if version is None else state.entry(subject, version)
    return entry if entry is not None and (deleted or not entry.deleted) else None


def version_object(state: State, parser: Parser, entry: Entry, *, form: str, qualified: bool) -> dict[str, Any]:
    """A version as an answer."""
    return full_version(entry, text=formatted(state, parser, entry, form), qualified=qualified)


def version_numbers(state: State, subject: str, *, deleted: bool, deleted_only: bool, negative: bool) -> list[int]:
    """Versions of a subject, ascending; with `negative` deleted ones have a minus."""
    if not state.has_subject(subject, deleted=deleted or deleted_only):
        raise refusals.subject_not_found(subject)
    entries = state.versions(subject, deleted=deleted or deleted_only or negative)
    if deleted_only:
        entries = [entry for entry in entries if entry.deleted]
    return [-entry.version if negative and entry.deleted else entry.version for entry in entries]


def referenced_by(state: State, entry: Entry) -> list[int]:
    """Ids of the schemas that refer to a version."""
    return sorted({user.id for user in state.referrers(entry.subject, entry.version)})


def with_metadata(
    state: State, parser: Parser, subject: str, pairs: dict[str, str], *, deleted: bool, form: str
) -> dict[str, Any]:
    """The newest version whose metadata has all these properties."""
    for entry in state.versions(subject, deleted=deleted)[::-1]:
        metadata = entry.content.metadata
        if metadata is not None and pairs.items() <= (metadata.properties or {}).items():
            return full_version(entry, text=formatted(state, parser, entry, form))
    if not state.has_subject(subject, deleted=deleted):
        raise refusals.subject_not_found(subject)
    raise refusals.schema_not_found()


def formatted(state: State, parser: Parser, entry: Entry, form: str) -> str | None:
    """The text in the form that was asked for; None for the canonical text."""
    return parser.of_entry(state, entry).formatted(form) if form.strip() else None


# --- lists -----------------------------------------------------------------------------------------------------------


def subject_names(state: State, prefix: str, *, deleted: bool, deleted_only: bool) -> list[str]:
    """Subjects that begin with a prefix, in order."""
    fits = _fitting(prefix)
    names = []
    for name, versions in state.subjects.items():
        if not fits(name):
            continue
        is_deleted = all(entry.deleted for entry in versions.values())
        if (deleted_only and is_deleted) or (not deleted_only and (deleted or not is_deleted)):
            names.append(name)
    return sorted(names, key=by_units)


def schemas(
    state: State, prefix: str, *, deleted: bool, latest_only: bool, aliases: bool, rule_type: str | None = None
) -> list[dict[str, Any]]:
    """Versions of all subjects that fit, by subject and version."""
    fits = _fitting(prefix)
    other_names = _aliases(state, fits) if aliases else {}
    versions: list[dict[str, Any]] = []
    for name in sorted((name for name in state.subjects if fits(name) or name in other_names), key=by_units):
        entries = state.versions(name, deleted=deleted)
        if latest_only:
            entries = entries[-1:]
        versions += [
            bare_version(entry, aliases=other_names.get(name))
            for entry in entries
            if rule_type is None or _has_rule(entry, rule_type)
        ]
    return versions


def _has_rule(entry: Entry, kind: str) -> bool:
    rules = entry.content.rule_set
    listed = (rules.migration_rules, rules.domain_rules, rules.encoding_rules) if rules is not None else ()
    return any(rule.get("type") == kind for part in listed for rule in part or ())


def _aliases(state: State, fits: Callable[[str], bool]) -> dict[str, list[str]]:
    """The other names of subjects, as far as they fit."""
    aliases: dict[str, list[str]] = {}
    for subject, config in state.configs.items():
        if subject is not None and config.get("alias") and fits(subject):
            aliases.setdefault(beside(subject, config["alias"]), []).append(subject)
    return aliases


def _fitting(prefix: str) -> Callable[[str], bool]:
    prefix = prefix.removeprefix(f":{DEFAULT}:")
    if prefix == WILDCARD:
        return lambda _name: True
    if prefix.startswith(WILDCARD):
        rest = prefix[len(WILDCARD) :]
        return lambda name: split(name).subject.startswith(rest)
    if prefix:
        return lambda name: name.startswith(prefix)
    return lambda name: context_of(name) == DEFAULT
