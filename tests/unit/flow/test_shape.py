"""Shaping: every record arrives once, in order and equal, whatever must be done to its batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.kit.batches import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    Made,
    append_time,
    at,
    logs,
    make_batch,
    make_legacy,
    payload,
    read_back,
    rewritten,
)

from twinlog.errors import CorruptBatch, PartitionFault, RecordTooLarge, UnknownCodec
from twinlog.flow.shape import TINY_RECORDS, Piece, Shaper
from twinlog.model.names import TopicPartition
from twinlog.wire.batch import checksum_holds
from twinlog.wire.codec import PlainRecord

WHERE = TopicPartition("orders", 3)
MANY = TINY_RECORDS + 1  # records that make a batch too large to be merged


def shaper(limit: int = 1 << 20, merge_bytes: int = 1 << 16) -> Shaper:
    return Shaper(WHERE, limit, merge_bytes)


def shaped(log: Sequence[Made], resume: int = 0, limit: int = 1 << 20, merge_bytes: int = 1 << 16) -> list[Piece]:
    return list(shaper(limit, merge_bytes).shape(payload(log), resume))


def source_records(piece: Piece) -> list[PlainRecord]:
    """The records of a piece with the source offsets that its runs give them."""
    offsets = [run.source + i for run in piece.runs(0) for i in range(run.length)]
    records = read_back(rewritten(piece.data, base_offset=0))
    return [record._replace(offset=offset) for record, offset in zip(records, offsets, strict=True)]


def until_fault(shaping: Iterator[Piece]) -> tuple[list[Piece], PartitionFault | None]:
    """The pieces before the fault, and the fault."""
    pieces: list[Piece] = []
    try:
        while True:
            pieces.append(next(shaping))
    except StopIteration:
        return pieces, None
    except PartitionFault as fault:
        return pieces, fault


def series(first: int, count: int, size: int = 5) -> list[PlainRecord]:
    return [at(first + i, bytes([i % 251]) * size, timestamp=1_000 + i) for i in range(count)]


# --- the law ----------------------------------------------------------------------------------------------------------


@pytest.mark.proves("R1", "R2", "R3", "R4")
@given(logs(), st.integers(0, 120), st.sampled_from([400, 1_000, 1 << 20]), st.sampled_from([0, 300, 1 << 20]))
@example([make_batch(series(0, 3)), make_batch(series(3, 3))], 2, 1 << 20, 1 << 20)
def test_what_comes_out_is_what_the_source_holds(log: list[Made], resume: int, limit: int, merge_bytes: int) -> None:
    expected = [record for made in log for record in made.records if record.offset >= resume]
    pieces, fault = until_fault(shaper(limit, merge_bytes).shape(payload(log), resume))
    if fault is not None:
        assert isinstance(fault, RecordTooLarge)
        assert fault.limit == limit
        assert fault.size > limit
        expected = [record for record in expected if record.offset < fault.offset]
    assert [record for piece in pieces for record in source_records(piece)] == expected
    for piece in pieces:
        check_piece(piece, limit)


def check_piece(piece: Piece, limit: int) -> None:
    """The broker takes it, and its runs say where each record lies."""
    assert piece.header.magic == 2
    assert piece.header.is_dense
    assert len(piece.data) == piece.header.size <= limit
    assert checksum_holds(piece.data, piece.header)
    assert piece.header.max_timestamp == max(record.timestamp for record in read_back(piece.data))
    runs = list(piece.runs(1_000))
    assert [run.target for run in runs] == [1_000 + sum(r.length for r in runs[:i]) for i in range(len(runs))]
    assert (runs[0].source, runs[-1].source_end) == (piece.first, piece.next_offset)
    assert all(one.source_end < two.source for one, two in pairwise(runs))


# --- each reason to open ----------------------------------------------------------------------------------------------


@pytest.mark.proves("R4")
@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_a_batch_without_a_reason_passes_untouched(codec: int) -> None:
    made = make_batch(series(100, MANY, size=200), codec)
    (piece,) = shaped([made])
    assert piece.passed
    assert piece.data == made.data
    assert piece.header.codec == codec


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_opening_keeps_the_compression(codec: int) -> None:
    made = make_batch(series(100, MANY, size=200), codec)
    (piece,) = shaped([made], resume=105)
    assert not piece.passed
    assert piece.header.codec == codec
    assert source_records(piece) == list(made.records[5:])


@pytest.mark.parametrize(("resume", "pieces"), [(-1, 1), (0, 1), (1, 1), (MANY - 1, 1), (MANY, 0), (MANY + 99, 0)])
def test_a_batch_that_straddles_the_position_loses_its_front_only(resume: int, pieces: int) -> None:
    made = make_batch(series(100, MANY))
    resume += 100
    result = shaped([made], resume)
    assert len(result) == pieces
    assert [piece.passed for piece in result] == [resume <= 100] * pieces
    assert [r for p in result for r in source_records(p)] == [r for r in made.records if r.offset >= resume]


@pytest.mark.proves("R3", "R4")
def test_holes_of_compaction_are_closed_and_remembered() -> None:
    records = [record for record in series(10, 2 * MANY) if record.offset % 3]
    made = make_batch(records, base=9, next_offset=15 + 2 * MANY)
    (piece,) = shaped([made])
    assert not piece.passed
    assert source_records(piece) == records
    assert piece.next_offset == records[-1].offset + 1
    assert len(list(piece.runs(0))) > 10


def test_a_batch_that_compaction_emptied_gives_nothing() -> None:
    data = rewritten(make_batch([at(5)]).data[:61], record_count=0, length=49, last_offset_delta=3)
    assert shaped([Made(data, (), 9)]) == []


@pytest.mark.proves("R4")
def test_append_time_becomes_the_time_of_every_record() -> None:
    made = append_time(make_batch(series(0, MANY), ZSTD), 777_000)
    (piece,) = shaped([made])
    assert not piece.passed
    assert {record.timestamp for record in source_records(piece)} == {777_000}
    assert piece.header.attributes & 0x08 == 0


@pytest.mark.proves("R1", "R4")
def test_a_batch_too_large_is_split_in_order() -> None:
    made = make_batch(series(0, 100, size=100))
    pieces = shaped([made], limit=2_000)
    assert len(pieces) > 5
    assert all(len(piece.data) <= 2_000 for piece in pieces)
    assert [record for piece in pieces for record in source_records(piece)] == list(made.records)


@pytest.mark.proves("R3", "R4")
def test_tiny_batches_are_merged_into_one() -> None:
    log = [make_batch(series(i * 2, 2)) for i in range(50)]
    (piece,) = shaped(log)
    assert source_records(piece) == [record for made in log for record in made.records]
    assert list(piece.runs(7)) == [(0, 7, 100)]


def test_merging_stops_at_its_size_at_another_codec_and_at_a_large_batch() -> None:
    tiny = [make_batch(series(i, 1)) for i in range(10)]
    assert len(shaped(tiny, merge_bytes=3 * len(tiny[0].data))) == 4
    squeezed = [make_batch(series(i, 1, size=500), GZIP) for i in range(10, 12)]
    assert [piece.records for piece in shaped(tiny[:2] + squeezed)] == [2, 2]
    large = make_batch(series(2, MANY))
    later = make_batch(series(2 + MANY, 1))
    assert [(piece.records, piece.passed) for piece in shaped([*tiny[:2], large, later])] == [
        (2, False),
        (MANY, True),
        (1, True),
    ]


@pytest.mark.proves("R4")
@pytest.mark.parametrize(
    ("magic", "codec"), [(0, NONE), (0, GZIP), (0, SNAPPY), (1, NONE), (1, GZIP), (1, SNAPPY), (1, LZ4)]
)
def test_old_formats_are_lifted(magic: int, codec: int) -> None:
    records = [
        PlainRecord(50, 5_000, None, b"v" * 300, []),
        PlainRecord(51, 4_000, b"", None, []),
        PlainRecord(52, 6_000, b"k", b"", []),
    ]
    made = make_legacy(0 if magic == 0 else 1, records, codec)
    pieces = shaped([made], resume=51)
    assert [record for piece in pieces for record in source_records(piece)] == list(made.records[1:])
    assert made.records[1].timestamp == (-1 if magic == 0 else 4_000)


@pytest.mark.proves("R4")
def test_null_and_empty_and_every_header_survive_opening() -> None:
    headers: list[tuple[str, bytes | None]] = [("b", b"1"), ("a", None), ("b", b""), ("", b"2"), ("b", b"1")]
    records = [
        PlainRecord(0, 1, None, None, []),
        PlainRecord(1, 2, b"", b"", headers),
        PlainRecord(2, -1, b"k", None, headers[::-1]),
    ]
    (piece,) = shaped([make_batch(records), make_batch([at(3)])])
    assert source_records(piece)[:3] == records


@pytest.mark.proves("R4")
def test_records_without_a_time_get_none_from_their_neighbours() -> None:
    timeless = [at(offset, timestamp=-1) for offset in (0, 1)]
    log = [make_batch([timeless[0]]), make_batch([timeless[1], at(2, timestamp=5), at(3, timestamp=-1)])]
    pieces = shaped(log)
    assert [record.timestamp for piece in pieces for record in source_records(piece)] == [-1, -1, 5, -1]
    assert [piece.header.max_timestamp for piece in pieces] == [-1, 5]


# --- what cannot be shaped --------------------------------------------------------------------------------------------


@pytest.mark.proves("R7")
def test_a_record_too_large_alone_is_named_and_what_lies_before_it_goes_on() -> None:
    log = [make_batch(series(0, 3)), make_batch([at(3), at(4, b"x" * 5_000), at(5)])]
    pieces, fault = until_fault(shaper(limit=2_000).shape(payload(log), 0))
    assert isinstance(fault, RecordTooLarge)
    assert (fault.topic, fault.partition, fault.offset) == ("orders", 3, 4)
    assert fault.size > 5_000
    assert [r.offset for piece in pieces for r in source_records(piece)] == [0, 1, 2, 3]


@pytest.mark.proves("R7")
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_flipped_byte_is_a_corrupt_batch_and_what_lies_before_it_goes_on(magic: int) -> None:
    records = [at(9, b"abc" * 20)]
    made = make_batch(records) if magic == 2 else make_legacy(0 if magic == 0 else 1, records)
    broken = bytearray(made.data)
    broken[-1] ^= 0x01
    tiny = payload([make_batch(series(i, 1)) for i in range(9)])
    before, fault = until_fault(shaper().shape(tiny + broken, 0))
    assert isinstance(fault, CorruptBatch)
    assert fault.offset == 9
    assert [record.offset for piece in before for record in source_records(piece)] == list(range(9))


@pytest.mark.proves("R7")
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_records_that_do_not_decompress_are_a_corrupt_batch(codec: int) -> None:
    made = make_batch(series(20, MANY), codec=NONE)
    lying = rewritten(made.data, attributes=codec)
    with pytest.raises(CorruptBatch) as caught:
        shaped([Made(lying, made.records, made.next_offset)], resume=21)
    assert caught.value.offset == 20
    assert "decoded" in str(caught.value)


@pytest.mark.proves("R7")
def test_a_tiny_batch_that_does_not_decompress_does_not_hold_back_those_before_it() -> None:
    lying = Made(rewritten(make_batch(series(3, 2)).data, attributes=NONE, record_count=1, last_offset_delta=0), (), 4)
    before, fault = until_fault(shaper().shape(payload([make_batch(series(i, 1)) for i in range(3)] + [lying]), 0))
    assert isinstance(fault, CorruptBatch)
    assert fault.offset == 3
    assert [record.offset for piece in before for record in source_records(piece)] == [0, 1, 2]


@pytest.mark.proves("R7")
@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_nobody_knows_is_named(codec: int) -> None:
    made = make_batch(series(20, MANY))
    with pytest.raises(UnknownCodec) as caught:
        shaped([Made(rewritten(made.data, attributes=codec), made.records, made.next_offset)])
    assert (caught.value.offset, caught.value.codec) == (20, codec)


# --- the rest of a piece ----------------------------------------------------------------------------------------------


@pytest.mark.proves("R1", "R2", "R4")
@settings(max_examples=15)
@given(logs(max_batches=3), st.data())
def test_the_rest_of_a_piece_is_the_piece_without_its_front(log: list[Made], data: st.DataObject) -> None:
    rules = shaper()
    for piece in shaped(log):
        front = data.draw(st.integers(0, piece.records))
        rest = [record for part in rules.behind(piece, front) for record in source_records(part)]
        assert rest == source_records(piece)[front:]
