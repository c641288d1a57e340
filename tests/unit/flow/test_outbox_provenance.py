"""The outbox with records that are left out because they came from the target: by the reader, or by their headers.

Whatever happens, what is left out is never written, counted once, and nothing else is lost, doubled or out of order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.batches import Made, make_batch, payload
from tests.kit.outbox_world import WHERE, World, source_log

from twinlog.flow import outbox
from twinlog.flow.marks import HopMarks
from twinlog.flow.parcel import Parcel, data_parcel
from twinlog.flow.shape import Shaper
from twinlog.model.routes.provenance import HEADER, ClusterIds, Hop, Provenance, parse_overrides, read_hops
from twinlog.wire.batch import read_header
from twinlog.wire.codec import PlainRecord

ENDS = ClusterIds("here", "there")
HOME = (HEADER, Hop("there", WHERE.topic, 9).encode())
AWAY = (HEADER, Hop("elsewhere", WHERE.topic, 9).encode())

WAYS: list[list[tuple[str, bytes | None]]] = [[], [("trace", b"1")], [AWAY], [HOME], [AWAY, HOME]]


@dataclass
class BatchWorld(World):
    """Some batches were written by a link from the target: the reader leaves them out and says so."""

    def __post_init__(self) -> None:
        self.home = {made.data for made in self.source if self.rng.random() < 0.4 and made.data[16] == 2}
        super().__post_init__()

    def parcel_of(self, chosen: list[Made]) -> Parcel:
        returned = [
            (max(self.position, read_header(made.data).base_offset), made.next_offset)
            for made in chosen
            if made.data in self.home
        ]
        kept = payload(made for made in chosen if made.data not in self.home)
        return data_parcel(WHERE, self.position, chosen[-1].next_offset, kept, returned)

    def expected(self) -> list[PlainRecord]:
        return [record for made in self.source if made.data not in self.home for record in made.records]

    def returned(self) -> int:
        home = [made for made in self.source if made.data in self.home]
        return sum(made.next_offset - read_header(made.data).base_offset for made in home)


@dataclass
class HeaderWorld(World):
    """Some records name the target in their headers."""

    def make_shaper(self) -> Shaper:
        return replace(super().make_shaper(), marks=HopMarks(Provenance("header"), ENDS, WHERE.topic, WHERE.topic))

    def expected(self) -> list[PlainRecord]:
        return [record for record in super().expected() if HOME not in record.headers]

    def found(self) -> list[PlainRecord]:
        bare = []
        for record in super().found():
            *before, last = record.headers
            assert read_hops([last])[0][:2] == ("here", WHERE.topic)
            bare.append(record._replace(headers=before))
        return bare

    def returned(self) -> int:
        return len(super().expected()) - len(self.expected())


def marked_log(rng: random.Random) -> list[Made]:
    """Batches whose records have been elsewhere, at home, or nowhere."""
    log = []
    for made in source_log(rng):
        if made.data[16] != 2 or made.records[0].timestamp == 5_555:
            log.append(made)
            continue
        records = [record._replace(headers=list(rng.choice(WAYS))) for record in made.records]
        header = read_header(made.data)
        log.append(make_batch(records, header.codec, base=header.base_offset, next_offset=made.next_offset))
    return log


@pytest.mark.proves("R1", "R2", "R3", "R7", "R9")
@settings(max_examples=60)
@given(st.integers(0, (1 << 32) - 1), st.booleans())
def test_what_came_from_the_target_is_left_out_and_counted_once_whatever_happens(seed: int, headers: bool) -> None:
    rng = random.Random(seed)
    with mock.patch.object(outbox, "SEAL_AT", 3):
        world: BatchWorld | HeaderWorld = (
            HeaderWorld(rng, marked_log(rng)) if headers else BatchWorld(rng, source_log(rng))
        )
        world.live(rng.randint(0, 250))
        world.settle_everything(until=world.end)
        world.flush()
        world.check_all()
        assert world.saved is not None
        assert world.saved.returned == world.returned()


def test_overrides_let_records_come_home_with_one_more_hop() -> None:
    provenance = Provenance("header", overrides=parse_overrides("there,orders,5-10"))
    marks = HopMarks(provenance, ENDS, WHERE.topic, WHERE.topic)
    early = (HEADER, Hop("there", WHERE.topic, 4).encode())
    records = [PlainRecord(7, 1, b"k", None, [HOME]), PlainRecord(8, 1, b"k", b"", [early])]
    kept, returned = marks.mark(records)
    assert returned == [8]
    (only,) = kept
    assert [hop.cluster for hop in read_hops(only.headers)] == ["there", "here"]
    assert (only.offset, only.timestamp, only.key, only.value) == (7, 1, b"k", None)
