"""An outbox of one partition, and parcels for it."""

from __future__ import annotations

from tests.kit.batches import Made, at, make_batch, payload

from twinlog.flow.outbox import Outbox
from twinlog.flow.ownership import Ownership
from twinlog.flow.parcel import Parcel
from twinlog.flow.shape import Shaper
from twinlog.flow.takeover import Begin, Opened, fresh_state
from twinlog.model.ledger.records import PartitionState, RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.wire.fence import Producer

WHERE = TopicPartition("orders", 0)
ROSTER = RosterTopic(topic="orders", source_id="s", remote="orders", target_id="t", origins=[0])
PRODUCER = Producer("id", 4_711, 1)


def make_box(state: PartitionState | None = None, *, fenced: bool = True, target_id: str = "t") -> Outbox:
    """A box of a partition that knows its producer, unless it is not fenced."""
    begin = Begin(WHERE, ROSTER.model_copy(update={"target_id": target_id}), state, 0, 0, 1, 0)
    opened = Opened(begin, state or fresh_state(begin, 0), fenced=fenced)
    return Outbox(Ownership(PRODUCER), WHERE, Shaper(WHERE, 1 << 20, 0), opened)


def parcel(*log: Made, first: int | None = None) -> Parcel:
    start = log[0].records[0].offset if first is None else first
    return Parcel(WHERE, start, log[-1].next_offset, "data", payload(log))


def made_at(offset: int, value: bytes = b"value") -> Made:
    return make_batch([at(offset, value)])
