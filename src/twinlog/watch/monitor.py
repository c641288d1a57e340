"""The monitor: observes every link in a loop and keeps an hour of observations. Runs in the service's loop.

Metrics, pages and answers of the API read what it saw last, so that a thousand readers cost the clusters no more than
one. It looks from outside, as `twinlog status` does: what it tells holds wherever the engines run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from twinlog.config.settings import LinkSettings
from twinlog.errors import TwinlogError
from twinlog.ledger.view import LedgerView
from twinlog.model.backoff import Backoff
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.groups.positions import Standing
from twinlog.model.health.event_log import news
from twinlog.model.health.history import EVENTS, SAMPLES, Event, Latencies, Sample, events_between, sample_of
from twinlog.model.health.movement import WINDOW, Movement, Seen, movement, worst
from twinlog.model.health.readiness import LOOKS, proves, seen_of
from twinlog.model.health.states import LinkStatus, silent_seconds
from twinlog.model.names import TopicPartition
from twinlog.model.switch.card import card_of
from twinlog.model.switch.log import StateEntry, Switch, switch_name

log = logging.getLogger("twinlog.lookout")

LOOK_SECONDS: Final = 2.0
SLOW_SECONDS: Final = 30.0
"""How often groups and the switch log are looked at."""
_MOVEMENT_SECONDS: Final = 10.0
_SHARE: Final = 5.0
"""A look that takes long is taken less often: at most a sixth of the time is spent looking."""
_SLOW_SHARE: Final = 20.0
"""Groups need the whole ledger with its maps, so they get less."""
_RECALL_SECONDS: Final = 10.0
_ODDITIES: Final = (TwinlogError, TimeoutError)


class LinkObserver(Protocol):
    """Eyes on one link (flow.observe.Observer)."""

    async def look(self) -> LinkStatus:
        """One look. Raises ClusterError."""

    @property
    def view(self) -> LedgerView:
        """The ledger as of the last look."""


class Groups(Protocol):
    """How the groups of a link stand (sync.group_report.GroupReport)."""

    @property
    def standings(self) -> tuple[Standing, ...]:
        """All positions."""

    @property
    def findings(self) -> tuple[str, ...]:
        """What could not be looked at."""

    @property
    def with_members(self) -> frozenset[str]:
        """Groups that somebody is in, on the source."""


class Switches(Protocol):
    """How the switch of a pair stands (recovery.switching.Standing)."""

    @property
    def state(self) -> StateEntry | None:
        """The decision that holds."""

    @property
    def open(self) -> Switch | None:
        """The switch that runs, if one does."""

    @property
    def ended(self) -> tuple[Switch, ...]:
        """Those that are over."""


@dataclass(frozen=True)
class Observers:
    """How links are looked at (given by the service)."""

    links: Callable[[], Sequence[LinkSettings]]
    observer: Callable[[LinkSettings], LinkObserver]
    groups: Callable[[LinkSettings], Awaitable[Groups]]
    switches: Callable[[LinkSettings], Awaitable[Switches]]
    superseded: Callable[[LinkSettings], str | None] = lambda _: None
    """Who has the link instead of this service's engine, in a sentence."""


class Memory(Protocol):
    """What happened before this process began (connectors.chronicle)."""

    async def past(self) -> Sequence[Event]:
        """All of it, oldest first. Raises ClusterError."""

    async def left_open(self) -> Sequence[Event]:
        """The ends of what a former leader left unfinished, told once. Raises ClusterError."""

    def keep(self, events: Iterable[Event]) -> None:
        """Write down what happened now."""


