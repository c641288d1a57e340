"""What an outbox does when a partition cannot go on, and what it counts and keeps then."""

from __future__ import annotations

import pytest
from tests.kit.batches import Made, Signature, at, make_batch, read_back
from tests.kit.outboxes import PRODUCER, WHERE, made_at, make_box, parcel
from tests.kit.targetlog import ProducerState, Remembered, TargetLog

from twinlog.errors import CorruptBatch, LedgerDisagrees, OffsetGap
from twinlog.flow.outbox import Outbox
from twinlog.flow.outgoing import Outgoing
from twinlog.flow.parcel import Kind, Parcel
from twinlog.flow.reader_fault import fault_note
from twinlog.flow.window import FEW
from twinlog.model.ledger.records import Gap
from twinlog.model.ledger.runs import Run
from twinlog.wire.batch import read_header


def sent(box: Outbox) -> list[Outgoing]:
    out = []
    while (made_at := box.next_to_send()) is not None:
        out.append(made_at)
    return out


def acknowledge(box: Outbox, *outs: Outgoing) -> None:
    for out in outs:
        box.acknowledge(out, out.first)
    box.doom_if_done()


def stamped(out: Outgoing) -> bytes:
    return b"".join(out.parts)


def reader_fault() -> Parcel:
    fault = OffsetGap(*WHERE, 2, 9)
    return Parcel(WHERE, 2, 2, "fault", fault_note(fault))


@pytest.mark.proves("R1", "R7")
def test_a_fault_counts_only_when_everything_before_it_is_acknowledged() -> None:
    box = make_box()
    box.intake.parcels += [parcel(made_at(0)), parcel(made_at(1)), reader_fault(), parcel(made_at(9), first=2)]
    enqueued = sum(len(p.payload) for p in box.intake.parcels)
    first, second = sent(box)
    acknowledge(box, second)
    assert box.opened.state.phase == "copying"
    acknowledge(box, first)
    state = box.opened.state
    assert (state.phase, state.source_next, state.records) == ("faulted", 2, 2)
    assert state.fault is not None
    assert (state.fault.code, state.fault.facts["earliest"]) == ("OFFSET_GAP", 9)
    assert "deleted before they were copied" in state.fault.says
    assert box.stopped
    assert box.next_to_send() is None
    assert box.freed == enqueued


@pytest.mark.proves("R7", "R9")
def test_the_same_fault_keeps_its_beginning_and_ends_with_the_next_record() -> None:
    box = make_box()
    box.fault(CorruptBatch(*WHERE, 3, "bad"))
    assert box.opened.state.fault is not None
    box.opened.state.fault.since_ms = 1_234
    again = make_box(box.opened.state)
    again.fault(CorruptBatch(*WHERE, 3, "still bad"))
    assert again.opened.state.fault is not None
    assert (again.opened.state.fault.since_ms, again.opened.state.fault.facts["problem"]) == (1_234, "still bad")
    well = make_box(again.opened.state)
    well.intake.parcels.append(parcel(made_at(0)))
    acknowledge(well, *sent(well))
    assert (well.opened.state.phase, well.opened.state.fault) == ("copying", None)


@pytest.mark.proves("R1", "R7")
def test_a_hole_between_parcels_is_never_jumped_over() -> None:
    box = make_box()
    box.intake.parcels += [parcel(made_at(0)), parcel(made_at(5))]
    acknowledge(box, *sent(box))
    state = box.opened.state
    assert state.fault is not None
    assert (state.fault.code, state.source_next) == ("PARCELS_MISSING", 1)


@pytest.mark.proves("R7")
def test_a_gap_is_counted_once_and_only_where_nothing_was_copied() -> None:
    box = make_box()
    box.intake.parcels += [
        parcel(made_at(0)),
        Parcel(WHERE, 0, 1, "gap", b"known already"),
        Parcel(WHERE, 0, 7, "gap", b"retention"),
        parcel(made_at(7)),
    ]
    acknowledge(box, *sent(box))
    assert (box.opened.state.source_next, box.opened.state.skipped) == (8, 6)
    gaps = [entry for entry in box.entries() if isinstance(entry, Gap)]
    assert [(gap.first, gap.next, gap.reason) for gap in gaps] == [(1, 7, "retention")]
    assert box.entries()[:-1] == []  # told once


