"""The v2 header and the journey of a batch that nobody opens."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.batches import (
    LEADER_EPOCH,
    ZSTD,
    Made,
    Signature,
    at,
    batches,
    logs,
    make_batch,
    make_legacy,
    payload,
    read_back,
    rewritten,
)

from twinlog.wire.batch import (
    CONTROL,
    HEADER_BYTES,
    TRANSACTIONAL,
    Stamp,
    checksum_holds,
    read_header,
    readdress,
    walk,
)

DELETE_HORIZON = 0x40


def test_every_header_field_is_read_from_its_place() -> None:
    data = bytes(range(1, 62))
    header = read_header(b"before" + data, 6)
    assert header == struct.unpack(">qiibIhiqqqhii", data)
    assert (header.base_offset, header.crc, header.record_count) == (0x0102030405060708, 0x12131415, 0x3A3B3C3D)
    assert header.size == header.length + 12


def test_flags_and_offsets_are_told_apart() -> None:
    records = [at(40), at(41), at(44)]
    made = make_batch(records, ZSTD, base=40, next_offset=46, flags=TRANSACTIONAL, signature=Signature(9, 2, 5))
    header = read_header(made.data)
    assert (header.next_offset, header.record_count, header.is_dense) == (46, 3, False)
    assert (header.is_transactional, header.is_control) == (True, False)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 5)
    marker = read_header(make_batch([at(46)], flags=TRANSACTIONAL | CONTROL).data)
    assert (marker.is_control, marker.is_dense, marker.codec) == (True, True, 0)


@given(logs(), st.data())
def test_walking_finds_every_complete_batch_and_no_half_one(log: list[Made], data: st.DataObject) -> None:
    whole = payload(log)
    cut = data.draw(st.integers(0, len(whole)))
    found = [(place, header.size) for place, header in walk(memoryview(whole)[:cut])]
    expected = []
    place = 0
    for made in log:
        for size in _message_sizes(made):
            if place + size <= cut:
                expected.append((place, size))
            place += size
    assert found == expected


def _message_sizes(made: Made) -> list[int]:
    """The old formats lay uncompressed messages side by side, each for itself."""
    sizes = []
    place = 0
    while place < len(made.data):
        sizes.append(12 + struct.unpack_from(">i", made.data, place + 8)[0])
        place += sizes[-1]
    return sizes


def test_walking_stops_at_a_batch_of_no_known_format() -> None:
    good = make_batch([at(0), at(1)])
    strange = rewritten(make_batch([at(2)]).data, magic=3)
    found = [header.magic for _, header in walk(good.data + strange + good.data)]
    assert found == [2, 3]


@pytest.mark.parametrize("length", [-5, 0, 13, 48])
def test_walking_stops_at_an_impossible_length(length: int) -> None:
    broken = rewritten(make_batch([at(2)]).data, length=length)
    assert [header.length for _, header in walk(broken + broken)] == [length]


def test_old_messages_end_one_behind_their_own_offset() -> None:
    compressed = make_legacy(1, [at(10), at(11), at(12)], codec=1)
    assert [header.next_offset for _, header in walk(compressed.data)] == [13]
    single = make_legacy(0, [at(5, b"", key=None)])
    assert len(single.data) == 26
    assert [(header.magic, header.next_offset) for _, header in walk(single.data)] == [(0, 6)]


@pytest.mark.proves("R4")
@given(
    batches(dense=True, kinds=["plain"]), st.integers(0, 1 << 62), st.integers(0, 32767), st.integers(0, (1 << 31) - 1)
)
def test_a_new_address_leaves_the_records_alone(made: Made, producer_id: int, epoch: int, sequence: int) -> None:
    header = read_header(made.data)
    foreign = rewritten(made.data, attributes=header.attributes | TRANSACTIONAL | DELETE_HORIZON, producer_id=77)
    sent = readdress(foreign, read_header(foreign), Stamp(producer_id, epoch, sequence))
    ours = read_header(sent)
    assert sent[HEADER_BYTES:] == made.data[HEADER_BYTES:]
    assert checksum_holds(sent, ours)
    assert (ours.base_offset, ours.leader_epoch, ours.magic, ours.attributes) == (0, -1, 2, header.codec)
    assert (ours.producer_id, ours.producer_epoch, ours.base_sequence) == (producer_id, epoch, sequence)
    assert ours[6:9] == header[6:9]
    assert (ours.length, ours.record_count) == (header.length, header.record_count)
    base = made.records[0].offset
    assert read_back(sent) == [record._replace(offset=record.offset - base) for record in made.records]


@pytest.mark.proves("R4")
@given(st.data())
def test_any_flipped_bit_behind_the_checksum_is_noticed(data: st.DataObject) -> None:
    made = make_batch([at(3, b"payload"), at(4, b"more")])
    header = read_header(made.data)
    assert header.leader_epoch == LEADER_EPOCH
    assert checksum_holds(made.data, header)
    place = data.draw(st.integers(21, len(made.data) - 1))
    flipped = bytearray(made.data)
    flipped[place] ^= 1 << data.draw(st.integers(0, 7))
    assert not checksum_holds(bytes(flipped), header)
