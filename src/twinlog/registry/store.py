"""Follows the topic `_schemas`: records become state, and callers wait for an offset. Runs in the loop.

Everything is read raw and uncommitted, as Confluent's reader does. A record that cannot be understood is noted as a
fault and passed over; the reader itself ends with the service only, and a reader that cannot read is a visible state.
"""

import asyncio
import gc
import heapq
import itertools
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import ClusterUnreachable
from twinlog.logs.follow import follow
from twinlog.logs.read import Batches
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.registry.records import Record
from twinlog.registry.snapshot import Kept, Snapshot
from twinlog.registry.state import RecordFault, State
from twinlog.wire.codec import open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.offsets import EARLIEST, OffsetsRefused, fetch_offset

log = logging.getLogger("twinlog.registry.store")

_MOST_FAULTS: Final = 100
_PAUSE_S: Final = 0.1
_END: Final = -1
_LANE: Final = "registry-read"
_MOST_TOLD: Final = 4096
PARTITION: Final = 0


@dataclass
class StoreStatus:
    """How the reading stands, for status and health."""

    loaded: bool = False
    end_at_start: int | None = None
    faults: deque[RecordFault] = field(default_factory=lambda: deque(maxlen=_MOST_FAULTS))
    fault_count: int = 0
    last_read_at: float | None = None
    snapshot_of: float | None = None  # when what is served was written down, while Kafka cannot be read
    last_error: str | None = None


