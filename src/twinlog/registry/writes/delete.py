"""Deleting versions, subjects and contexts. A soft delete keeps the schema readable by its id, a hard one does not."""

from dataclasses import dataclass

from twinlog.registry import refusals
from twinlog.registry.records import (
    CONFIG,
    CONTEXT,
    DELETE_SUBJECT,
    MODE,
    SCHEMA,
    LogicalKey,
    Record,
    SchemaValue,
    config_record,
    delete_subject_record,
    schema_record,
)
from twinlog.registry.scopes import READ_ONLY, mode_in_scope
from twinlog.registry.state import MARK, MARKS_SUBJECT, Entry, State
from twinlog.registry.subject_names import context_of, split
from twinlog.registry.writes.round import Plan, Round


@dataclass
class DeleteVersion:
    """One version; `version` is None for the latest."""

    subject: str
    version: int | None
    permanent: bool
    asked: str
    """The version as the client wrote it, for messages."""
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        entry = state.latest(self.subject) if self.version is None else state.entry(self.subject, self.version)
        if entry is not None and entry.deleted and not self.permanent:
            raise refusals.version_soft_deleted(self.subject, self.asked)
        if entry is None:
            if not state.has_subject(self.subject, deleted=True):
                raise refusals.subject_not_found(self.subject)
            raise refusals.version_not_found(-1 if self.version is None else self.version)
        _check_writable(state, self.subject)
        _check_unused(state, entry)
        if self.permanent and not entry.deleted:
            raise refusals.version_not_soft_deleted(self.subject, entry.version)
        if not self.permanent:
            gone = SchemaValue(self.subject, entry.version, entry.id, entry.content, deleted=True)
            return Plan([schema_record(gone)], entry.version)
        records = [*marks(state, [entry]), *_tombstones(state, entry)]
        if len(state.subjects[self.subject]) == 1:
            records += _settings_tombstones(state, self.subject)
        return Plan(records, entry.version)


@dataclass
class DeleteSubject:
    """All versions of a subject."""

    subject: str
    permanent: bool
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        if not state.has_subject(self.subject, deleted=True):
            raise refusals.subject_not_found(self.subject)
        if not self.permanent and not state.has_subject(self.subject):
            raise refusals.subject_soft_deleted(self.subject)
        _check_writable(state, self.subject)
        entries = state.versions(self.subject, deleted=self.permanent)
        for entry in entries:
            _check_unused(state, entry)
            if self.permanent and not entry.deleted:
                raise refusals.subject_not_soft_deleted(self.subject)
        answer = [entry.version for entry in entries]
        if not self.permanent:
            return Plan([delete_subject_record(self.subject, max(answer, default=0))], answer)
        records = marks(state, entries)
        for entry in entries:
            records += _tombstones(state, entry)
        return Plan(records + _settings_tombstones(state, self.subject), answer)


@dataclass
class DeleteContext:
    """The record of an empty context. `scope` is `:.name:`."""

    scope: str
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        if any(context_of(name) == split(self.scope).context for name in state.subjects):
            raise refusals.context_not_empty(self.scope)
        key = LogicalKey(CONTEXT, split(self.scope).context)
        return Plan([Record(form, None) for form in state.key_forms(key)], None, status=204)


def marks(state: State, gone: list[Entry]) -> list[Record]:
    """The highest ids, noted before the records that show them are deleted for good: no id is given twice."""
    highest = dict(state.marks)
    for entry in gone:
        context = context_of(entry.subject)
        if entry.id >= state.max_id(context):
            highest[context] = state.max_id(context)
    if highest == state.marks:
        return []
    properties = {f"{MARK}{context}": str(highest[context]) for context in sorted(highest)}
    return [config_record(MARKS_SUBJECT, {"defaultMetadata": {"properties": properties}})]


def _tombstones(state: State, entry: Entry) -> list[Record]:
    return [Record(form, None) for form in state.key_forms(LogicalKey(SCHEMA, entry.subject, entry.version))]


def _settings_tombstones(state: State, subject: str) -> list[Record]:
    """A subject that is gone leaves neither mode nor settings, nor the record of its soft delete."""
    kinds = [MODE] * (subject in state.modes) + [CONFIG] * (subject in state.configs)
    kinds += [DELETE_SUBJECT] * (subject in state.deletions)
    return [Record(form, None) for kind in kinds for form in state.key_forms(LogicalKey(kind, subject))]


def _check_writable(state: State, subject: str) -> None:
    if mode_in_scope(state, subject) in READ_ONLY:
        raise refusals.not_permitted(f"Subject {subject} in context {split(subject).scope} is in read-only mode")


def _check_unused(state: State, entry: Entry) -> None:
    if state.referrers(entry.subject, entry.version):
        raise refusals.reference_exists(entry.subject, entry.version)
