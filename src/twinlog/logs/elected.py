"""A log that every process of a group reads and one of them writes. Runs threads; its methods block.

    log = ElectedLog(settings, topic, group, start=State(), apply=State.take, on_change=…, on_elected=…)
    state = log.open()                   everything that is there; then `on_change` gets each new state
    … on_elected() is called …           this process may lead
    state = log.lead([(key, value)])     shuts the former leader out, then writes and reads back
    state = log.append([(key, value)])   all records or none, acknowledged and read back: the state has them

Kafka elects (elect.py). A new leader takes the transactional id over, so a former one can write nothing more, even if
it does not know yet that it was replaced (R10). `lead` returns a state that has everything any leader wrote before.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, ClusterUnreachable, LogFenced
from twinlog.kafka.transactions import ExclusiveProducer
from twinlog.logs.elect import Election
from twinlog.logs.follow import follow
from twinlog.logs.read import Batches, records_in
from twinlog.logs.topic import KeyValue, LogRecord
from twinlog.model.backoff import Backoff
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.log import fetch_ends

State = TypeVar("State")

log = logging.getLogger("twinlog.logs")

_WITHIN_S: Final = 15.0


class ElectedLog(Generic[State]):
    """Partition 0 of one topic, for one process of a group. The topic must exist (`ensure_logs`).

    `on_change` and `on_elected` are called in threads of this object and must return quickly.
    """

    def __init__(
        self,
        settings: ClientSettings,
        topic: str,
        group: str,
        *,
        start: State,
        apply: Callable[[State, LogRecord], State],
        on_change: Callable[[State], None],
        on_elected: Callable[[], None],
        on_members: Callable[[], None] = lambda: None,
        transactional_id: str | None = None,
    ) -> None:
        """Nothing is sent yet. `transactional_id` is the same for all processes of the group."""
        self.cluster = settings.cluster
        self.topic = topic
        self.state = start
        self.position = 0
        self.trouble: str | None = None  # why the log cannot be followed at the moment
        self._settings = settings
        self._transactional_id = transactional_id or f"twinlog-{topic}-{group}"
        self._apply = apply
        self._on_change = on_change
        self._caught_up: int | None = None  # the end at the time of `open`, once it is known
        self._moved = threading.Condition()
        self._writing = threading.Lock()
        self._producer: ExclusiveProducer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._following: asyncio.Task[None] | None = None
        self._closed = False
        self._election = Election(settings, group, topic, on_elected, on_members)
        self._reader = threading.Thread(target=self._read, name=f"read-{topic}", daemon=True)

    @property
    def leads(self) -> bool:
        """Whether this process took the lead and was not found replaced."""
        return self._producer is not None

    def open(self) -> State:
        """Read everything that is there, then follow it and become a candidate. Raises ClusterError."""
        self._reader.start()
        self._await(lambda: self._caught_up is not None and self.position >= self._caught_up, "could not be read")
        self._election.start()
        return self.state

    def lead(self, records: Sequence[KeyValue]) -> State:
        """Shut the former leader out, write the first records of this leader and read up to them."""
        with self._writing:
            where = TopicPartition(self.topic, 0)
            self._producer = ExclusiveProducer(self._settings, self._transactional_id, where)
        return self.append(records)

    def append(self, records: Sequence[KeyValue]) -> State:
        """Write records, all or none, and read up to them. LogFenced: this process does not lead (any more)."""
        with self._writing:
            if self._producer is None:
                raise LogFenced(self.cluster, f"{self.topic}: this process does not lead")
            try:
                offset = self._producer.write(records)
            except LogFenced:
                self._producer = None
                raise
        self._await(lambda: self.position > offset, "was written but could not be read")
        return self.state

    def announce(self, text: str) -> None:
        """Tell the other processes of the group something."""
        self._election.announce(text)

    def members(self) -> tuple[str, ...] | None:
        """What living processes announced; None while some come or go. Raises ClusterError."""
        return self._election.members()

    def close(self) -> None:
        """Leave the group, so that another process leads at once."""
        if self._closed:
            return
        self._closed = True
        self._election.close()
        if self._loop is not None and self._following is not None:
            self._loop.call_soon_threadsafe(self._following.cancel)
        if self._reader.ident is not None:
            self._reader.join(_WITHIN_S)

    def _await(self, reached: Callable[[], bool], problem: str) -> None:
        """Wait as long as reading gets on; raise when it does not for a while."""
        with self._moved:
            while not reached():
                before = self.position
                if not self._moved.wait_for(lambda: self.position > before or reached(), _WITHIN_S):  # noqa: B023
                    why = self.trouble or f"nothing came for {_WITHIN_S:.0f} s"
                    raise ClusterUnreachable(self.cluster, f"{self.topic} {problem}: {why}")

    # --- in the reader's thread ---------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            asyncio.run(self._follow_for_ever())
        except asyncio.CancelledError:
            if not self._closed:
                raise

    async def _follow_for_ever(self) -> None:
        self._loop, self._following = asyncio.get_running_loop(), asyncio.current_task()
        cluster = Cluster(self._settings, "twinlog|log")
        backoff = Backoff(0.2, 5.0)
        try:
            while not self._closed:
                try:
                    await self._follow(cluster)
                except ClusterError as error:  # access denied, for one: granted again, it continues
                    self.trouble = str(error)
                    log.warning("%s is not followed: %s", self.topic, error)
                    await asyncio.sleep(backoff.next_s())
        finally:
            await cluster.close()

    async def _follow(self, cluster: Cluster) -> None:
        if self._caught_up is None:
            ends = await fetch_ends(cluster, self.topic, [0], read_committed=True)
            with self._moved:
                self._caught_up = ends[0]
                self._moved.notify_all()
        positions = {0: self.position}

        def take(_: int, batches: Batches) -> None:
            self.trouble = None
            records = list(records_in(batches))
            with self._moved:
                was_caught_up = self._caught_up is not None and self.position >= self._caught_up
                for record in records:
                    self.state = self._apply(self.state, record)
                self.position = positions[0]
                self._moved.notify_all()
            if records and was_caught_up:
                self._on_change(self.state)

        await follow(cluster, self.topic, positions, take, "elected", read_committed=True)