@dataclass
class TopicReader:
    """Follows the topic from its beginning and keeps the state."""

    cluster: Cluster
    topic: str
    state: State = field(default_factory=State)
    status: StoreStatus = field(default_factory=StoreStatus)
    loaded: asyncio.Event = field(default_factory=asyncio.Event)
    position: int = 0
    """The next offset to be read; everything before it is in the state."""
    markers: dict[int, int] = field(default_factory=dict)
    """Producer id -> the epoch of its last marker: nothing of an older epoch can follow."""
    sequences: dict[tuple[int, int], int] = field(default_factory=dict)
    """(producer id, epoch) -> the sequence number of its last record."""
    snapshot: Snapshot | None = None
    home_changed: Callable[[], None] = lambda: None
    _fresh: State | None = None  # read from the topic while a snapshot is served
    _waiting: list[tuple[int, int, asyncio.Future[None]]] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    _told: dict[int, tuple[Record, int]] = field(default_factory=dict)  # by offset: the leader said it, not read yet
    _barrier: asyncio.Task[bool] | None = None
    _next_barrier: asyncio.Task[bool] | None = None

    async def run(self) -> None:
        """Read for ever."""
        while True:
            try:
                first = await fetch_end(self.cluster, self.topic, EARLIEST)
                end = await fetch_end(self.cluster, self.topic, _END)
                break
            except (OffsetsRefused, ClusterUnreachable) as trouble:
                self.status.last_error = str(trouble)
                self.fall_back()
                await asyncio.sleep(_PAUSE_S)
        self.position, self.status.end_at_start, self.status.last_error = first, end, None
        if self.snapshot is not None:
            self.snapshot.begin()
        # Hundreds of thousands of objects that all stay: looking for garbage among them costs more than it finds.
        gc.disable()
        if self.status.snapshot_of is not None:
            self._fresh, self.status.loaded = State(), False
        self._look_whether_loaded()
        try:
            await follow(self.cluster, self.topic, {PARTITION: first}, self._take_batches, _LANE)
        finally:
            gc.enable()

    def fall_back(self) -> None:
        """Serve what was written down at last, because the topic cannot be read. Does nothing where nothing was."""
        if self.snapshot is None or self.status.loaded or self.status.snapshot_of is not None:
            return
        written_at = self.snapshot.written_at
        if written_at is None:
            return
        try:
            for record in self.snapshot.records():
                self._note(self.state.apply(record.key, record.value, record.offset, record.ts))
        except (OSError, ValueError) as broken:
            self.snapshot = None
            self.status.last_error = str(broken)
            return
        self.status.snapshot_of = written_at
        versions = self.state.schema_count
        log.warning("%s: cannot be read; %d versions are served from %s", self.topic, versions, self.snapshot.path)

    def _take_batches(self, _partition: int, batches: Batches) -> None:
        for header, data in batches:
            if header.next_offset <= self.position:
                continue  # written by ourselves and applied with the answer
            if header.is_control:
                self.markers[header.producer_id] = header.producer_epoch
            else:
                self._take(data)
                if header.producer_id >= 0:
                    last = header.base_sequence + header.record_count - 1
                    self.sequences[header.producer_id, header.producer_epoch] = last
            self.position = max(self.position, header.next_offset)
        if self._told:
            self._told = {offset: told for offset, told in self._told.items() if offset >= self.position}
            self._apply_told()
        self.status.last_read_at = SYSTEM_CLOCK.now_s()
        self._look_whether_loaded()
        if self.snapshot is not None and self.status.loaded:
            self.snapshot.keep()
        self._tell()
        self.home_changed()

    def applied(self, base_offset: int, records: list[Record], ts: int) -> bool:
        """Take what this instance wrote at once; False when something else lies before it and must be read first."""
        if base_offset != self.position:
            return False
        for record in records:
            self._apply_next(record, ts)
        self._tell()
        return True

    def told(self, first: int, records: list[Record], ts: int) -> None:
        """Apply records from the leader's answer as soon as all records before them were read.

        The topic brings the same a round trip later. What lies between, others have written: it is waited for.
        """
        if not self.status.loaded or self.status.snapshot_of is not None:
            return
        for offset, record in enumerate(records, first):
            if offset >= self.position and len(self._told) < _MOST_TOLD:
                self._told[offset] = (record, ts)
        self._apply_told()
        self._tell()

    def _apply_told(self) -> None:
        while (entry := self._told.pop(self.position, None)) is not None:
            self._apply_next(*entry)

    def _apply_next(self, record: Record, ts: int) -> None:
        self._note(self.state.apply(record.key, record.value, self.position, ts))
        if self.snapshot is not None:
            self.snapshot.add(Kept(self.position, ts, record.key, record.value))
        self.position += 1

    async def reached(self, offset: int, timeout_s: float) -> bool:
        """Wait until everything before `offset` was read; False when that took too long."""
        if self.position >= offset:
            return True
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (offset, next(self._numbers), told))
        try:
            async with asyncio.timeout(timeout_s):
                await told
        except TimeoutError:
            return self.position >= offset
        return True

    async def caught_up(self, timeout_s: float) -> bool:
        """Read up to what is the end of the topic after this call. Calls that come together share one question."""
        if self._barrier is None or self._barrier.done():
            self._barrier = asyncio.create_task(self._reach_end(timeout_s))
            return await asyncio.shield(self._barrier)
        if self._next_barrier is None or self._next_barrier.done():
            # The one under way may have asked for the end before our caller's record was written.
            self._next_barrier = asyncio.create_task(self._reach_end(timeout_s, after=self._barrier))
        return await asyncio.shield(self._next_barrier)

    async def _reach_end(self, timeout_s: float, after: asyncio.Task[bool] | None = None) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                if after is not None:
                    await asyncio.wait([after])
                    self._barrier, self._next_barrier = asyncio.current_task(), None
                end = await fetch_end(self.cluster, self.topic, _END)
        except (OffsetsRefused, ClusterUnreachable, TimeoutError):
            return False
        return await self.reached(end, timeout_s)

    def _take(self, data: bytes) -> None:
        try:
            records = open_batch(data)
        except Exception as broken:  # noqa: BLE001  the codec raises whatever its decompressor raises
            self._note(RecordFault(self.position, "a whole batch", f"it cannot be decoded ({broken})"))
            return
        state = self._fresh or self.state
        for record in records:
            if record.offset >= self.position:
                self._note(state.apply(record.key, record.value, record.offset, record.timestamp))
                if self.snapshot is not None:
                    self.snapshot.add(Kept(record.offset, record.timestamp, record.key, record.value))

    def _note(self, fault: RecordFault | None) -> None:
        if fault is None:
            return
        self.status.faults.append(fault)
        self.status.fault_count += 1
        log.error("%s offset %d: record %s was left out: %s", self.topic, fault.offset, fault.key, fault.reason)

    def _look_whether_loaded(self) -> None:
        end = self.status.end_at_start
        if not self.status.loaded and end is not None and self.position >= end:
            self.status.loaded = True
            if self._fresh is not None:
                self._fresh.follow_on(self.state)
                self.state, self._fresh = self._fresh, None
            self.status.snapshot_of = None
            if self.snapshot is not None:
                self.snapshot.whole()
            self.loaded.set()
            gc.enable()
            gc.freeze()
            versions, subjects = self.state.schema_count, len(self.state.subjects)
            log.info("%s: %d versions of %d subjects are loaded", self.topic, versions, subjects)

    def _tell(self) -> None:
        while self._waiting and self._waiting[0][0] <= self.position:
            _, _, told = heapq.heappop(self._waiting)
            if not told.done():
                told.set_result(None)


async def fetch_end(cluster: Cluster, topic: str, when: int) -> int:
    """The first or the end offset of the topic, asked of its leader."""
    if cluster.leader(topic, PARTITION) is None:
        await cluster.refresh([topic])
    try:
        return await fetch_offset(cluster, topic, PARTITION, when)
    except (OffsetsRefused, ClusterUnreachable):
        cluster.topics.pop(topic, None)  # the leader moved: ask again the next time
        raise
