"""Owners that die while both cleaners work: what was written and not noted may be thinned out on either side."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.kit.batches import NONE, Made, make_batch, payload, read_back, rewritten
from tests.kit.outbox_world import ORIGIN, WHERE, World
from tests.kit.targetlog import STRANGER, TargetLog

from twinlog.flow import outbox
from twinlog.flow.parcel import Parcel
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.translation import Exact
from twinlog.wire.batch import read_header
from twinlog.wire.codec import PlainRecord

KEYS = 5


def keyed_log(rng: random.Random) -> list[Made]:
    """Batches of few keys; each value is there once. Some offsets hold no record, as behind transactions."""
    log: list[Made] = []
    offset = ORIGIN
    for _ in range(rng.randint(1, 25)):
        offset += rng.choice([0, 0, 0, 1, 3])
        count = rng.choice([1, 1, 2, 3, 10])
        records = [
            PlainRecord(at, at % 7, b"%d" % rng.randrange(KEYS), b"%d" % at, []) for at in range(offset, offset + count)
        ]
        log.append(make_batch(records, NONE))
        offset = log[-1].next_offset
    return log


def cleaned(log: list[Made], below: int) -> list[Made]:
    """The log when the cleaner has worked up to an offset: of each key the newest record there is left."""
    newest = {r.key: r.offset for made in log for r in made.records if r.offset < below}
    left: list[Made] = []
    for made in log:
        kept = [r for r in made.records if r.offset >= below or newest[r.key] == r.offset]
        if kept:
            base = read_header(made.data).base_offset
            left.append(make_batch(kept, NONE, base=base, next_offset=made.next_offset))
    return left


@dataclass
class CleanedTarget(TargetLog):
    """A target that remembers every record it ever took."""

    taken: dict[bytes | None, int] = field(default_factory=dict)

    def append(self, batch: bytes) -> tuple[int, int]:
        before = self.end
        error, base = super().append(batch)
        if error == 0 and base == before:
            for record in read_back(batch):
                assert record.value not in self.taken, f"the record at source offset {record.value!r} is there twice"
                self.taken[record.value] = base + record.offset - read_header(batch).base_offset
        return error, base

    def clean(self, below: int) -> None:
        """As `cleaned`; a producer's last batch stays, without its records if need be, and so do markers."""
        newest: dict[bytes | None, int] = {}
        for batch in self.batches:
            if _is_own(batch):
                newest |= {r.key: r.offset for r in read_back(batch) if r.offset < below}
        last = max((i for i, b in enumerate(self.batches) if _is_own(b)), default=-1)
        left = []
        for index, batch in enumerate(self.batches):
            kept = _thinned(batch, newest, below) if _is_own(batch) else batch
            if kept is not None or index == last:
                left.append(kept if kept is not None else _emptied(batch))
        self.batches = left


def _is_own(batch: bytes) -> bool:
    header = read_header(batch)
    return not header.is_control and header.producer_id != STRANGER


def _thinned(batch: bytes, newest: dict[bytes | None, int], below: int) -> bytes | None:
    header = read_header(batch)
    kept = [r for r in read_back(batch) if r.offset >= below or newest[r.key] == r.offset]
    if not kept:
        return None
    made = make_batch(kept, NONE, base=header.base_offset, next_offset=header.next_offset)
    return rewritten(
        made.data,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
    )


def _emptied(batch: bytes) -> bytes:
    header = read_header(batch)
    size = 61
    return rewritten(batch[:size], length=size - 12, record_count=0, attributes=header.attributes & ~7)


class CleanedWorld(World):
    """One partition of a compacted topic."""

    target: CleanedTarget

    def clean_source(self) -> None:
        self.source = [*cleaned(self.source[:-1], self.rng.randint(ORIGIN, self.end)), self.source[-1]]

    def clean_target(self) -> None:
        self.target.clean(self.rng.randint(0, self.target.end))

    def fetch(self) -> None:
        """Offsets that hold nothing are passed with the batch behind them, or by themselves.

        What is still to be met comes with one fetch: a megabyte is more than these logs hold.
        """
        rest = [made for made in self.source if made.next_offset > self.position]
        if not rest:
            return
        chosen = rest if self.box.unnoted else rest[: self.rng.choice([1, 1, 2, 5, 25])]
        first = read_header(chosen[0].data).base_offset
        if first > self.position and self.rng.random() < 0.3:
            self.box.intake.parcels.append(Parcel(WHERE, self.position, first, "data", b""))
            self.position = first
        parcel = Parcel(WHERE, self.position, chosen[-1].next_offset, "data", payload(chosen))
        self.box.intake.parcels.append(parcel)
        self.enqueued += len(parcel.payload)
        self.position = parcel.next

    def check_nothing_lost(self) -> None:
        assert self.saved is not None
        for made in self.source:
            for record in made.records:
                if record.offset < self.saved.source_next:
                    assert record.value in self.target.taken, f"the record at source offset {record.offset} is lost"

    def check_all(self) -> None:
        self.check_nothing_lost()
        assert self.saved is not None
        # While something is still to be met, the position stays before offsets that hold nothing.
        assert self.saved.source_next == self.end or self.box.unnoted
        order = [int(value or b"") for value in sorted(self.target.taken, key=lambda v: self.target.taken[v])]
        assert order == sorted(order)
        known = PartitionMap(self.saved, self.ledger.parts_of(WHERE))
        here = {r.value for r in self.found()}
        for made in self.source:
            for record in made.records:
                if record.value in here:
                    assert known.to_target(record.offset) == Exact(self.target.taken[record.value])


@pytest.mark.proves("R1", "R2", "R3", "R5", "R9")
@settings(max_examples=60)
@given(st.integers(0, (1 << 32) - 1))
@example(2980)  # batches of others lie between those that the cleaner removed
@example(5536)  # a batch arrives late, and the target forgets its producer
def test_nothing_is_lost_or_doubled_though_cleaners_take_what_was_not_noted(seed: int) -> None:
    rng = random.Random(seed)
    with mock.patch.object(outbox, "SEAL_AT", 3):
        world = CleanedWorld(rng, keyed_log(rng), CleanedTarget())
        for _ in range(rng.randint(0, 12)):
            world.live(rng.randint(0, 30))
            rng.choice((world.clean_source, world.clean_target, world.crash, world.die_while_noting))()
            assert world.box.intake.doom is None, world.box.intake.doom
        world.settle_everything(until=world.end)
        assert world.box.intake.doom is None, world.box.intake.doom
        world.flush()
        world.check_all()