@dataclass
class LinkSnapshot:
    """What is known about one link."""

    link: LinkSettings
    looks: LinkObserver
    status: LinkStatus | None = None
    trouble: str | None = None  # why the last look failed
    remedy: str = ""
    superseded: str | None = None  # who has the link instead of this service's engine
    looked_ms: int = 0
    took_s: float = 0.0
    failures: int = 0  # in a row
    last_looks: deque[Seen] = field(default_factory=lambda: deque(maxlen=LOOKS))  # since one failed, or a start
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    latencies: Latencies = field(default_factory=Latencies)
    groups: Groups | None = None
    groups_trouble: str | None = None
    groups_ms: int = 0
    switches: Switches | None = None
    switches_trouble: str | None = None
    movements: dict[TopicPartition, Movement] = field(default_factory=dict)
    group_movements: dict[str, Movement] = field(default_factory=dict)
    derived: dict[str, tuple[LinkStatus, Any]] = field(default_factory=dict)  # what faces made of which look
    _seen: dict[TopicPartition, deque[Seen]] = field(default_factory=dict)
    _groups_seen: dict[tuple[str, TopicPartition], deque[Seen]] = field(default_factory=dict)
    _moved_at: float = 0.0
    _counted: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    _counted_ms: int = 0
    _rates: dict[TopicPartition, tuple[float, float]] = field(default_factory=dict)

    @property
    def waited(self) -> bool:
        """Whether the last look took its time for a cluster that does not answer: that cost nothing but time."""
        return self.trouble is not None or (self.status is not None and self.status.source_unreachable)

    def take(self, status: LinkStatus) -> list[Event]:
        """Remember one look; returns what is new in it."""
        events = list(events_between(self.status, status))
        self.status, self.trouble, self.remedy, self.failures = status, None, "", 0
        self.samples.append(sample_of(status))
        if proves(status):
            self.last_looks.append(seen_of(status))
        else:
            self.last_looks.clear()
        self.latencies.hear(status.chores)
        if time.monotonic() - self._moved_at >= _MOVEMENT_SECONDS:
            self._moved_at = time.monotonic()
            self._observe_partitions(status)
            self._observe_rates(status)
        return events

    def rate(self, partition: TopicPartition) -> tuple[float, float]:
        """Records and bytes per second of one partition, between the last two observations of its movement."""
        return self._rates.get(partition, (0.0, 0.0))

    def _observe_rates(self, status: LinkStatus) -> None:
        now = {part.partition: (part.records, part.bytes) for part in status.partitions}
        elapsed = (status.now_ms - self._counted_ms) / 1000
        if self._counted and elapsed > 0:
            self._rates = {
                partition: (max(0, records - before[0]) / elapsed, max(0, size - before[1]) / elapsed)
                for partition, (records, size) in now.items()
                if (before := self._counted.get(partition)) is not None
            }
        self._counted, self._counted_ms = now, status.now_ms

    def _observe_partitions(self, status: LinkStatus) -> None:
        engine = status.engine
        alive = engine is not None and engine.phase == "running" and silent_seconds(status) is None
        there = set() if status.rests else {part.partition for part in status.partitions}
        self._seen = {partition: seen for partition, seen in self._seen.items() if partition in there}
        for part in status.partitions if there else ():
            window = self._seen.setdefault(part.partition, deque(maxlen=WINDOW))
            window.append(Seen(part.source_next, part.lag, alive))
        self.movements = {partition: movement(list(seen)) for partition, seen in self._seen.items()}

    def take_groups(self, report: Groups) -> None:
        """Remember how groups stand, and judge whether each moves."""
        self.groups, self.groups_trouble, self.groups_ms = report, None, _now_ms()
        ends = {part.partition: part.source_end for part in (self.status.partitions if self.status else ())}
        there: dict[tuple[str, TopicPartition], deque[Seen]] = {}
        by_group: dict[str, list[Movement]] = {}
        for standing in report.standings:
            key = (standing.group, standing.source)
            window = there[key] = self._groups_seen.get(key, deque(maxlen=WINDOW))
            end = ends.get(standing.source)
            offset = standing.committed.offset
            lag = None if end is None else max(0, end - offset)
            window.append(Seen(offset, lag, standing.group in report.with_members))
            if self.status is None or not self.status.rests:
                by_group.setdefault(standing.group, []).append(movement(list(window)))
        self._groups_seen = there
        self.group_movements = {group: worst(movements) for group, movements in by_group.items()}


