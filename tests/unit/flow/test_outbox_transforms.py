"""The outbox with records that went through transforms: changed, dropped, refused.

Whatever happens, each record that is kept is written once, changed, in order and at the place that the map tells; what
is dropped is never written and counted once.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.kit.batches import Made, make_batch, payload
from tests.kit.outbox_world import WHERE, World, source_log

from twinlog.errors import CorruptBatch, TransformFailed
from twinlog.flow import outbox, record_rows
from twinlog.flow.left_out import LeftOut
from twinlog.flow.parcel import FLUSH, Parcel, data_parcel, unwrap
from twinlog.flow.reader_fault import ReaderFault
from twinlog.flow.record_rows import GROUP_ROWS, RecordRows
from twinlog.flow.resealing import CHANGED_COLUMNS, Resealing
from twinlog.flow.row import FLUSH_ROW, Row, is_flush, pack, unpack
from twinlog.wire.codec import PlainRecord, open_batch, seal_in_place


def drops(value: bytes | None) -> bool:
    return len(value or b"") % 3 == 1


def refuses(value: bytes | None) -> bool:
    return len(value or b"") % 7 == 6


def changed(record: PlainRecord) -> PlainRecord:
    value = record.value
    return record._replace(value=None if not value else b"%d" % len(value), headers=[*record.headers, ("seen", None)])


def stepped(batches: Iterable[pa.RecordBatch], sizes: Iterator[int]) -> Iterator[pa.RecordBatch]:
    """What Spark does between reader and writer: the steps, and other batches of rows."""
    rows: list[dict[str, object]] = []
    for row in (row for batch in batches for row in batch.to_pylist()):
        made = {**row, "drop": False, "error": None}
        if row["head"] is None and row["offset"] is not None:
            headers = [(one["key"], one["value"]) for one in row["headers"]]
            record = PlainRecord(row["offset"], row["timestamp"], row["key"], row["value"], headers)
            after = changed(record)
            made |= {"value": after.value, "headers": [{"key": k, "value": v} for k, v in after.headers]}
            made |= {"drop": drops(record.value), "error": "why" if refuses(record.value) else None}
        rows.append(made)
    known: list[tuple[str, Any]] = [(name, record_rows._SCHEMA.field(name).type) for name in CHANGED_COLUMNS[:-2]]
    schema = pa.schema([*known, ("drop", pa.bool_()), ("error", pa.string())])
    while rows:
        size = next(sizes)
        yield pa.RecordBatch.from_pylist([{n: row[n] for n in CHANGED_COLUMNS} for row in rows[:size]], schema=schema)
        rows = rows[size:]


def through(rows: list[Row], rng: random.Random, *, tolerant: bool = True) -> list[Parcel]:
    sizes = iter(lambda: rng.choice([1, 2, 7, 500]), None)
    made = RecordRows(lambda topic: topic == WHERE.topic).batches(rows)
    resealing = Resealing(tolerant=tolerant, merge_bytes=rng.choice([0, 300, 1 << 20]))
    # Where groups are small in bytes, empty rows lie between the records of a parcel.
    with (
        mock.patch.object(record_rows, "PIECE_BYTES", rng.choice([100, 1 << 22])),
        mock.patch.object(record_rows, "GROUP_ROWS", rng.choice([3, 512])),
    ):
        found = list(resealing.rows(stepped(made, sizes)))
    return [parcel for row in found if not is_flush(row) for parcel in unpack(row)]


@dataclass
class TransformWorld(World):
    """Every parcel goes through transforms."""

    def parcel_of(self, chosen: list[Made]) -> Parcel:
        parcel = data_parcel(WHERE, self.position, chosen[-1].next_offset, payload(chosen), [])
        (made,) = through([pack([parcel])], self.rng)
        return made

    def expected(self) -> list[PlainRecord]:
        kept = [one for one in super().expected() if not drops(one.value) and not refuses(one.value)]
        return [changed(one) for one in kept]

    def left_out(self) -> tuple[int, int]:
        values = [one.value for one in super().expected()]
        refused = [value for value in values if refuses(value)]
        return sum(drops(value) and not refuses(value) for value in values), len(refused)


@pytest.mark.proves("R1", "R2", "R3", "R7", "R9")
@settings(max_examples=60)
@given(st.integers(0, (1 << 32) - 1))
@example(38)  # a late request of an earlier opening brings a shorter batch with the same first sequence number
def test_changed_records_arrive_once_in_order_and_dropped_ones_are_counted_whatever_happens(seed: int) -> None:
    rng = random.Random(seed)
    with mock.patch.object(outbox, "SEAL_AT", 3):
        world = TransformWorld(rng, source_log(rng))
        world.live(rng.randint(0, 250))
        world.settle_everything(until=world.end)
        world.flush()
        world.check_all()
        assert world.saved is not None
        assert (world.saved.dropped, world.saved.refused) == world.left_out()


@given(st.integers(0, (1 << 32) - 1))
def test_a_record_that_a_step_refuses_stops_its_partition_in_front_of_it(seed: int) -> None:
    rng = random.Random(seed)
    log = source_log(rng)
    records = [record for made in log for record in made.records]
    first, behind = records[0].offset, log[-1].next_offset
    parcels = through([pack([data_parcel(WHERE, first, behind, payload(log), [])])], rng, tolerant=False)
    bad = next((one.offset for one in records if refuses(one.value)), None)
    data, left_out = unwrap(parcels[0])
    kept = [(one.offset, one.value) for one in records if (bad is None or one.offset < bad) and not drops(one.value)]
    assert [(one.offset, one.value) for one in _opened(bytes(data.payload))] == [
        (offset, changed(PlainRecord(0, 0, None, value, [])).value) for offset, value in kept
    ]
    assert left_out.refused == []
    if bad is None:
        assert [parcel.next for parcel in parcels] == [behind]
        return
    assert [(parcel.kind, parcel.next) for parcel in parcels] == [("changed", bad), ("fault", bad)]
    fault = ReaderFault(bytes(parcels[1].payload))
    assert (fault.code, fault.facts()["offset"]) == (TransformFailed.code, bad)


def _opened(data: bytes) -> list[PlainRecord]:
    from twinlog.wire.batch import walk

    return [
        PlainRecord(one.offset, one.timestamp, one.key, one.value, list(one.headers))
        for at, header in walk(data)
        for one in open_batch(data[at : at + header.size])
    ]


def test_other_topics_and_notes_pass_as_they_are() -> None:
    rng = random.Random(1)
    other = WHERE._replace(topic="other")
    begin = Parcel(WHERE, 3, 3, "begin", b"{}")
    rows = [pack([Parcel(other, 5, 9, "data", b"batches"), begin]), FLUSH_ROW]
    assert [p._replace(taken_us=0) for p in through(rows, rng)] == [Parcel(other, 5, 9, "data", b"batches"), begin]


def test_offsets_that_came_from_the_target_are_told_on() -> None:
    made = make_batch([PlainRecord(12, 1, b"k", b"22", [])], base=12)
    parcel = data_parcel(WHERE, 5, 20, made.data, [(5, 9), (15, 20)])
    (found,) = through([pack([parcel])], random.Random(1))
    data, left_out = unwrap(found)
    assert (data.first, data.next) == (5, 20)
    assert left_out == LeftOut([(5, 9), (15, 20)], [], [])


def test_a_spoiled_batch_is_a_fault_behind_what_is_sound() -> None:
    sound = make_batch([PlainRecord(1, 1, b"k", b"22", [])], base=1)
    spoiled = bytearray(make_batch([PlainRecord(2, 1, b"k", b"22", [])], base=2).data)
    spoiled[-1] ^= 1
    parcels = through([pack([data_parcel(WHERE, 1, 3, sound.data + bytes(spoiled), [])])], random.Random(1))
    assert [(one.kind, one.first, one.next) for one in parcels] == [("changed", 1, 2), ("fault", 2, 2)]
    assert ReaderFault(bytes(parcels[1].payload)).code == CorruptBatch.code


def test_a_record_that_is_too_large_for_a_step_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_rows, "LARGEST", 10)
    records = [PlainRecord(n, 1, b"k", b"x" * (20 if n == 2 else 2), []) for n in range(4)]
    parcel = data_parcel(WHERE, 0, 4, make_batch(records, base=0).data, [])
    parcels = through([pack([parcel])], random.Random(1))
    assert [(one.kind, one.next) for one in parcels] == [("changed", 2), ("fault", 2)]


@given(st.lists(st.integers(0, 9 << 20), max_size=20))
def test_behind_each_answer_and_behind_many_bytes_a_group_is_full(sizes: list[int]) -> None:
    """All rows of an answer have gone on: the group is complete, and one row is behind it."""
    sent, waiting = 0, 0
    with mock.patch.object(record_rows, "PIECE_BYTES", 64):
        rows = [pack([Parcel(WHERE._replace(topic="other"), 0, 1, "gap", b"x" * (size >> 20))]) for size in sizes]
        for batch in RecordRows(lambda _: False).batches([*rows, pack([FLUSH])]):
            empty = batch.column("head").null_count == batch.num_rows
            sent += batch.num_rows
            waiting = 0 if empty else waiting + sum(len(one or b"") for one in batch.column("payload").to_pylist())
            assert waiting <= 64 + 9
            assert not empty or sent % GROUP_ROWS == 1
    assert sent % GROUP_ROWS == 1


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from([-1, 7, 9])), min_size=1, max_size=30))
def test_sealed_in_place_records_keep_offsets_and_times(steps: list[tuple[int, int]]) -> None:
    offset, records = 100, []
    for step, time in steps:
        offset += step
        records.append(PlainRecord(offset, time, None, b"v", [("h", None)]))
    assert _opened(seal_in_place(records, 0)) == records
