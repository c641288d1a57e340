"""MirrorMaker 2's records, byte for byte: golden values, what readers tolerate, round trips."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.mirrormaker.records import (
    Checkpoint,
    Heartbeat,
    NotReadable,
    OffsetSync,
    SourceOffset,
    connect_offsets_topic,
)

GOLDEN = [
    (Heartbeat("A", "B", 1_700_000_000_000), "000141000142", "00000000018bcfe56800"),
    (
        Checkpoint("g1", "A.t", 3, 100, 42),
        "000267310003412e7400000003",
        "00000000000000000064000000000000002a0000",
    ),
    (OffsetSync("t", 3, 100, 42), "00017400000003", "0000000000000064000000000000002a"),
]

NAMES = st.text(max_size=60)
I32 = st.integers(0, 2**31 - 1)
I64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN, ids=lambda part: type(part).__name__)
def test_golden_bytes_are_written_and_read(record, key, value):
    assert (record.key().hex(), record.value().hex()) == (key, value)
    assert type(record).read(bytes.fromhex(key), bytes.fromhex(value)) == record


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN, ids=lambda part: type(part).__name__)
def test_bytes_behind_the_last_field_are_ignored(record, key, value):
    assert type(record).read(bytes.fromhex(key) + b"more", bytes.fromhex(value) + b"more") == record


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN, ids=lambda part: type(part).__name__)
def test_what_is_cut_short_or_absent_is_named_unreadable(record, key, value):
    whole_key, whole_value = bytes.fromhex(key), bytes.fromhex(value)
    for cut in range(len(whole_key)):
        with pytest.raises(NotReadable):
            type(record).read(whole_key[:cut], whole_value)
    for cut in range(len(whole_value)):
        with pytest.raises(NotReadable):
            type(record).read(whole_key, whole_value[:cut])
    for pair in ((None, whole_value), (whole_key, None)):
        with pytest.raises(NotReadable):
            type(record).read(*pair)


@pytest.mark.parametrize("record", [record for record, _, _ in GOLDEN[:2]], ids=lambda part: type(part).__name__)
def test_another_version_is_not_guessed_at(record):
    with pytest.raises(NotReadable, match="version 1"):
        type(record).read(record.key(), b"\x00\x01" + record.value()[2:])


def test_a_text_of_negative_length_is_unreadable():
    with pytest.raises(NotReadable):
        OffsetSync.read(b"\xff\xff" + bytes(8), bytes(16))


def test_a_text_that_is_not_utf8_is_unreadable():
    with pytest.raises(NotReadable):
        OffsetSync.read(b"\x00\x01\xff" + bytes(4), bytes(16))


def test_a_text_too_long_for_the_format_is_refused():
    assert OffsetSync("t" * 32_767, 0, 0, 0).key()
    with pytest.raises(ValueError, match="32768 bytes"):
        OffsetSync("t" * 32_768, 0, 0, 0).key()


@given(st.builds(Heartbeat, NAMES, NAMES, I64))
def test_every_heartbeat_is_read_as_it_was_written(record):
    assert Heartbeat.read(record.key(), record.value()) == record


@given(st.builds(Checkpoint, NAMES, NAMES, I32, I64, I64, NAMES))
def test_every_checkpoint_is_read_as_it_was_written(record):
    assert Checkpoint.read(record.key(), record.value()) == record


@given(st.builds(OffsetSync, NAMES, I32, I64, I64))
def test_every_offset_sync_is_read_as_it_was_written(record):
    assert OffsetSync.read(record.key(), record.value()) == record


@given(st.builds(SourceOffset, NAMES, NAMES, NAMES, I32, st.none() | st.integers(0, 2**63 - 1)))
def test_every_source_offset_is_read_as_it_was_written(record):
    assert SourceOffset.read(record.key(), record.value()) == record


@given(st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_foreign_bytes_are_read_or_named_unreadable_and_nothing_else(key, value):
    for kind in (Heartbeat, Checkpoint, OffsetSync, SourceOffset):
        try:
            found = kind.read(key, value)
        except NotReadable:
            continue
        assert found is None or isinstance(found, kind)


def test_a_source_offset_has_the_exact_key_that_connect_looks_up():
    offset = SourceOffset("MirrorSourceConnector", "A", "t", 0, 123)
    assert offset.key() == b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]'
    assert offset.value() == b'{"offset":123}'


def test_a_deleted_or_negative_source_offset_means_none():
    key = SourceOffset("c", "A", "t", 0, None).key()
    for value in (None, b'{"offset":-1}', b"{}", b'{"offset":null}'):
        found = SourceOffset.read(key, value)
        assert found is not None
        assert found.last is None


@pytest.mark.parametrize(
    "where",
    [
        {"partition": 0, "topic": "A.t", "group": "g"},
        {"sourceClusterAlias": "A", "targetClusterAlias": "B"},
        {"filename": "orders.csv"},
        ["A", "B"],
    ],
)
def test_offsets_of_other_connectors_are_passed_over(where):
    assert SourceOffset.read(json.dumps(["Other", where]).encode(), b'{"offset":0}') is None


@pytest.mark.parametrize("key", [None, b"", b"junk", b"[]", b'["one"]', b'{"a":1}', b"[1,2]"])
def test_a_key_that_is_no_offset_is_unreadable(key):
    with pytest.raises(NotReadable):
        SourceOffset.read(key, b'{"offset":0}')


def test_connect_offsets_are_kept_under_the_source_alias():
    assert connect_offsets_topic("east") == "mm2-offsets.east.internal"
