"""A topic with every defect: each is named, and what the repair writes survives compaction and a restart."""

from __future__ import annotations

from twinlog.registry.content import Content
from twinlog.registry.records import (
    NOOP_RECORD,
    Record,
    SchemaValue,
    config_record,
    delete_subject_record,
    schema_record,
)
from twinlog.registry.repair import Line, defects
from twinlog.registry.schemas.schema import Reference
from twinlog.registry.state import State

OLD_KEY = b'{"subject":"a","version":1,"magic":1,"keytype":"SCHEMA"}'


def value(subject: str, version: int, number: int, text: str, *references: Reference) -> Record:
    content = Content("AVRO", text, list(references), None, None)
    return schema_record(SchemaValue(subject, version, number, content, deleted=False))


LOG = [
    NOOP_RECORD,
    Record(OLD_KEY, value("a", 1, 1, '"int"').value),
    value("b", 1, 2, '"string"'),
    Record(b"no json", b"{}"),
    value("c", 1, 2, '"long"'),  # one id, two schemas
    value("d", 1, 3, '"float"', Reference("n", "nowhere", 7)),
    delete_subject_record("gone", 4),
    config_record("b", {"compatibilityLevel": "NONE"}),
]


def lines(log: list[Record]) -> list[Line]:
    return [Line(offset, *record) for offset, record in enumerate(log)]


def replayed(log: list[Record]) -> State:
    state = State()
    for offset, record in enumerate(log):
        state.apply(record.key, record.value, offset, 0)
    return state


def compacted(log: list[Record]) -> list[Record]:
    newest = {record.key: number for number, record in enumerate(log)}
    kept = [record for number, record in enumerate(log) if newest[record.key] == number]
    return [record for record in kept if record.value is not None]


def facts(state: State) -> object:
    entries = {(s, e.version, e.id, e.content.text) for s, found in state.subjects.items() for e in found.values()}
    return entries, state.configs, state.deletions - {"gone"}


def test_every_defect_is_named() -> None:
    told = "\n".join(one.what for one in defects(lines(LOG)))
    assert "older forms of its key" in told
    assert "not JSON" in told
    assert "id 2 belongs to another schema" in told
    assert "gone: marked as deleted" in told
    assert "refers to nowhere version 7" in told


def test_a_sound_topic_has_none() -> None:
    assert defects(lines([NOOP_RECORD, value("b", 1, 2, '"string"'), LOG[-1]])) == []


def test_a_repaired_topic_holds_the_same_after_compaction_and_needs_no_second_repair() -> None:
    before = replayed(LOG)
    mended = [*LOG, *(record for one in defects(lines(LOG)) for record in one.records)]
    after = compacted(mended)
    assert facts(replayed(after)) == facts(before)
    assert OLD_KEY not in {record.key for record in after}
    assert all(not one.records for one in defects(lines(after)))