@pytest.mark.proves("R11")
def test_parcels_without_anything_to_send_give_their_room_back() -> None:
    box = make_box()
    old = made_at(0)
    box.opened.state.source_next = box.intake.shaped_to = 50
    box.intake.parcels += [parcel(old), Parcel(WHERE, 1, 60, "data", b"")]
    assert sent(box) == []
    assert box.idle
    assert (box.freed, box.opened.state.source_next) == (len(old.data), 60)


def taken_over(*written: Made) -> Outbox:
    """A box whose target already holds these batches."""
    box = make_box()
    for made in written:
        box.opened.find(read_header(made.data), made.data, PRODUCER)
    return box


def on_target(offset: int, *values: bytes) -> Made:
    records = [at(offset + i, value) for i, value in enumerate(values)]
    return make_batch(records, signature=Signature(PRODUCER.producer_id, 0, offset))


@pytest.mark.proves("R7")
@pytest.mark.parametrize("kind", ["fault", "gap"])
def test_a_gap_begins_behind_what_an_older_owner_copied_and_did_not_note(kind: Kind) -> None:
    box = taken_over(on_target(0, b"a", b"b", b"c"))
    note = fault_note(OffsetGap(*WHERE, 0, 9)) if kind == "fault" else b"retention"
    box.intake.parcels += [Parcel(WHERE, 0, 9, kind, note), parcel(made_at(9))]
    acknowledge(box, *sent(box))
    state = box.opened.state
    if kind == "fault":
        assert state.fault is not None
        assert (state.fault.facts["wanted"], state.fault.facts["earliest"], state.records) == (3, 9, 0)
    else:
        (gap,) = [entry for entry in box.entries() if isinstance(entry, Gap)]
        assert (gap.first, gap.next, state.skipped, state.source_next, state.records) == (3, 9, 6, 10, 1)


@pytest.mark.proves("R1", "R2", "R7")
@pytest.mark.parametrize("kind", ["fault", "gap"])
def test_what_was_copied_before_the_source_deleted_it_is_no_gap(kind: Kind) -> None:
    box = taken_over(on_target(0, b"a", b"b", b"c"))
    note = fault_note(OffsetGap(*WHERE, 0, 2)) if kind == "fault" else b"retention"
    box.intake.parcels += [Parcel(WHERE, 0, 2, kind, note), parcel(made_at(2, b"c")), parcel(made_at(3, b"d"))]
    outs = sent(box)
    assert [out.first for out in outs] == [3]
    acknowledge(box, *outs)
    state = box.opened.state
    assert (state.fault, state.skipped, state.source_next) == (None, 0, 4)
    assert not [entry for entry in box.entries() if isinstance(entry, Gap)]


@pytest.mark.proves("R1", "R7")
def test_a_source_that_changed_copied_records_is_noticed() -> None:
    """Offset 1 was copied as b. That it holds c now is no work of a cleaner."""
    box = taken_over(on_target(0, b"a", b"b"))
    box.intake.parcels.append(parcel(made_at(0, b"a"), made_at(1, b"c"), first=0))
    assert sent(box) == []
    assert isinstance(box.intake.doom, LedgerDisagrees)
    assert "source offset 1" in str(box.intake.doom)


@pytest.mark.proves("R1", "R2")
def test_a_source_that_was_cleaned_since_loses_and_doubles_nothing() -> None:
    """Counting alone would take c, which is new, for b, which the source's cleaner removed after it was copied."""
    box = taken_over(on_target(0, b"a", b"b"))
    box.intake.parcels.append(parcel(made_at(0, b"a"), made_at(2, b"c"), first=0))
    (out,) = sent(box)
    assert out.piece is not None
    assert (out.piece.first, box.opened.state.target_next) == (2, 2)
    assert list(box.runs) == [Run(0, 0, 1)]


@pytest.mark.proves("R2")
def test_the_position_waits_until_what_was_found_is_met() -> None:
    """The next owner judges by it what is still to be met: it must not pass offsets that hold nothing any more."""
    box = taken_over(on_target(0, b"a", b"b"))
    box.intake.parcels.append(Parcel(WHERE, 0, 7, "data", b""))
    assert sent(box) == []
    assert box.opened.state.source_next == 0
    box.close()
    assert box.opened.state.phase == "copying"


@pytest.mark.proves("R1", "R2")
def test_a_batch_that_the_target_s_cleaner_removed_is_counted_by_its_sequence_numbers() -> None:
    state = make_box().opened.state
    state.producer_id, state.producer_epoch, state.sequence = PRODUCER.producer_id, 0, 0
    box = make_box(state)
    for made in (on_target(0, b"a"), on_target(3, b"d")):
        box.opened.find(read_header(made.data), made.data, PRODUCER)
    box.intake.parcels.append(parcel(*(made_at(offset, b"%c" % (ord("a") + offset)) for offset in range(5))))
    assert [out.piece.first for out in sent(box) if out.piece] == [4]
    assert list(box.runs) == [Run(0, 0, 4)]


