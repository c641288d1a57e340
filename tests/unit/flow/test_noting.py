"""Notes of one shard hold no other up, and what cannot be noted is not copied on."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from twinlog.errors import LedgerUnwritable
from twinlog.flow.budget import Budget
from twinlog.flow.stuck import LIMIT_S
from twinlog.flow.write import Writer
from twinlog.model.names import TopicPartition


@dataclass
class Ledger:
    """One partition of the ledger; it takes notes, or does not answer."""

    partition: int
    topic: str = "__twinlog-ledger.A"
    cluster: Any = field(default_factory=lambda: SimpleNamespace(leader=lambda *_: None))
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    taken: int = 0

    async def write(self, entries: list[Any]) -> int:
        await self.answers.wait()
        self.taken += len(entries)
        return 0


@dataclass
class Box:
    """A partition that copies without end."""

    shard: int
    partition: TopicPartition
    remote: str = "A.orders-0"
    has_news: bool = True
    stopped: bool = False
    idle: bool = True
    hindered_since: float | None = None
    awaited_since: float | None = None
    faults: list[Any] = field(default_factory=list)

    def entries(self) -> list[str]:
        return ["state"]

    def take_unheard(self) -> list[Any]:
        return []

    def collect(self) -> int:
        return 0

    def fault(self, fault: Any) -> None:
        self.faults.append(fault)
        self.stopped = True


def writer_of_two_shards() -> tuple[Writer, list[Ledger], list[Box]]:
    link = cast("Any", SimpleNamespace(name="A->B", writing=SimpleNamespace(max_request_bytes=1 << 20)))
    writer = Writer(link, cast("Any", None), cast("Any", None), Budget(1 << 20))
    ledgers, boxes = [Ledger(1), Ledger(2)], []
    for shard, ledger in enumerate(ledgers):
        watch = SimpleNamespace(told=True, noted=lambda *_: None)
        owner = SimpleNamespace(
            shard=shard, ledger=ledger, view=SimpleNamespace(states={}), ownership=SimpleNamespace(watch=watch)
        )
        where = TopicPartition("orders", shard)
        boxes.append(Box(shard, where))
        writer.owners[shard] = cast("Any", owner)
        writer.boxes[where] = cast("Any", boxes[-1])
    return writer, ledgers, boxes


@pytest.mark.proves("R8", "R11", "R14")
def test_a_ledger_that_takes_no_notes_stops_its_own_partitions_and_holds_no_other_up() -> None:
    async def story() -> None:
        writer, (stuck, fine), (lost, copying) = writer_of_two_shards()
        fine.answers.set()
        for turn in range(1, 6):
            assert writer.notes.flush()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert (stuck.taken, fine.taken) == (0, turn)
        assert set(writer.notes.under_way) == {0}
        writer.lanes.heard_at = time.monotonic()
        assert not writer.relieve(), "an election passes by itself"
        writer.notes.under_way[0] -= LIMIT_S
        assert writer.relieve()
        assert not writer.relieve(), "given up once"
        (fault,) = lost.faults
        assert isinstance(fault, LedgerUnwritable)
        assert "__twinlog-ledger.A-1 takes no notes: it has no leader" in str(fault)
        assert not copying.faults
        stuck.answers.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (stuck.taken, set(writer.notes.under_way)) == (1, set())

    asyncio.run(story())


def test_the_end_of_an_epoch_waits_for_notes_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinlog.flow.noting.LIMIT_S", 0.2)

    async def story() -> None:
        writer, (_, fine), boxes = writer_of_two_shards()
        fine.answers.set()
        for box in boxes:
            box.entries = lambda box=box: setattr(box, "has_news", False) or ["state"]  # type: ignore[method-assign, misc, func-returns-value]
        began = time.monotonic()
        await writer.notes.flush_all(lambda: False)
        assert 0.15 < time.monotonic() - began < 5
        assert fine.taken == 1
        for task in writer._tasks:
            task.cancel()

    asyncio.run(story())
