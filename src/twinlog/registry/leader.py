"""How the leader writes: it fences earlier leaders, reads up to the fence, then writes in rounds. Runs in the loop.

    take over (producer epoch + 1) -> plant a marker -> read up to it -> plan, write, answer; plan, write, answer …

From the marker on the broker refuses what an older leader writes, even what still waits in a socket. So an id that is
answered is in the log before any marker of a later leader, and that leader has read it before it gives an id.
Orders that come while a batch is under way are planned together as the next one.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import ClusterError, LogFenced, OwnershipLost
from twinlog.logs.append import BATCH_BYTES, LogWriter
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition
from twinlog.registry.checking import checked
from twinlog.registry.records import Record
from twinlog.registry.refusals import Refusal, store_failed, timed_out
from twinlog.registry.store import PARTITION, TopicReader
from twinlog.registry.writes.round import CheckAgain, NextRound, Order, Plan, Round, Written
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence, Producer

log = logging.getLogger("twinlog.registry.leader")

_MOST_ORDERS: Final = 256
_MOST_BYTES: Final = 400_000
_SETTLE_S: Final = 10.0
_NAME: Final = "schema registry"


class LeadershipLost(Exception):
    """Another instance leads: ask that one. Nothing of the order was written."""


@dataclass
class _Waiting:
    order: Order
    answer: asyncio.Future[Written]


@dataclass
class Leader:
    """One term of leadership. Ends when it is fenced or stopped; a new term is a new object."""

    cluster: Cluster
    reader: TopicReader
    transactional_id: str
    has_contact: Callable[[], bool]
    timeout_s: float
    on_ready: Callable[[], None] = lambda: None
    ready: bool = False
    rounds: int = 0
    written: int = 0
    _queue: deque[_Waiting] = field(default_factory=deque)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False
    _producer: Producer | None = None
    _sequence: int = 0

    async def run(self) -> None:
        """Take over and write until the term ends. Raises ClusterError when the cluster refuses."""
        try:
            writer = await self._take_over()
            self.ready = not self._ended
            self.on_ready()
            while not self._ended:
                await self._came.wait()
                self._came.clear()
                while self._queue and not self._ended:
                    await self._round(writer)
        finally:
            self.ready = False
            self._ended = True
            for waiting in self._queue:
                if not waiting.answer.done():
                    waiting.answer.set_exception(LeadershipLost())
            self._queue.clear()

    def stop(self) -> None:
        """End the term after the batch that is under way."""
        self._ended = True
        self.ready = False
        self._came.set()

    async def submit(self, order: Order) -> Written:
        """Carry an order out. Raises Refusal or LeadershipLost."""
        await checked(self.reader.state, order)
        while True:
            if not self.ready:
                raise LeadershipLost
            waiting = _Waiting(order, asyncio.get_running_loop().create_future())
            self._queue.append(waiting)
            self._came.set()
            try:
                async with asyncio.timeout(self.timeout_s):
                    return await waiting.answer
            except TimeoutError:
                raise timed_out("Write to the Kafka store timed out") from None
            except CheckAgain:
                await checked(self.reader.state, order)

    async def _take_over(self) -> LogWriter:
        fence = Fence(self.cluster, _NAME)
        producer = self._producer = await fence.take_over(self.transactional_id, PARTITION)
        await fence.plant_on_ledger(producer, PARTITION, TopicPartition(self.reader.topic, PARTITION))
        while self.reader.markers.get(producer.producer_id, -1) < producer.epoch:
            # Nothing older can follow the marker; all before it must be in the state before the first id is given.
            await self.reader.reached(self.reader.position + 1, 0.5)
        who = f"epoch {producer.epoch} of producer {producer.producer_id}"
        log.info("%s: this instance writes, as %s", self.reader.topic, who)
        return LogWriter(self.cluster, self.reader.topic, PARTITION, producer, lane="registry-write")

    async def _round(self, writer: LogWriter) -> None:
        """Plan what waits, write it as one batch, answer."""
        if not self.has_contact():
            # Frozen, or cut off: somebody else may lead by now. The fence would stop us as well; this is sooner.
            self.stop()
            return
        planned, records = self._plan()
        if not planned:
            return
        if not records:
            self._answer(planned, self.reader.position)
            return
        ts = SYSTEM_CLOCK.now_ms()
        try:
            base = await writer.append([(record.key, record.value) for record in records])
        except (LogFenced, OwnershipLost):
            await self._settle(planned, len(records))
            raise
        except ClusterError as error:
            for waiting, _ in planned:
                if not waiting.answer.done():
                    waiting.answer.set_exception(store_failed(f"Writing to the Kafka store failed: {error}"))
            raise
        self._sequence += len(records)
        self.rounds += 1
        self.written += len(records)
        one_batch = sum(len(record.key) + len(record.value or b"") for record in records) <= BATCH_BYTES
        if base < 0 or not one_batch:  # where it begins, or what lies between its parts, is not known
            await self.reader.caught_up(_SETTLE_S)
            self._answer(planned, self.reader.position)
            return
        if not self.reader.applied(base, records, ts):
            await self.reader.reached(base + len(records), _SETTLE_S)
        self._answer_each(planned, base, ts)

    def _plan(self) -> tuple[list[tuple[_Waiting, Plan]], list[Record]]:
        """Orders of one round, and all their records."""
        current, planned, records, later = Round(), list[tuple[_Waiting, Plan]](), list[Record](), list[_Waiting]()
        size = 0
        while self._queue and len(planned) < _MOST_ORDERS and size < _MOST_BYTES:
            waiting = self._queue.popleft()
            if waiting.answer.done():
                continue  # the client has gone
            if waiting.order.alone and (planned or later):
                self._queue.appendleft(waiting)
                break
            try:
                plan = waiting.order.plan(self.reader.state, current)
            except NextRound:
                later.append(waiting)
                continue
            except (Refusal, CheckAgain) as refusal:
                waiting.answer.set_exception(refusal)
                continue
            except Exception as broken:  # noqa: BLE001  one order that breaks must not end the term
                waiting.answer.set_exception(broken)
                continue
            planned.append((waiting, plan))
            records += plan.records
            size += sum(len(record.key) + len(record.value or b"") for record in plan.records)
            if waiting.order.alone:
                break
        self._queue.extendleft(reversed(later))
        if later or self._queue:
            self._came.set()
        return planned, records

    async def _settle(self, planned: list[tuple[_Waiting, Plan]], count: int) -> None:
        """Find out whether a batch was written before the fence: it was, if it lies before the new leader's marker."""
        self._ended, self.ready = True, False
        producer = self._producer
        if producer is None:
            return
        until = time.monotonic() + _SETTLE_S
        while self.reader.markers.get(producer.producer_id, -1) <= producer.epoch and time.monotonic() < until:
            await self.reader.reached(self.reader.position + 1, 0.5)
        last = self.reader.sequences.get((producer.producer_id, producer.epoch), -1)
        if self.reader.markers.get(producer.producer_id, -1) <= producer.epoch:
            outcome: Exception = timed_out("Another instance leads; whether the order was written is not known yet")
        elif last >= self._sequence + count - 1:
            self._answer(planned, self.reader.position)
            return
        else:
            outcome = LeadershipLost()
        for waiting, _ in planned:
            if not waiting.answer.done():
                waiting.answer.set_exception(outcome)

    @staticmethod
    def _answer(planned: list[tuple[_Waiting, Plan]], end: int) -> None:
        for waiting, plan in planned:
            if not waiting.answer.done():
                waiting.answer.set_result(Written(plan, end))

    @staticmethod
    def _answer_each(planned: list[tuple[_Waiting, Plan]], base: int, ts: int) -> None:
        """The same where every order's own offsets are known: no order of a round depends on another one of it."""
        first = base
        for waiting, plan in planned:
            end = first + len(plan.records)
            if not waiting.answer.done():
                waiting.answer.set_result(Written(plan, end, first if plan.records else None, ts))
            first = end
