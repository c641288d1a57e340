"""One instance of the registry: follows the topic, takes part in the election, and writes while it leads.

Runs in the service's loop. Reads need nothing but the state; they continue without a leader and without Kafka.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import ClusterError, TwinlogError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.registry.election import SESSION_MS, Elector
from twinlog.registry.identity import Assignment, Identity
from twinlog.registry.leader import Leader, LeadershipLost
from twinlog.registry.refusals import is_a_copy
from twinlog.registry.snapshot import Snapshot
from twinlog.registry.state import State
from twinlog.registry.store import TopicReader
from twinlog.registry.topic import TopicWish, count_brokers, ensure_topic
from twinlog.registry.writes.round import Order, Written
from twinlog.wire.broken import why
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.registry")

_PAUSE_S: Final = 0.5
_LEAST_WRITE_S: Final = 15.0


@dataclass(frozen=True)
class NodeSettings:
    """How an instance reaches its topic and its group."""

    kafka: ClientSettings
    topic: TopicWish
    group: str
    me: Identity
    snapshot: Path | None = None
    timeout_s: float = 0.5
    """How long a follower may take to read what was just written (`kafkastore.timeout.ms`)."""

    @property
    def transactional_id(self) -> str:
        """One for all instances: whoever takes it over fences the one before."""
        return f"{self.group}-{self.topic.name}"


@dataclass
class Role:
    """What this instance knows about leadership. `certain` is false while an election is under way."""

    leader: Identity | None = None
    mine: bool = False
    certain: bool = False
    since: float = field(default_factory=SYSTEM_CLOCK.now_s)
    last_error: str | None = None


class RegistryNode:
    """Implements the store of the HTTP interface."""

    def __init__(self, settings: NodeSettings, *, session_ms: int = SESSION_MS) -> None:
        self.settings = settings
        self.cluster = Cluster(settings.kafka, settings.kafka.client_id or f"sr-{settings.me.host}-{settings.me.port}")
        snapshot = None if settings.snapshot is None else Snapshot(settings.snapshot)
        self.reader = TopicReader(self.cluster, settings.topic.name, snapshot=snapshot, home_changed=self._reconsider)
        self.role = Role()
        self.elector = Elector(
            self.cluster,
            settings.group,
            settings.me,
            self._elected,
            self._lost,
            leads=lambda: self.role.mine,
            session_ms=session_ms,
        )
        self.start_error: str | None = None
        self._term: Leader | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    # --- what the HTTP interface asks ---

    @property
    def state(self) -> State:
        return self.reader.state

    @property
    def leads(self) -> bool:
        """Whether this instance may write now."""
        return self._term is not None and self._term.ready

    @property
    def term(self) -> Leader | None:
        return self._term

    @property
    def copy_of(self) -> str | None:
        """The Kafka cluster that the schemas belong to, where that is another one; None at home."""
        home, here = self.state.home, self.cluster.cluster_id
        return home.cluster if home is not None and here is not None and home.cluster != here else None

    def refuse_on_copy(self) -> None:
        """Raises Refusal where the schemas belong to another cluster: whoever leads here does not write."""
        if (home := self.copy_of) is not None:
            raise is_a_copy(home)

    async def submit(self, order: Order) -> Written:
        """Carry out an order. Raises Refusal, and LeadershipLost when another instance leads."""
        self.refuse_on_copy()
        term = self._term
        if term is None or not term.ready:
            raise LeadershipLost
        return await term.submit(order)

    async def caught_up(self) -> bool:
        """Read up to the end that the topic has now."""
        return await self.reader.caught_up(self.settings.timeout_s)

    async def changed(self, timeout_s: float) -> None:
        """Wait until something about the leadership changes, or the time is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()

    # --- its life ---

    async def run(self) -> None:
        """Until cancelled."""
        await self._ensure_topic()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._kept_up("reading", self.reader.run))
            await self.reader.loaded.wait()  # who cannot read yet cannot lead
            tasks.create_task(self._kept_up("election", self.elector.run))

    async def close(self) -> None:
        """Leave the group, so that the others elect at once."""
        if self._term is not None:
            self._term.stop()
        await self.elector.leave()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.reader.snapshot is not None:
            self.reader.snapshot.close()
        await self.cluster.close()

    async def _ensure_topic(self) -> None:
        while True:
            try:
                brokers = await count_brokers(self.cluster)
                await asyncio.to_thread(ensure_topic, self.settings.kafka, self.settings.topic, brokers=brokers)
            except (ClusterError, TimeoutError) as error:
                if isinstance(error, TwinlogError) and not error.retriable:
                    raise
                self.start_error = why(error)
                self.reader.fall_back()
                log.warning("%s: %s; trying again", self.settings.topic.name, self.start_error)
                await asyncio.sleep(_PAUSE_S)
            else:
                self.start_error = None
                return

    async def _kept_up(self, what: str, run: Callable[[], object]) -> None:
        """A loop that ends by an error is started again; the error is visible until then."""
        while True:
            try:
                await run()  # type: ignore[misc]
            except Exception as error:  # the loop of a service: no error may end it
                log.exception("%s ended and is started again", what)
                self.reader.status.last_error = f"{what}: {error}"
                await asyncio.sleep(_PAUSE_S)

    # --- leadership ---

    def _elected(self, assignment: Assignment, mine: bool) -> None:
        if assignment.leader != self.role.leader or mine != self.role.mine:
            log.info("Leader changed from %s to %s", _named(self.role.leader), _named(assignment.leader))
            self.role = Role(assignment.leader, mine, certain=True)
        else:
            self.role.certain = True
        self._reconsider()
        self._tell()

    def _reconsider(self) -> None:
        """Begin or end a term: the group elects who may write, and the topic says whether anybody may."""
        if self.role.mine and self.settings.me.eligible and self.copy_of is None:
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._lead())
        elif self._term is not None:
            self._term.stop()

    def _lost(self) -> None:
        """Out of the group: somebody else may be elected, and we would not hear of it."""
        self.role = Role(last_error=self.elector.status.last_error)
        if self._term is not None:
            self._term.stop()
        self._tell()

    async def _lead(self) -> None:
        """Terms of leadership, for as long as the group says that this instance leads."""
        while self.role.mine and self.copy_of is None:
            contact = self.elector.last_contact
            term = self._term = Leader(
                self.cluster,
                self.reader,
                self.settings.transactional_id,
                self.elector.has_contact,
                max(self.settings.timeout_s, _LEAST_WRITE_S),
                on_ready=self._tell,
            )
            try:
                await term.run()
            except TwinlogError as error:
                self.role.last_error = str(error)
                log.warning("%s: the term of this leader ended: %s", self.settings.topic.name, error)
            except Exception as error:
                self.role.last_error = str(error)
                log.exception("%s: the term of this leader ended", self.settings.topic.name)
            finally:
                self._term = None
                self._tell()
            # Fenced: only the coordinator can say whether we still lead. Its next word decides.
            while self.role.mine and self.copy_of is None and self.elector.last_contact <= contact:  # noqa: ASYNC110  a heartbeat away
                await asyncio.sleep(_PAUSE_S / 5)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _named(identity: Identity | None) -> str:
    return "none" if identity is None else identity.url