@pytest.mark.proves("R1", "R2")
def test_a_batch_that_was_noted_in_part_is_met_from_there() -> None:
    """An older owner met a of what was written, noted it and crashed: only b and c are still to be met."""
    box = make_box()
    box.opened.state.target_next, box.opened.state.source_next, box.intake.shaped_to = 1, 1, 1
    written = on_target(0, b"a", b"b", b"c")
    box.opened.find(read_header(written.data), written.data, PRODUCER)
    box.intake.parcels.append(parcel(*(made_at(offset, b"%c" % (ord("a") + offset)) for offset in range(5)), first=1))
    assert [out.piece.first for out in sent(box) if out.piece] == [3, 4]
    assert list(box.runs) == [Run(1, 1, 2)]


@pytest.mark.proves("R1")
def test_the_rest_of_a_piece_may_need_several_batches() -> None:
    """Encoding the rest anew may give more than made_at batch: none of them may be left out."""
    box = taken_over(on_target(0, b"a"))
    rest = [at(1, timestamp=-1), at(2, timestamp=7), at(3, timestamp=8)]
    box.intake.parcels.append(parcel(make_batch([at(0, b"a"), *rest])))
    outs = sent(box)
    assert [record for out in outs for record in read_back(stamped(out))] == [
        record._replace(offset=offset) for record, offset in zip(rest, (0, 0, 1), strict=True)
    ]


@pytest.mark.proves("R9")
def test_what_was_found_counts_for_the_next_opening_in_the_same_epoch() -> None:
    box = make_box()
    box.opened.sequence = 4
    again = Outbox(box.ownership, WHERE, box.shaper, box.opened)
    assert again.sequence == again.ownership.sequences[WHERE] == 4
    own = on_target(0, b"a", b"b")
    signed = make_batch(own.records, signature=Signature(PRODUCER.producer_id, PRODUCER.epoch, 4))
    box.opened.find(read_header(signed.data), signed.data, PRODUCER)
    assert box.opened.sequence == 6


def test_a_target_that_compacted_copied_records_is_no_trouble() -> None:
    kept = make_batch([at(1, b"b")], base=0, signature=Signature(PRODUCER.producer_id, 0, 0))
    box = taken_over(kept)
    box.intake.parcels.append(parcel(made_at(0, b"a"), made_at(1, b"b"), made_at(2, b"c")))
    (out,) = sent(box)
    assert out.piece is not None
    assert (out.piece.first, box.opened.state.target_next) == (2, 2)


def test_batches_of_others_are_not_taken_for_ours() -> None:
    stranger = make_batch([at(0, b"a")], signature=Signature(99, 0, 0))
    assert not taken_over(stranger).unnoted


@pytest.mark.proves("R2")
def test_sequence_numbers_go_round() -> None:
    box, log = make_box(), TargetLog()
    box.sequence = (1 << 31) - 2
    log.producers[PRODUCER.producer_id] = _writer_at((1 << 31) - 3)
    box.intake.parcels += [parcel(make_batch([at(0), at(1), at(2)])), parcel(made_at(3))]
    outs = sent(box)
    assert [log.append(stamped(out)) for out in outs] == [(0, 0), (0, 3)]
    assert [log.append(stamped(out)) for out in outs] == [(0, 0), (0, 3)]
    acknowledge(box, *outs)
    assert box.ownership.sequences[WHERE] == 2


def _writer_at(last: int) -> ProducerState:
    state = ProducerState(PRODUCER.epoch)
    state.batches.append(Remembered(last, last, -1))
    return state


@pytest.mark.proves("R2")
def test_a_partition_with_a_batch_adrift_is_not_closed() -> None:
    box = make_box()
    box.intake.parcels.append(parcel(made_at(0)))
    sent(box)
    box.drop()
    again = Outbox(box.ownership, WHERE, box.shaper, box.opened)
    again.close()
    assert again.opened.state.phase == "copying"
    clean = make_box()
    clean.close()
    assert clean.opened.state.phase == "closed"


