"""A chunk compared batch by batch: equal logs are equal however they are cut, and each kind of damage is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.batches import LZ4, NONE, Made, append_time, at, logs, make_batch, rewritten

from twinlog.model.ledger.runs import Run, RunMap
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import HEADER, ClusterIds, Hop, Provenance
from twinlog.model.verify.differences import Kind
from twinlog.model.verify.verification import Chunk, ChunkResult, Lineage, stretches_between
from twinlog.verify.comparison import Comparison, Side
from twinlog.wire.batch import read_header, walk
from twinlog.wire.codec import PlainRecord
from twinlog.wire.ranges import RawBatch

OWN = 4711


def chunk_for(runs: Sequence[Run], first: int, after: int, target_first: int, target_next: int) -> Chunk:
    ledger = RunMap()
    for run in runs:
        ledger.add(run)
    return Chunk(
        TopicPartition("orders", 0),
        TopicPartition("A.orders", 0),
        "s",
        "t",
        first,
        after,
        target_first,
        target_next,
        stretches_between([ledger], first, after),
        lineage=Lineage(own=frozenset({OWN})),
    )


def raw(log: bytes) -> list[RawBatch]:
    return [RawBatch(header, log[begin : begin + header.size]) for begin, header in walk(log)]


def compared(
    chunk: Chunk,
    source: Sequence[bytes],
    target: Sequence[bytes],
    *,
    source_start: int = 0,
    target_start: int = 0,
) -> ChunkResult:
    comparison = Comparison(chunk)
    comparison.source_start, comparison.target_start = source_start, target_start
    waiting = {side: raw(b"".join(parts)) for side, parts in ((Side.SOURCE, source), (Side.TARGET, target))}
    while (side := comparison.wants) is not None:
        if waiting[side]:
            comparison.feed(side, waiting[side].pop(0))
        else:
            comparison.end(side)
    return comparison.finish()


def batch(records: Sequence[PlainRecord], codec: int = NONE) -> bytes:
    return make_batch(records, codec).data


def copied(records: Sequence[PlainRecord], first: int) -> list[PlainRecord]:
    """The records as they lie on the target from `first` on."""
    return [record._replace(offset=first + index) for index, record in enumerate(records)]


def ten(first: int = 0) -> list[PlainRecord]:
    return [
        PlainRecord(first + n, 1_000 + n, b"key%d" % (n % 3), b"value %d" % n, [("trace", b"%d" % n), ("x", None)])
        for n in range(10)
    ]


def identity(count: int = 10, shift: int = 100) -> Chunk:
    return chunk_for([Run(0, shift, count)], 0, count, shift, shift + count)


# --- equal ------------------------------------------------------------------------------------------------------------


def mirrored(log: Sequence[Made], first: int) -> tuple[list[PlainRecord], list[Run], int]:
    """All records of a log as a mirror numbers them, and the map."""
    records = [record for made in log for record in made.records]
    runs = [Run(record.offset, first + index, 1) for index, record in enumerate(records)]
    return copied(records, first), runs, first + len(records)


@given(logs(), st.integers(0, 9), st.lists(st.integers(1, 7), max_size=12), st.sampled_from([NONE, LZ4]), st.data())
def test_equal_logs_are_equal_however_both_are_cut(
    log: list[Made], first: int, cuts: list[int], codec: int, data: st.DataObject
) -> None:
    records, runs, end = mirrored(log, first)
    target, rest = [], records
    for cut in [*cuts, len(records)]:
        part, rest = rest[:cut], rest[cut:]
        target += [batch(part, codec)] if part else []
    begin = log[0].records[0].offset if log else 0
    after = log[-1].next_offset if log else 0
    whole = chunk_for(runs, begin, after, first, end)
    result = compared(whole, [made.data for made in log], target)
    assert (result.equal, result.differing) == (len(records), 0), result.differences
    assert result.source_digest == result.target_digest

    # Cut anywhere, the two parts account for the whole.
    middle = data.draw(st.integers(begin, after))
    place = next((run.target for run in runs if run.source >= middle), end)
    parts = [chunk_for(runs, begin, middle, first, place), chunk_for(runs, middle, after, place, end)]
    equal = [compared(part, [made.data for made in log], target) for part in parts]
    assert sum(one.equal for one in equal) == len(records)
    assert not any(one.differing for one in equal)


def test_a_batch_that_passed_unopened_is_compared_unopened() -> None:
    source = make_batch(ten(), LZ4).data
    target = rewritten(source, base_offset=100, producer_id=OWN, producer_epoch=3, base_sequence=9, leader_epoch=1)
    result = compared(identity(), [source], [target])
    assert (result.equal, result.unopened, result.differing) == (10, 10, 0)


@given(st.integers(0, 9), st.sampled_from(["timestamp", "key", "value", "headers"]), st.booleans())
def test_one_changed_field_of_one_record_is_found_at_its_offset(place: int, name: str, packed: bool) -> None:
    records = ten()
    other = {"timestamp": 7, "key": None, "value": b"", "headers": [("trace", b"?")]}
    copies = copied(records, 100)
    copies[place] = copies[place]._replace(**{name: other[name]})  # type: ignore[arg-type]
    codec = LZ4 if packed else NONE
    result = compared(identity(), [batch(records, codec)], [batch(copies, codec)])
    assert (result.equal, result.differing) == (9, 1)
    (found,) = result.differences
    assert (found.kind, found.source, found.target) == (Kind.CHANGED, place, 100 + place)
    assert found.what.startswith("headers" if name == "headers" else name)
    assert result.source_digest != result.target_digest


def test_times_in_the_header_count_although_the_records_are_the_same_bytes() -> None:
    made = make_batch(ten(), LZ4)
    header = read_header(made.data)
    base, last = header.base_timestamp, header.max_timestamp
    later = rewritten(made.data, base_offset=100, base_timestamp=base + 5)
    assert compared(identity(), [made.data], [later]).differing == 10
    stamped = append_time(made, last).data  # all records carry the batch's time, which is that of the last one
    assert compared(identity(), [stamped], [rewritten(made.data, base_offset=100)]).differing == 9


# --- damaged ----------------------------------------------------------------------------------------------------------


def test_a_flipped_byte_inside_an_uncompressed_batch_is_found() -> None:
    source = batch(ten())
    damaged = bytearray(rewritten(source, base_offset=100))
    damaged[source.index(b"value 4")] ^= 1
    result = compared(identity(), [source], [rewritten(bytes(damaged))])
    (found,) = result.differences
    assert (found.kind, found.source) == (Kind.CHANGED, 4)
    assert "value differs from byte 0 of 7" in found.what


def test_a_dropped_record_is_named_and_those_behind_it_are_one_line() -> None:
    records = ten()
    result = compared(identity(), [batch(records)], [batch(copied(records[:4] + records[5:], 100))])
    assert [(d.kind, d.source, d.count) for d in result.differences] == [(Kind.MISSING, 4, 1), (Kind.MOVED, 5, 5)]
    assert "source offset 5" in result.differences[0].what
    assert "1 place before" in result.differences[1].what


def test_a_record_that_was_never_copied_is_missing() -> None:
    records = ten()
    chunk = chunk_for([Run(0, 100, 4), Run(5, 104, 5)], 0, 10, 100, 109)
    target = [batch(copied(records[:4] + records[5:], 100))]
    result = compared(chunk, [batch(records)], target)
    assert [(d.kind, d.source, d.target) for d in result.differences] == [(Kind.MISSING, 4, None)]
    gapped = compared(replace(chunk, gaps=((4, 5),)), [batch(records)], target)
    assert (gapped.differing, gapped.skipped, gapped.equal) == (0, 1, 9)


def test_two_swapped_records_are_moved_not_changed() -> None:
    records = ten()
    order = [0, 1, 3, 2, *range(4, 10)]
    result = compared(identity(), [batch(records)], [batch(copied([records[n] for n in order], 100))])
    assert [(d.kind, d.source, d.shift) for d in result.differences] == [(Kind.MOVED, 2, 1), (Kind.MOVED, 3, -1)]


@pytest.mark.parametrize(("producer", "who"), [(OWN, "this link"), (5, "producer 5, not by this link")])
def test_a_duplicate_behind_the_ledgers_back_is_extra(producer: int, who: str) -> None:
    records = ten()
    chunk = chunk_for([Run(0, 100, 4), Run(4, 105, 6)], 0, 10, 100, 110 + 1)
    again = rewritten(batch([records[3]._replace(offset=104)]), producer_id=producer)
    target = [batch(copied(records[:4], 100)), again, batch(copied(records[4:], 105))]
    result = compared(chunk, [batch(records)], target)
    assert [(d.kind, d.source, d.target) for d in result.differences] == [(Kind.EXTRA, None, 104)]
    assert f"source offset 3 a second time, written by {who}" in result.differences[0].what


def test_a_foreign_record_is_extra_and_a_hole_without_a_record_is_nothing() -> None:
    records = ten()
    chunk = chunk_for([Run(0, 100, 4), Run(4, 105, 6)], 0, 10, 100, 111)
    sound = [batch(copied(records[:4], 100)), batch(copied(records[4:], 105))]
    assert compared(chunk, [batch(records)], sound).differing == 0
    result = compared(chunk, [batch(records)], [sound[0], batch([at(104, b"who?")]), sound[1]])
    assert [(d.kind, d.target) for d in result.differences] == [(Kind.EXTRA, 104)]
    assert "no record of the source" in result.differences[0].what


def test_a_target_that_ends_early_lacks_the_rest() -> None:
    records = ten()
    result = compared(identity(), [batch(records)], [batch(copied(records[:7], 100))])
    assert [(d.kind, d.source, d.count) for d in result.differences] == [(Kind.MISSING, 7, 3)]


def test_a_source_that_lost_what_was_copied_is_told() -> None:
    records = ten()
    result = compared(identity(), [batch(records[:7])], [batch(copied(records, 100))])
    assert [(d.kind, d.source, d.target, d.count) for d in result.differences] == [(Kind.EXTRA, 7, 107, 3)]
    assert "no longer has" in result.differences[0].what


def test_a_batch_that_cannot_be_decoded_is_named() -> None:
    source = batch(ten(), LZ4)
    broken = rewritten(source, base_offset=100)
    broken = rewritten(broken[:70] + b"\xff" * (len(broken) - 70))
    result = compared(identity(), [source], [broken])
    assert (Kind.UNREADABLE, 100) in [(d.kind, d.target) for d in result.differences]


# --- set aside --------------------------------------------------------------------------------------------------------


def test_what_retention_took_is_counted_and_not_called_a_difference() -> None:
    records = ten()
    target = [batch(copied(records, 100)[4:])]
    result = compared(identity(), [batch(records)], target, target_start=104)
    assert (result.equal, result.deleted_target, result.differing) == (6, 4, 0)
    result = compared(identity(), [batch(records[6:])], [batch(copied(records, 100))], source_start=6)
    assert (result.equal, result.deleted_source, result.differing) == (4, 6, 0)


def test_what_compaction_took_is_unsettled_but_for_tombstones() -> None:
    records = ten()
    records[2] = records[2]._replace(value=None)
    copies = copied(records, 100)
    chunk = replace(identity(), target_compacted=True)
    left = make_batch([copies[n] for n in (0, 3, 4, 5, 6, 7, 8, 9)]).data
    result = compared(chunk, [batch(records)], [left])
    assert (result.equal, result.compacted_target, result.unsettled, result.differing) == (8, 1, 1, 0)
    result = compared(replace(identity(), source_compacted=True), [batch(records[3:])], [batch(copies)])
    assert (result.equal, result.compacted_source, result.differing) == (7, 3, 0)


def test_much_more_damage_than_can_be_listed_is_counted() -> None:
    records = [at(n, b"%d" % n) for n in range(5_000)]
    wrong = [at(n, b"x%d" % n) for n in range(5_000)]
    result = compared(identity(5_000, 0), [batch(records)], [batch(wrong)])
    assert result.differing == 5_000
    assert 0 < len(result.differences) <= 20
    assert ChunkResult.from_json(result.to_json()) == result


# --- on purpose -------------------------------------------------------------------------------------------------------


def test_what_came_from_the_target_is_rightly_not_copied() -> None:
    records = ten()
    chunk = chunk_for([Run(0, 100, 4), Run(6, 104, 4)], 0, 10, 100, 108)
    theirs = rewritten(batch(records[4:6]), producer_id=77)
    source = [batch(records[:4]), theirs, batch(records[6:])]
    target = [batch(copied(records[:4] + records[6:], 100))]
    assert compared(chunk, source, target).differing == 2
    result = compared(replace(chunk, lineage=Lineage(left_out=frozenset({77}))), source, target)
    assert (result.equal, result.returned, result.differing) == (8, 2, 0)


def test_hops_in_headers_are_added_on_purpose_and_keep_records_from_coming_home() -> None:
    clusters = ClusterIds("east-id", "west-id")
    lineage = Lineage(Provenance("header"), clusters)
    records = ten()
    records[2] = records[2]._replace(headers=[(HEADER, Hop("west-id", "A.orders", 5).encode())])
    hop = (HEADER, Hop("east-id", "orders", 9).encode())
    kept = records[:2] + records[3:]
    marked = [record._replace(headers=[*record.headers, hop]) for record in copied(kept, 100)]
    chunk = replace(chunk_for([Run(0, 100, 2), Run(3, 102, 7)], 0, 10, 100, 109), lineage=lineage)
    result = compared(chunk, [batch(records)], [batch(marked)])
    assert (result.equal, result.returned, result.differing) == (9, 1, 0)
    marked[5] = marked[5]._replace(headers=[hop])
    result = compared(chunk, [batch(records)], [batch(marked)])
    assert [(d.kind, d.source) for d in result.differences] == [(Kind.CHANGED, 6)]
    assert compared(replace(chunk, lineage=Lineage()), [batch(records)], [batch(marked)]).differing == 10


def test_records_of_others_in_a_shared_topic_are_set_aside_but_not_those_of_this_link() -> None:
    records = ten()
    lineage = Lineage(own=frozenset({OWN}), shared=True)
    chunk = replace(chunk_for([Run(0, 100, 4), Run(4, 106, 6)], 0, 10, 100, 112), lineage=lineage)
    others = rewritten(batch([at(104, b"local")]), producer_id=5)
    again = rewritten(batch([records[3]._replace(offset=105)]), producer_id=OWN)
    target = [batch(copied(records[:4], 100)), others, again, batch(copied(records[4:], 106))]
    result = compared(chunk, [batch(records)], target)
    assert (result.equal, result.foreign) == (10, 1)
    assert [(d.kind, d.target) for d in result.differences] == [(Kind.EXTRA, 105)]


# --- transforms -------------------------------------------------------------------------------------------------------


def _plain(offset: int, value: bytes) -> PlainRecord:
    return PlainRecord(offset, 5, b"k%d" % offset, value, [("h", b"1")])


def test_what_transforms_change_and_drop_is_counted_and_the_rest_is_compared() -> None:
    """Source offsets 10..13, of which 11 was dropped; on the target only the values are other ones."""
    source = make_batch([_plain(offset, b"secret") for offset in range(10, 14)], base=10)
    copies = [_plain(offset, b"***") for offset in (10, 12, 13)]
    placed = [copy._replace(offset=place) for place, copy in enumerate(copies)]
    chunk = chunk_for([Run(10, 0, 1), Run(12, 1, 2)], 10, 14, 0, 3)
    changes = replace(chunk.lineage, drops=True, changes=frozenset({"value"}))
    found = compared(replace(chunk, lineage=changes), [source.data], [make_batch(placed, base=0).data])
    assert (found.transformed, found.dropped, found.differing, found.equal) == (3, 1, 0, 0)
    wrong = [placed[0], placed[1]._replace(key=b"other"), placed[2]]
    found = compared(replace(chunk, lineage=changes), [source.data], [make_batch(wrong, base=0).data])
    assert (found.transformed, found.differing) == (2, 1)
    found = compared(replace(chunk, lineage=changes), [source.data], [make_batch(placed[:2], base=0).data])
    assert (found.transformed, found.differing) == (2, 1)  # one was lost
    without = compared(chunk, [source.data], [make_batch(placed, base=0).data])
    assert without.differing == 4
