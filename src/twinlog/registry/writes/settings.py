"""Changing the settings and the modes of subjects, contexts and the whole registry."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twinlog.registry import refusals
from twinlog.registry.records import (
    CONFIG,
    CONFIG_FIELDS,
    MODE,
    SCHEMA,
    LogicalKey,
    Record,
    clear_subject_record,
    config_record,
    mode_record,
)
from twinlog.registry.rules import Rules
from twinlog.registry.scopes import READ_ONLY, mode_in_scope, own_config, own_mode
from twinlog.registry.state import State
from twinlog.registry.subject_names import matches, split
from twinlog.registry.writes.delete import marks
from twinlog.registry.writes.round import Plan, Round


@dataclass
class PutConfig:
    """Fields that are not sent keep their value; fields sent as null are removed."""

    subject: str | None
    changes: Mapping[str, Any]
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        _check_writable(state, self.subject)
        # An empty alias is answered once, and not kept.
        config = {name: old for name, old in (state.configs.get(self.subject) or {}).items() if old != ""}
        for name in CONFIG_FIELDS:
            if name in self.changes:
                config[name] = self.changes[name]
        config = {name: config[name] for name in CONFIG_FIELDS if config.get(name) is not None}
        return Plan([config_record(self.subject, config)], answered_config(config))


@dataclass
class DeleteConfig:
    """Back to what the scope above says."""

    subject: str | None
    rules: Rules
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        old = own_config(state, self.subject, self.rules.default_level)
        if old is None:
            raise refusals.subject_not_found(self.subject)
        _check_writable(state, self.subject)
        forms = state.key_forms(LogicalKey(CONFIG, self.subject))
        answer = {name: old[name] for name in CONFIG_FIELDS if name in old}
        return Plan([Record(form, None) for form in forms], answer)


@dataclass
class PutMode:
    """`mode` is None to remove it."""

    subject: str | None
    mode: str | None
    force: bool
    rules: Rules
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        if not self.rules.mode_mutable:
            raise refusals.not_permitted("Mode changes are not allowed")
        records: list[Record] = []
        if self.mode == "IMPORT" and mode_in_scope(state, self.subject) != "IMPORT" and not self.force:
            records = self._cleared(state)
        if self.mode is None:
            records += [Record(form, None) for form in state.key_forms(LogicalKey(MODE, self.subject))]
        else:
            records.append(mode_record(self.subject, self.mode))
        return Plan(records, None)

    def _cleared(self, state: State) -> list[Record]:
        """An import begins without versions: live ones refuse it, deleted ones are removed for good."""
        mine = [name for name in state.subjects if matches(self.subject, name)]
        gone = [entry for name in mine for entry in state.versions(name, deleted=True)]
        if any(not entry.deleted for entry in gone):
            raise refusals.not_permitted("Cannot import since found existing subjects")
        for entry in gone:
            if state.referrers(entry.subject, entry.version):
                raise refusals.reference_exists(entry.subject, entry.version)
        records = marks(state, gone)
        for entry in gone:
            forms = state.key_forms(LogicalKey(SCHEMA, entry.subject, entry.version))
            records += [Record(form, None) for form in forms]
        return [*records, clear_subject_record(self.subject)]


@dataclass
class DeleteMode:
    """Back to the mode of the scope above; `recursive` also for all subjects of a context."""

    subject: str | None
    recursive: bool
    rules: Rules
    alone: bool = True

    def plan(self, state: State, _current: Round) -> Plan:
        old = own_mode(state, self.subject)
        if old is None and not self.recursive:
            raise refusals.subject_not_found(self.subject)
        if not self.rules.mode_mutable:
            raise refusals.not_permitted("Mode changes are not allowed")
        scopes = [self.subject]
        if self.recursive and (self.subject is None or not split(self.subject).subject):
            scope = ":.:" if self.subject is None else self.subject
            scopes += [
                name for name in state.modes if name is not None and name != self.subject and matches(scope, name)
            ]
        forms = [form for name in scopes for form in state.key_forms(LogicalKey(MODE, name))]
        return Plan([Record(form, None) for form in forms], {} if old is None else {"mode": old})


def answered_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a change names the level `compatibility`."""
    answer: dict[str, Any] = {}
    for name in CONFIG_FIELDS:
        if name in config:
            answer["compatibility" if name == "compatibilityLevel" else name] = config[name]
    return answer


def _check_writable(state: State, subject: str | None) -> None:
    if mode_in_scope(state, subject) in READ_ONLY:
        where = "" if subject is None else split(subject).scope
        raise refusals.not_permitted(
            f"Subject {'null' if subject is None else subject} in context {where} is in read-only mode"
        )