@pytest.mark.proves("R3")
def test_the_first_batch_to_a_partition_that_may_not_know_us_travels_alone() -> None:
    box = make_box(fenced=False)
    now = 1_000.0
    box.clock = lambda: now
    box.intake.parcels += [parcel(made_at(offset)) for offset in range(8)]
    (first,) = sent(box)
    acknowledge(box, first)
    assert len(sent(box)) == FEW
    acknowledge(box, *list(box.under_way))
    acknowledge(box, *sent(box))
    assert box.idle
    now += 3_600  # the broker may have been told to forget producers within the hour
    box.intake.parcels += [parcel(made_at(offset)) for offset in range(8, 12)]
    (again,) = sent(box)
    acknowledge(box, again)
    assert len(sent(box)) == 3


@pytest.mark.proves("R7", "R8")
def test_a_copy_that_was_created_anew_and_took_the_next_batch_by_its_name_is_a_fault_of_the_partition() -> None:
    box = make_box()
    box.intake.parcels += [parcel(*(made_at(offset) for offset in range(5)))]
    acknowledge(box, *sent(box))
    assert box.opened.state.target_next == 5
    box.intake.parcels += [parcel(made_at(5))]
    (out,) = sent(box)
    box.acknowledge(out, 0)
    state = box.opened.state
    assert (state.phase, state.source_next, state.target_next) == ("faulted", 5, 5)
    assert state.fault is not None
    assert (state.fault.code, state.fault.facts["found"]) == ("TARGET_LOG_SHRUNK", 0)


def long_line(count: int) -> tuple[Outbox, TargetLog, list[Outgoing]]:
    """A line that holds more batches than a broker remembers, all of them on the target, all answers lost."""
    box, log = make_box(), TargetLog()
    log.plant(PRODUCER.producer_id, PRODUCER.epoch)
    box.intake.parcels += [parcel(made_at(offset, b"%d" % offset)) for offset in range(count + 2)]
    outs = [out for _ in range(count) if (out := box.next_to_send(count)) is not None]
    assert box.next_to_send(count) is None
    for out in outs:
        log.append(stamped(out))
        log.stranger_writes(1)  # so that offsets cannot be counted
        assert box.refuse(out)
    return box, log, outs


@pytest.mark.proves("R1", "R2", "R3")
def test_batches_that_the_broker_took_and_remembers_no_more_are_found_in_its_log() -> None:
    box, log, outs = long_line(12)
    (first,) = sent(box)
    assert (first, log.append(stamped(first))) == (outs[0], (45, -1))
    assert box.refuse(first)
    assert first.repeated
    assert box.recall(log.written(PRODUCER.producer_id, PRODUCER.epoch))
    assert box.position == 12
    assert list(box.runs)[:2] == [Run(0, 1, 1), Run(1, 3, 1)]
    for out in sent(box):
        box.acknowledge(out, log.append(stamped(out))[1])
    assert box.idle
    assert [record.value for record in log.records()] == [b"%d" % offset for offset in range(14)]


@pytest.mark.proves("R1", "R3")
def test_a_batch_that_is_not_in_the_log_is_not_taken_for_acknowledged() -> None:
    box, log, _ = long_line(12)
    written = log.written(PRODUCER.producer_id, PRODUCER.epoch)
    del written[0, 0]
    (first,) = sent(box)
    box.refuse(first)
    assert not box.recall(written)
    assert box.position == 0


@pytest.mark.proves("R1")
def test_a_shorter_batch_with_the_same_first_record_that_came_late_is_not_taken_for_this_one() -> None:
    earlier, box, log = make_box(), make_box(), TargetLog()
    log.plant(PRODUCER.producer_id, PRODUCER.epoch)
    earlier.intake.parcels += [parcel(made_at(0))]
    box.intake.parcels += [parcel(make_batch([at(0), at(1)]))]
    ((late,), (out,)) = sent(earlier), sent(box)
    assert (late.sequences, out.sequences) == ((0, 0), (0, 1))
    box.refuse(out)
    log.append(stamped(late))
    assert not box.recall(log.written(PRODUCER.producer_id, PRODUCER.epoch))
    assert box.position == 0


@pytest.mark.proves("R3", "R9")
def test_repeats_follow_the_first_one_without_waiting_and_stop_when_one_is_refused() -> None:
    box, _, outs = long_line(12)
    assert sent(box) == outs[:1]
    box.acknowledge(outs[0], 1)
    assert box.has_more
    repeated = sent(box)
    assert repeated == outs[1:]
    box.refuse(repeated[3])
    assert sent(box) == [], "answers of the others are outstanding"
    for out in (*repeated[:3], *repeated[4:]):
        box.acknowledge(out, 10 * out.first)
    assert sent(box) == [repeated[3]]
