"""What is wrong in a topic of schemas, and the records that repair it. Pure.

Old topics hold one key in several byte forms, which compaction does not see as one: a deleted schema comes back. Marks
of deletions stay for ever, and records that nobody can read are met at each start.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from twinlog.registry.records import (
    CONFIG,
    DELETE_SUBJECT,
    MODE,
    SCHEMA,
    BadRecord,
    LogicalKey,
    Record,
    SchemaValue,
    config_record,
    decode_key,
    encode_key,
    mode_record,
    schema_record,
)
from twinlog.registry.state import State
from twinlog.registry.subject_names import beside
from twinlog.registry.writes.round import Plan, Round


class Line(NamedTuple):
    """One record as it lies in the topic."""

    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Defect:
    """One thing that is wrong. Without records only a person can decide."""

    what: str
    records: tuple[Record, ...] = ()


def defects(lines: Iterable[Line]) -> list[Defect]:
    """Everything that is wrong with what the topic holds."""
    state, all_defects = State(), list[Defect]()
    forms: dict[LogicalKey, dict[bytes, bytes | None]] = {}
    for line in lines:
        fault = state.apply(line.key, line.value, line.offset, 0)
        if fault is not None:
            mute = line.key is not None and line.value is not None and not _is_known(line.key)
            repairs = (Record(line.key, None),) if mute and line.key is not None else ()
            all_defects.append(Defect(f"offset {line.offset}: {fault.key}: {fault.reason}", repairs))
        if line.key is not None and _is_known(line.key):
            forms.setdefault(decode_key(line.key), {})[line.key] = line.value
    for key, seen in forms.items():
        stale = [form for form, value in seen.items() if value is not None and form != encode_key(key)]
        if stale:
            told = f"{key.kind} {key.subject or ''} {key.version or ''}".rstrip()
            all_defects.append(Defect(f"{told}: {len(stale)} older forms of its key", _rewritten(state, key, stale)))
    for subject in sorted(state.deletions - state.subjects.keys()):
        marks = tuple(Record(form, None) for form in state.key_forms(LogicalKey(DELETE_SUBJECT, subject)))
        all_defects.append(Defect(f"{subject}: marked as deleted, and has no version", marks))
    all_defects += _dangling(state)
    return all_defects


def _rewritten(state: State, key: LogicalKey, stale: list[bytes]) -> tuple[Record, ...]:
    """First the old forms go, then what the key holds is written under its own form."""
    gone = tuple(Record(form, None) for form in stale)
    entry = state.entry(key.subject or "", key.version) if key.kind == SCHEMA else None
    config, mode = state.configs.get(key.subject), state.modes.get(key.subject)
    if entry is not None:
        value = SchemaValue(entry.subject, entry.version, entry.id, entry.content, deleted=entry.deleted)
        return (*gone, schema_record(value))
    if key.kind == CONFIG and config is not None:
        return (*gone, config_record(key.subject, config))
    if key.kind == MODE and mode is not None:
        return (*gone, mode_record(key.subject, mode))
    return gone


def _dangling(state: State) -> Iterable[Defect]:
    for subject, versions in sorted(state.subjects.items()):
        for entry in versions.values():
            for reference in entry.content.references:
                place = (beside(subject, reference.subject), reference.version)
                if state.entry(*place) is None and not entry.deleted:
                    yield Defect(
                        f"{subject} version {entry.version}: refers to {place[0]} version {place[1]}: not there"
                    )


def _is_known(key: bytes) -> bool:
    try:
        decode_key(key)
    except BadRecord:
        return False
    return True


@dataclass
class Repair:
    """Write what repairs a topic, unless it changed since it was looked at."""

    records: list[Record]
    revision: int
    alone: bool = True
    changed: bool = field(default=False, init=False)

    def plan(self, state: State, _current: Round) -> Plan:
        """The answer is how many records were written."""
        self.changed = state.revision != self.revision
        return Plan([] if self.changed else self.records, 0 if self.changed else len(self.records))
