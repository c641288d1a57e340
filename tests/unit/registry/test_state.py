"""The state that records add up to: the same after compaction, after a restart, and whatever bytes lie in the topic."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinlog.registry.memory import MemoryStore
from twinlog.registry.parsing import Parser
from twinlog.registry.records import LogicalKey, Record, decode_key, encode_key, plain_schema_key
from twinlog.registry.refusals import Refusal
from twinlog.registry.requests import SchemaRequest
from twinlog.registry.rules import Rules
from twinlog.registry.state import State
from twinlog.registry.writes.delete import DeleteSubject, DeleteVersion
from twinlog.registry.writes.register import Register
from twinlog.registry.writes.round import Order
from twinlog.registry.writes.settings import DeleteConfig, PutConfig, PutMode

RULES = Rules(default_level="NONE")
PARSER = Parser()
subjects = st.sampled_from(["a", "b", ":.x:a"])
texts = st.sampled_from([json.dumps({"type": "fixed", "name": "F", "size": size}) for size in range(1, 6)])


def _register(subject: str, text: str) -> Order:
    return Register(SchemaRequest(subject, text), normalize=False, parser=PARSER, rules=RULES)


orders = st.one_of(
    st.builds(_register, subjects, texts),
    st.builds(_register, subjects, texts),
    st.builds(lambda s, p: DeleteSubject(s, permanent=p), subjects, st.booleans()),
    st.builds(lambda s, v, p: DeleteVersion(s, v, p, str(v)), subjects, st.integers(1, 4), st.booleans()),
    st.builds(lambda s: PutConfig(s, {"compatibilityLevel": "NONE", "normalize": True}), subjects),
    st.builds(lambda s: DeleteConfig(s, RULES), subjects),
    st.builds(lambda s, f: PutMode(s, "IMPORT", f, RULES), subjects, st.booleans()),
    st.builds(lambda s: PutMode(s, None, False, RULES), subjects),
)


def _carry_out(history: list[Order]) -> MemoryStore:
    store = MemoryStore(now_ms=lambda: 0)
    for order in history:
        try:
            asyncio.run(store.submit(order))
        except Refusal:
            continue
    return store


def _replayed(log: list[tuple[int, Record]]) -> State:
    state = State()
    for offset, record in log:
        assert state.apply(record.key, record.value, offset, 0) is None
    return state


def _compacted(log: list[tuple[int, Record]], up_to: int, tombstones_up_to: int) -> list[tuple[int, Record]]:
    """As the cleaner leaves it: of the clean part the last record of a key, and old tombstones gone."""
    last = {record.key: offset for offset, record in log if offset < up_to}
    return [
        (offset, record)
        for offset, record in log
        if offset >= up_to or (last[record.key] == offset and not (record.value is None and offset < tombstones_up_to))
    ]


def _fingerprint(state: State) -> dict[str, Any]:
    return {
        "versions": {
            (subject, number): (entry.id, entry.content.text, entry.deleted)
            for subject, versions in state.subjects.items()
            for number, entry in versions.items()
        },
        "ids": {
            (context, number): sorted((e.subject, e.version) for e in holders.values())
            for context, known in state.contexts.items()
            for number, holders in known.ids.items()
        },
        "configs": state.configs,
        "modes": state.modes,
        "contexts": state.context_names(),
        "next": {context: state.max_id(context) for context in (".", ".x")},
    }


@settings(max_examples=150, deadline=None)
@given(st.lists(orders, max_size=25), st.data())
@pytest.mark.proves("R20")
def test_compaction_and_a_restart_change_nothing(history: list[Order], data: st.DataObject) -> None:
    store = _carry_out(history)
    log = list(enumerate(store.log))
    up_to = data.draw(st.integers(0, len(log)))
    log = _compacted(log, up_to, data.draw(st.integers(0, up_to)))
    assert _fingerprint(_replayed(log)) == _fingerprint(store.state)


@settings(max_examples=150, deadline=None)
@given(st.lists(orders, min_size=1, max_size=20), st.lists(orders, min_size=1, max_size=20))
@pytest.mark.proves("R20")
def test_an_id_is_given_to_one_schema_only_even_after_hard_delete_compaction_and_restart(
    before: list[Order], after: list[Order]
) -> None:
    store = _carry_out(before)
    given_ids: dict[tuple[str, int], str] = {}
    _note(store.log, given_ids)
    compacted = _compacted(list(enumerate(store.log)), len(store.log), len(store.log))
    again = MemoryStore(_replayed(compacted), now_ms=lambda: 0)
    for order in after:
        try:
            asyncio.run(again.submit(order))
        except Refusal:
            continue
    _note(again.log, given_ids)


def _note(log: list[Record], given_ids: dict[tuple[str, int], str]) -> None:
    for record in log:
        if b'"keytype":"SCHEMA"' in record.key and record.value is not None:
            value = json.loads(record.value)
            context = ".x" if value["subject"].startswith(":.x:") else "."
            assert given_ids.setdefault((context, value["id"]), value["schema"]) == value["schema"]


_garbage = st.binary(max_size=60).filter(
    lambda data: b'"keytype"' not in data
)  # hypothesis finds real keys in the code


@given(st.lists(st.tuples(st.none() | _garbage, st.none() | st.binary(max_size=60)), max_size=8))
@pytest.mark.proves("R22")
def test_bytes_that_are_no_records_are_faults_and_change_nothing(
    garbage: list[tuple[bytes | None, bytes | None]],
) -> None:
    state = State()
    for offset, (key, value) in enumerate(garbage):
        fault = state.apply(key, value, offset, 0)
        assert fault is not None
        assert fault.offset == offset
    assert _fingerprint(state) == _fingerprint(State())


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
_fields = st.sampled_from(
    ["subject", "version", "id", "schema", "references", "metadata", "mode", "ruleSet", "deleted"]
)


@settings(max_examples=300)
@given(
    st.sampled_from(["SCHEMA", "CONFIG", "MODE", "NOOP", "DELETE_SUBJECT", "CLEAR_SUBJECT", "CONTEXT", "ASSOC"]),
    st.dictionaries(_fields | st.just("context"), _json, max_size=3),
    st.none() | st.dictionaries(_fields, _json, max_size=6),
)
@pytest.mark.proves("R22")
def test_a_record_of_odd_json_never_ends_the_reader(
    kind: str, key: dict[str, Any], value: dict[str, Any] | None
) -> None:
    state = State()
    told = None if value is None else json.dumps(value).encode()
    state.apply(json.dumps({"keytype": kind, **key}).encode(), told, 0, 0)
    assert isinstance(_fingerprint(state), dict)


def test_one_id_for_two_schemas_is_a_fault_and_the_first_one_stays() -> None:
    state = State()
    for version, text in ((1, '"int"'), (2, '"long"')):
        key = encode_key(LogicalKey("SCHEMA", "s", version))
        value = json.dumps({"subject": "s", "version": version, "id": 7, "schema": text, "deleted": False}).encode()
        fault = state.apply(key, value, version, 0)
    assert fault is not None
    assert "id 7 belongs to another schema" in fault.reason
    assert [entry.version for entry in state.versions("s")] == [1]


def test_a_key_of_older_bytes_is_removed_under_all_its_bytes() -> None:
    """A tombstone under today's bytes alone would leave the old record: after compaction the schema would come back."""
    store = MemoryStore(now_ms=lambda: 0)
    old_key = b'{"subject":"s","version":1,"magic":0,"keytype":"SCHEMA"}'
    store.append(Record(old_key, b'{"subject":"s","version":1,"id":1,"schema":"\\"int\\"","deleted":true}'))
    asyncio.run(store.submit(DeleteSubject("s", permanent=True)))
    compacted = _compacted(list(enumerate(store.log)), len(store.log), len(store.log))
    assert "s" not in _replayed(compacted).subjects
    assert _replayed(compacted).max_id(".") == 1


@given(st.text(max_size=12), st.integers(0, 2**31 - 1))
def test_the_short_way_to_read_a_key_reads_it_alike(subject: str, version: int) -> None:
    key = LogicalKey("SCHEMA", subject, version)
    assert plain_schema_key(encode_key(key)) in {None, decode_key(encode_key(key))}
    if subject.isalnum() and subject.isascii():
        assert plain_schema_key(encode_key(key)) == key
    for other in (b"", b'{"keytype":"SCHEMA","subject":"a","version":01,"magic":1}', OLD_KEY):
        assert plain_schema_key(other) is None


OLD_KEY = b'{"subject":"a","version":1,"magic":1,"keytype":"SCHEMA"}'
