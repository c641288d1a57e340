"""The writer over a long line to a broker in memory, when many answers are lost at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from unittest import mock

import pytest
from tests.kit.batches import at, make_batch, payload
from tests.kit.fake_cluster import FakeBroker
from tests.kit.targetlog import Remembered, TargetLog
from tests.kit.waiting import until

from twinlog.flow.budget import Budget
from twinlog.flow.ownership import Ownership
from twinlog.flow.parcel import FLUSH, Parcel
from twinlog.flow.takeover import Opened, fresh_state
from twinlog.flow.window import FEW
from twinlog.flow.write import Writer
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds
from twinlog.wire.batch import read_header
from twinlog.wire.fence import Producer
from twinlog.wire.producers import LastWrite
from twinlog.wire.written import Written, fetch_written

WHERE = TopicPartition("orders", 0)
ROSTER = RosterTopic(topic="orders", source_id="s", remote="orders", target_id="t", origins=[0])
PRODUCER = Producer("id", 4_711, 1)
BATCHES = 400


@dataclass
class Notes:
    """A ledger that takes everything."""

    written: list[Any] = field(default_factory=list)

    async def write(self, entries: list[Any]) -> int:
        self.written += entries
        return 0


@dataclass
class Owner:
    shard: int = 0
    ownership: Ownership = field(default_factory=lambda: Ownership(PRODUCER))
    ledger: Notes = field(default_factory=Notes)
    view: Any = field(default_factory=lambda: mock.Mock(states={}))

    async def open(self, begins: Any) -> list[Opened]:
        return [Opened(begin, fresh_state(begin, 1), fenced=True) for begin in begins]


def begin() -> Parcel:
    roster = ROSTER.model_dump_json(exclude_none=True)
    rest = '"state": null, "ledger_at": 0, "roster_at": 0, "generation": 1, "shard": 0'
    return Parcel(WHERE, 0, 0, "begin", f'{{"roster": {roster}, {rest}}}'.encode())


def data(offset: int) -> Parcel:
    return Parcel(WHERE, offset, offset + 1, "data", payload([make_batch([at(offset, b"%d" % offset)])]))


def writer_of(broker: FakeBroker) -> Writer:
    link = mock.Mock()
    link.writing.max_request_bytes, link.writing.merge_target_bytes = 1 << 20, 0
    link.provenance.mode = "off"
    return Writer(
        link, ClusterIds("here", "there"), broker.cluster(), Budget(1 << 30), owners={0: cast("Any", Owner())}
    )


async def copy(broker: FakeBroker, lost: int) -> Writer:
    """Copy everything; so many answers are lost when the line is full."""
    writer = writer_of(broker)
    writer.take([begin(), FLUSH])
    await until(lambda: WHERE in writer.boxes)
    box = writer.boxes[WHERE]
    for offset in range(BATCHES):
        writer.budget.take(1)
        writer.take([data(offset)])
    await until(lambda: box.position >= BATCHES // 4 and len(box.under_way) > 2 * FEW)
    broker.lost_answers = lost
    await until(lambda: box.idle or box.stopped)
    await writer.stop()
    return writer


def far_broker() -> tuple[FakeBroker, TargetLog]:
    broker = FakeBroker(delay_s=0.01)
    broker.create("orders")
    log = broker.logs["orders"][0]
    log.plant(PRODUCER.producer_id, PRODUCER.epoch)
    return broker, log


@pytest.mark.proves("R1", "R2", "R3", "R9")
def test_more_lost_answers_than_a_broker_remembers_batches_lose_and_double_nothing() -> None:
    broker, log = far_broker()
    writer = asyncio.run(copy(broker, lost=40))
    assert [record.value for record in log.records()] == [b"%d" % offset for offset in range(BATCHES)]
    box = writer.boxes[WHERE]
    assert (box.stopped, box.position, box.target_position) == (False, BATCHES, 1 + BATCHES)
    assert writer.budget.failure is None


def truncate(log: TargetLog, when: Callable[[], bool]) -> None:
    """An unclean election: the broker counts from an earlier place, and the batches behind it are nowhere."""
    append = log.append

    def truncating(batch: bytes) -> tuple[int, int]:
        answer = append(batch)
        if when():
            del log.batches[-60:]
            last = read_header(log.batches[-1])
            log.end = last.next_offset
            remembered = log.producers[PRODUCER.producer_id].batches
            remembered.clear()
            remembered.append(Remembered(last.base_sequence, last.base_sequence, last.base_offset))
        return answer

    log.append = truncating  # type: ignore[method-assign]


@pytest.mark.proves("R1", "R7")
@pytest.mark.parametrize("lost", [0, 20])
def test_a_log_that_lost_acknowledged_records_is_a_fault_that_says_so_at_once(lost: int) -> None:
    broker, log = far_broker()
    truncate(log, lambda: broker.lost_answers == 1 if lost else len(log.batches) == BATCHES // 2)
    box = asyncio.run(copy(broker, lost)).boxes[WHERE]
    fault = box.opened.state.fault
    assert box.stopped
    assert fault is not None
    assert (fault.code, fault.facts["found"]) == ("TARGET_LOG_SHRUNK", log.end)
    assert log.end < fault.facts["expected"] == box.target_position < BATCHES


def test_what_a_partition_holds_is_told_by_sequence_number() -> None:
    broker, log = far_broker()
    asyncio.run(copy(broker, lost=0))

    async def ask() -> Written:
        cluster = broker.cluster()
        await cluster.refresh(["orders"])
        return await fetch_written(cluster, WHERE, 101, PRODUCER)

    written = asyncio.run(ask())
    assert written.batches == {(sequence, sequence): sequence + 1 for sequence in range(100, BATCHES)}
    assert written.last == LastWrite(1, BATCHES - 1)
    assert not written.misses(BATCHES - 1)
    assert written.misses(BATCHES)
    assert log.end == 1 + BATCHES


def test_an_owner_of_another_epoch_has_nothing_there() -> None:
    assert Written({}, 2, LastWrite(1, 7)).misses(3)
    assert not Written({}, 2, None).misses(3), "who does not say is asked again"
    assert not Written({}, 2, LastWrite(2, 3)).misses(0x7FFFFFFF), "sequence numbers go round"
