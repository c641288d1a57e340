"""What the leader tells a follower with its answer is taken in the order of the topic, and only once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.registry.content import Content
from twinlog.registry.records import Record, SchemaValue, schema_record
from twinlog.registry.store import TopicReader
from twinlog.registry.writes.round import Plan, Written
from twinlog.surface.registry.told_records import packed, unpacked
from twinlog.wire.batch import walk
from twinlog.wire.codec import encode_pairs

_RECORDS = st.lists(st.builds(Record, st.binary(max_size=9), st.none() | st.binary(max_size=9)), min_size=1, max_size=4)


def _made(number: int) -> Record:
    return schema_record(SchemaValue(f"s{number}", 1, number, Content("AVRO", '"int"'), deleted=False))


def _reader(position: int = 10) -> TopicReader:
    cluster: Any = None
    reader = TopicReader(cluster, "_schemas")
    reader.position, reader.status.loaded = position, True
    return reader


def _from_topic(reader: TopicReader, base: int, *records: Record) -> None:
    sealed = encode_pairs([(one.key, one.value) for one in records], 7)
    data = base.to_bytes(8, "big") + sealed.data[8:]
    reader._take_batches(0, [(header, data) for _, header in walk(memoryview(data))])


@given(_RECORDS, st.integers(0, 2**40), st.binary(max_size=20))
def test_what_is_packed_is_unpacked(records: list[Record], first: int, body: bytes) -> None:
    found = packed(Written(Plan(records, None), first + len(records), first, 77))
    assert found is not None
    rest, told = unpacked(found[0], body + found[1])
    assert (rest, told) == (body, (first, 77, records))


@pytest.mark.parametrize("header", [b"1 2", b"1 2 0", b"1 2 999", b"1 2 5", b"a b c"])
def test_what_is_cut_off_is_refused(header: bytes) -> None:
    with pytest.raises(ValueError, match=r"records|unpack|invalid"):
        unpacked(header, b"{}" + b"\x00\x00\x00\x09k")


def test_records_are_taken_in_the_order_of_the_topic() -> None:
    reader = _reader()
    reader.told(12, [_made(3)], 5)
    reader.told(11, [_made(2)], 5)
    assert (reader.position, reader.state.schema_count) == (10, 0)
    reader.told(10, [_made(1)], 5)
    assert (reader.position, reader.state.schema_count) == (13, 3)
    assert [entry.offset for n in (1, 2, 3) for entry in reader.state.versions(f"s{n}")] == [10, 11, 12]


def test_what_others_wrote_between_is_waited_for() -> None:
    reader = _reader()
    reader.told(11, [_made(2)], 5)
    assert not reader.state.has_subject("s2")
    _from_topic(reader, 10, _made(1))
    assert reader.position == 12
    assert reader.state.has_subject("s2")


def test_the_topic_brings_nothing_twice() -> None:
    reader = _reader()
    reader.told(10, [_made(1)], 5)
    revision = reader.state.revision
    _from_topic(reader, 10, _made(1))
    assert (reader.position, reader.state.revision) == (11, revision)
    reader.told(10, [_made(1)], 5)
    assert (reader.position, reader.state.revision) == (11, revision)


def test_a_batch_of_which_a_part_was_told_is_taken_from_there_on() -> None:
    reader = _reader()
    reader.told(10, [_made(1)], 5)
    _from_topic(reader, 10, _made(1), _made(2))
    assert (reader.position, reader.state.schema_count) == (12, 2)


def test_who_waits_for_an_offset_hears_of_what_was_told() -> None:
    async def waiting() -> bool:
        reader = _reader()
        wanted = asyncio.create_task(reader.reached(11, 5.0))
        await asyncio.sleep(0)
        reader.told(10, [_made(1)], 5)
        return await wanted

    assert asyncio.run(waiting())


def test_nothing_is_believed_before_the_topic_was_read() -> None:
    reader = _reader()
    reader.status.loaded = False
    reader.told(10, [_made(1)], 5)
    assert reader.position == 10