class Monitor:
    """All links of the service, watched."""

    def __init__(
        self,
        observers: Observers,
        *,
        look_seconds: float = LOOK_SECONDS,
        slow_seconds: float = SLOW_SECONDS,
        memory: Memory | None = None,
    ) -> None:
        self._observers = observers
        self._memory = memory
        self._look_seconds = look_seconds
        self._slow_seconds = slow_seconds
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        self._watchers: set[asyncio.Event] = set()
        self.turn = 0  # rises with every look
        self.snapshots: dict[str, LinkSnapshot] = {}
        self.events: deque[Event] = deque(maxlen=EVENTS)

    async def run(self) -> None:
        """Until cancelled: one watch per link, also for links that come and go."""
        recalling = asyncio.create_task(self._recall())
        settling = asyncio.create_task(self._settle(recalling))
        try:
            # Whoever remembers tells nothing twice. A store that is away must not keep us from looking.
            await asyncio.wait({recalling}, timeout=_RECALL_SECONDS)
            while True:
                self._meet(self._observers.links())
                await asyncio.sleep(min(1.0, self._look_seconds))
        finally:
            recalling.cancel()
            settling.cancel()
            for name in list(self._tasks):
                self._forget(name)

    async def _recall(self) -> None:
        """Read what happened before, as soon as it can be read."""
        backoff = Backoff(1.0, 60.0)
        while self._memory is not None:
            try:
                past = await self._memory.past()
            except _ODDITIES as error:
                log.warning("events of the past cannot be read yet: %s", error)
            except Exception:  # a mistake of ours must be seen; the present is looked at all the same
                log.exception("events of the past")
            else:
                self.events = deque([*past, *self.events], maxlen=EVENTS)
                return
            await asyncio.sleep(backoff.next_s())

    async def _settle(self, recalling: asyncio.Task[None]) -> None:
        """Whenever this service begins to lead, tell what the one before it left unfinished."""
        await asyncio.wait({recalling})
        while self._memory is not None:
            pause = min(1.0, self._look_seconds)
            try:
                self.tell(await self._memory.left_open())
            except _ODDITIES as error:
                log.warning("what was left unfinished cannot be read yet: %s", error)
                pause = _RECALL_SECONDS
            except Exception:
                log.exception("what was left unfinished")
                pause = _RECALL_SECONDS
            await asyncio.sleep(pause)

    def _meet(self, links: Iterable[LinkSettings]) -> None:
        wanted = {link.name: link for link in links}
        for name in self.snapshots.keys() - wanted.keys():
            self._forget(name)
        for name, link in wanted.items():
            snapshot = self.snapshots.get(name)
            if snapshot is not None and snapshot.link == link:
                continue
            self._forget(name)
            fresh = self.snapshots[name] = LinkSnapshot(link, self._observers.observer(link))
            if snapshot is not None:  # its settings changed: what it did before is still true
                fresh.samples, fresh.status, fresh.latencies = snapshot.samples, snapshot.status, snapshot.latencies
                fresh.last_looks = snapshot.last_looks
            self._tasks[name] = [
                asyncio.create_task(self._watch(fresh)),
                asyncio.create_task(self._watch_slowly(fresh)),
            ]

    def _forget(self, name: str) -> None:
        for task in self._tasks.pop(name, ()):
            task.cancel()
        self.snapshots.pop(name, None)

    async def _watch(self, snapshot: LinkSnapshot) -> None:
        while True:
            began = time.monotonic()
            try:
                first = snapshot.status is None
                snapshot.superseded = self._observers.superseded(snapshot.link)
                status = await snapshot.looks.look()
                states = {status.state, snapshot.status.state if snapshot.status else ""}
                is_open = snapshot.switches is not None and snapshot.switches.open is not None
                if is_open or ("SWITCHED" in states and len(states) > 1):
                    await self.look_at_switches(snapshot)  # who is active now is not left to the slow watch
                events = snapshot.take(status)
                self.tell(news(self.events, events, snapshot.link.name, _now_ms()) if first else events)
            except _ODDITIES as error:
                snapshot.trouble = str(error) or type(error).__name__
                snapshot.remedy = error.remedy_text() if isinstance(error, TwinlogError) else ""
                snapshot.failures += 1
            except Exception as error:  # a mistake of ours must be seen, and must not end the watch
                log.exception("%s: looking", snapshot.link.name)
                snapshot.trouble = f"unexpected: {type(error).__name__}; the log says more"
                snapshot.failures += 1
            if snapshot.trouble is not None:
                snapshot.last_looks.clear()  # what moved before proves nothing now
            snapshot.looked_ms, snapshot.took_s = _now_ms(), time.monotonic() - began
            self.wake()
            await asyncio.sleep(max(self._look_seconds, 0.0 if snapshot.waited else snapshot.took_s * _SHARE))

    async def _watch_slowly(self, snapshot: LinkSnapshot) -> None:
        while snapshot.status is None:
            await self.next_change()
        while True:
            began = time.monotonic()
            await self.look_at_switches(snapshot)
            await self.look_at_groups(snapshot)
            await asyncio.sleep(max(self._slow_seconds, (time.monotonic() - began) * _SLOW_SHARE))

    async def look_at_groups(self, snapshot: LinkSnapshot) -> None:
        """Observe the groups of a link now."""
        try:
            snapshot.take_groups(await self._observers.groups(snapshot.link))
        except _ODDITIES as error:
            snapshot.groups_trouble = str(error) or type(error).__name__
        except Exception as error:
            log.exception("%s: looking at groups", snapshot.link.name)
            snapshot.groups_trouble = f"unexpected: {type(error).__name__}; the log says more"
        self.wake()

    async def look_at_switches(self, snapshot: LinkSnapshot) -> None:
        """One look at the switch log of a link, now."""
        try:
            switches = await self._observers.switches(snapshot.link)
        except _ODDITIES as error:
            snapshot.switches_trouble = str(error) or type(error).__name__
        except Exception as error:
            log.exception("%s: looking at switches", snapshot.link.name)
            snapshot.switches_trouble = f"unexpected: {type(error).__name__}; the log says more"
        else:
            before, snapshot.switches, snapshot.switches_trouble = snapshot.switches, switches, None
            known_ms = [
                event.at_ms for event in self.events if event.link == snapshot.link.name and event.kind == "switch"
            ]
            self.tell(_switch_events(snapshot.link.name, before, switches, max(known_ms, default=None)))
        self.wake()

    def tell(self, events: Iterable[Event]) -> None:
        """Add what happened."""
        told = list(events)
        self.events.extend(told)
        if self._memory is not None and told:
            self._memory.keep(told)

    async def next_change(self) -> None:
        """Wait for the next look at any link."""
        event = asyncio.Event()
        self._watchers.add(event)
        try:
            await event.wait()
        finally:
            self._watchers.discard(event)

    def wake(self) -> None:
        """Wake everybody who waits for a change."""
        self.turn += 1
        for event in self._watchers:
            event.set()


def _switch_events(link: str, before: Switches | None, after: Switches, known_ms: int | None = None) -> list[Event]:
    """Beginnings and ends since the last look, with their own times: a switch may be over before it is seen.

    At a first look `known_ms` is the time of the last that is remembered; without a memory nothing of the past is told.
    """
    begun = {before.open.id} if before is not None and before.open else set()
    over = {switch.id for switch in before.ended} if before is not None else {switch.id for switch in after.ended}
    if before is None and known_ms is not None:
        begun = {switch.id for switch in (*after.ended, *filter(None, [after.open])) if switch.since_ms <= known_ms}
        over = {switch.id for switch in after.ended if switch.ended_ms <= known_ms}
    events: list[Event] = []
    for switch in (*after.ended, *filter(None, [after.open])):
        if switch.id not in begun | over:
            says = f"{switch_name(switch.claim.command)} started by {switch.claim.operator}"
            events.append(Event(switch.since_ms, link, "switch", "warning", link, says))
        if switch.end is not None and switch.id not in over:
            held = switch.state or after.state  # a later switch may have decided otherwise since
            says = f"{switch_name(switch.claim.command)} {switch.end.outcome}"
            says += f"; {held.active} is active" if held else ""
            card = card_of(switch)
            told = "" if card is None else card.markdown()
            events.append(Event(switch.ended_ms, link, "switch", "good", link, says, ended=True, card=told))
    return events


def _now_ms() -> int:
    return SYSTEM_CLOCK.now_ms()
