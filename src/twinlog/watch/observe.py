"""Looking at a link from outside: the ledger on the target, the ends of the source. Works wherever both are reachable.

Runs in `twinlog status`, in the demo, in tests; needs no engine and disturbs none.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from twinlog.config.settings import LinkSettings
from twinlog.errors import AccessDenied, BrokerAway, ClusterError, ClusterUnreachable, LeaderMissing, SourceTopicMissing
from twinlog.ledger.switch_log import SwitchTopic
from twinlog.ledger.view import LedgerView
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.exposure import link_exposure
from twinlog.model.health.pulse import Pulse
from twinlog.model.health.states import SOURCE_SILENT_MS, LinkStatus, PartitionStatus
from twinlog.model.ledger.records import ENGINE_DEAD_MS, ENGINE_SILENT_MS, FaultEntry, RosterTopic, ledger_topic
from twinlog.model.ledger.source_ends import CHORE, known_ends, seen_at
from twinlog.model.ledger.stage_times import Durations, LinkTimes, Stage, StageTimes, since
from twinlog.model.names import LinkName, TopicPartition
from twinlog.model.switch.log import StateEntry, held_because, may_copy
from twinlog.model.topics.deletion import ReportDeletion
from twinlog.watch.silent_leaders import SilentLeaders, listed, silent_leaders
from twinlog.wire import protocol_errors as codes
from twinlog.wire.certificates import own_expired
from twinlog.wire.connection import Cluster

_LEDGER_WITHIN_S: Final = 30.0
_LATELY_S: Final = 60.0
_YOUNG_S: Final = 2.0
"""A ledger that is not read by then may have a leader that does not answer: that is looked into."""
_CERTAIN_WITHIN_S: Final = 3.0
"""A source that does not answer now, and that the engine heard a moment ago, is watched for so long."""
_SOURCE_LATE_S: Final = 1.0
"""A source that is well has answered by then."""
_WATCH_S: Final = 7.0
"""An engine writes its record every 2 s: one that does not within this time is silent."""
_BEAT_S: Final = 3.0
"""Long enough to see a record change that is written every 2 s."""
_WATCH_LOOK_S: Final = 0.5
EndOffsets = Callable[[list[TopicPartition]], Mapping[TopicPartition, int | ClusterError]]


@dataclass
class Observer:
    """Follows one link's ledger look by look; rates come from the difference between two looks."""

    link: LinkSettings
    end_offsets: EndOffsets  # of the source, in the link's isolation: what may be copied now
    high_watermarks: EndOffsets | None = None  # of the source, open transactions included
    reach: Callable[[], object] | None = None  # asks the source anything; raises ClusterError
    _view: LedgerView | None = None
    _switch: SwitchTopic | None = None
    _pulse: Pulse = field(default_factory=Pulse)
    _before: tuple[float, int, int] | None = None
    _times: deque[tuple[float, StageTimes]] = field(default_factory=deque)

    async def look(self) -> LinkStatus:
        """One look. Raises ClusterUnreachable when the target does not answer."""
        target = Cluster(self.link.clients.target_producer, f"twinlog|{self.link.name}|status")
        try:
            view = await self._read(target)
            engine_age_s = await self._feel_pulse(target, view)
            read_ms = SYSTEM_CLOCK.now_ms()  # a source that is away takes long to say nothing: ages count from here
            held = await self._held(target, view)
            status = await self._ask_source(view, read_ms)
            if status.source_unreachable:
                # That took its time: what the engine heard of the source meanwhile is told, and as of now.
                status, engine_age_s = await self._hear_engine(target, status)
                wait_s = (SOURCE_SILENT_MS + 1 - (status.now_ms - (status.source_seen_ms or 0))) / 1000
                if 0 < wait_s <= _CERTAIN_WITHIN_S:
                    await asyncio.sleep(wait_s)
                    status, engine_age_s = await self._hear_engine(target, status)
        except ClusterUnreachable as away:
            if expired := own_expired(self.link.clients.target_producer, SYSTEM_CLOCK.now_ms()):
                raise ClusterUnreachable(self.link.target, f"{expired}; {away.problem}") from away
            raise
        finally:
            await target.close()
        status = replace(status, engine_age_s=engine_age_s)
        if held is None or status.engine is None:
            return status
        why = held_because(held, self.link.name)
        return replace(status, engine=status.engine.model_copy(update={"trouble": why}), active=held.active)

    async def _hear_engine(self, target: Cluster, status: LinkStatus) -> tuple[LinkStatus, float | None]:
        """The same status with what the engine says by now, and how long ago it spoke."""
        view = await self._read(target)
        age_s, read_ms = await self._feel_pulse(target, view), SYSTEM_CLOCK.now_ms()
        seen_ms = seen_at(view.memos.get(CHORE, {}))
        return replace(status, engine=view.engine, now_ms=read_ms, source_seen_ms=seen_ms), age_s

    async def _feel_pulse(self, target: Cluster, view: LedgerView) -> float | None:
        """How long ago the engine spoke. A record whose time cannot be believed is watched for a change.

        One from the future is of a clock that is ahead of ours. A very old one is of a dead engine, or of a clock that
        is behind ours; a younger one is believed, because a dead engine is to be named soon.
        """
        deadline = time.monotonic() + _WATCH_S
        while view.engine is not None:
            spoken = (view.engine.generation, view.engine.at_ms, view.engine.phase)
            now = time.monotonic()
            self._pulse.hear(spoken, view.engine.at_ms, SYSTEM_CLOCK.now_ms(), now)
            age = self._pulse.age_s(now)
            doubtful = age is None or self._pulse.doubtful(now, ENGINE_DEAD_MS / 1000, _BEAT_S)
            if not doubtful or view.engine.phase in {"stopped", "switched"}:
                return age
            if age is None and now > deadline:
                self._pulse.give_up(ENGINE_SILENT_MS / 1000)
            else:
                await asyncio.sleep(_WATCH_LOOK_S)
                await self._read(target)
        return None

    async def _held(self, target: Cluster, view: LedgerView) -> StateEntry | None:
        """The decision by which the switch holds the link by now: the engine spoke last in the midst of it."""
        if view.engine is None or view.engine.phase != "switched":
            return None
        if self._switch is None:
            self._switch = SwitchTopic(
                target, LinkName(self.link.source, self.link.target), secret=self.link.switch.secret
            )
        self._switch.cluster = target
        try:
            state = (await self._switch.catch_up()).state
        except AccessDenied:
            return None  # the engine's own word is what we have
        return state if state and may_copy(state, self.link.name) != "copying" else None

    @property
    def view(self) -> LedgerView:
        """The ledger as of the last look."""
        return self._view or LedgerView({})

    async def _read(self, target: Cluster) -> LedgerView:
        topic = ledger_topic(self.link.source)
        metadata = (await target.refresh([topic]))[topic]
        if metadata.error == codes.TOPIC_AUTHORIZATION_FAILED:
            # Without this right a ledger that is full looks as if no engine had ever run.
            raise AccessDenied(self.link.target, f"Read and Describe on {topic} are needed")
        if self._view is None:
            self._view = LedgerView({})
        for partition in metadata.leaders:
            self._view.positions.setdefault(partition, 0)
        if self._view.positions:
            reading = asyncio.create_task(self._view.catch_up(target, self.link.source))
            try:
                async with asyncio.timeout(_LEDGER_WITHIN_S):
                    while not (await asyncio.wait({reading}, timeout=_YOUNG_S))[0]:
                        await self._name_silent(topic)
                await reading
            except TimeoutError:
                problem = f"{topic} could not be read within {_LEDGER_WITHIN_S:.0f} s"
                raise ClusterUnreachable(self.link.target, problem) from None
            finally:
                reading.cancel()
        return self._view

    async def _name_silent(self, topic: str) -> None:
        """Raises ClusterUnreachable where a part of the ledger has no leader, or nobody answers, or one does not."""
        ledger = [TopicPartition(topic, number) for number in self.view.positions]
        copies = [TopicPartition(t.remote, n) for t in self.view.roster.values() for n in range(t.partitions)]
        # Over new connections: one that was open when packets began to be lost says nothing, and of itself only.
        target = Cluster(self.link.clients.target_producer, f"twinlog|{self.link.name}|status")
        try:
            silent = await silent_leaders(target, [*ledger, *copies])
        finally:
            await target.close()
        for places, says in ((silent.leaderless, "no leader for {}".format), (silent.led, silent.says)):
            numbers = [str(place.partition) for place in places if place.topic == topic]
            others = [place for place in places if place.topic != topic]
            if numbers:
                also = f" and of {listed(others)}" if others else ""
                raise BrokerAway(self.link.target, says(f"partitions {', '.join(numbers)} of {topic}{also}"))

    async def _ask_source(self, view: LedgerView, read_ms: int) -> LinkStatus:
        """What both sides say together. Brokers of the source that hold the answer up are named by their ids."""
        judging = asyncio.create_task(asyncio.to_thread(self._judge, view, read_ms))
        await asyncio.wait({judging}, timeout=_SOURCE_LATE_S)
        # Asked while the answer is awaited: soon others lead what a dead broker led.
        asking = asyncio.create_task(self._silent_at_source(view)) if not judging.done() else None
        try:
            status = await judging
            if not status.source_partly and not status.source_unreachable:
                return status
            asking = asking or asyncio.create_task(self._silent_at_source(view))
            await asyncio.wait({asking}, timeout=_SOURCE_LATE_S)
            silent = asking.result() if asking.done() else None
        finally:
            if asking is not None:
                asking.cancel()
        if silent is None or not silent.brokers:
            return status
        # Others answered the same question: the source is not away, whatever the first one who was asked made of it.
        says = silent.says(f"{len(silent.led)} of {len(status.partitions)} partitions ({listed(silent.led)})")
        trouble = f"{self.link.source}: {says}"
        return replace(status, source_trouble=trouble, source_partly=True, source_unreachable=False)

    async def _silent_at_source(self, view: LedgerView) -> SilentLeaders | None:
        source = Cluster(self.link.clients.source_consumer, f"twinlog|{self.link.name}|status")
        places = [TopicPartition(t.topic, n) for t in view.roster.values() for n in range(t.partitions)]
        try:
            return await silent_leaders(source, places)
        except ClusterError:
            return None  # the other question tells what is wrong
        finally:
            await source.close()

    def _judge(self, view: LedgerView, now_ms: int) -> LinkStatus:
        wanted = [TopicPartition(t.topic, n) for t in view.roster.values() for n in range(t.partitions)]
        trouble, unreachable = None, False
        ends: Mapping[TopicPartition, int | ClusterError] = {}
        highs: Mapping[TopicPartition, int | ClusterError] = {}
        try:
            # In this order: records that arrive between the two questions must not look like an open transaction.
            highs = self.high_watermarks(wanted) if self.high_watermarks and wanted else {}
            # A leader that did not answer the first question is not waited for again.
            heard = [place for place in wanted if not isinstance(highs.get(place), ClusterUnreachable)]
            ends = dict(highs) | dict(self.end_offsets(heard) if heard else {})
            if self.reach is not None and all(isinstance(ends.get(place), ClusterError) for place in wanted):
                # Nothing to ask about, or no answer: whether it lets us in. A client that knew the leaders before
                # calls a cluster that is gone "no leader", partition by partition.
                self.reach()
        except ClusterError as error:
            trouble, unreachable = str(error), isinstance(error, ClusterUnreachable)
            if expired := own_expired(self.link.clients.source_admin, SYSTEM_CLOCK.now_ms()):
                trouble = f"{self.link.source}: {expired}; {error.problem}"
        else:
            # librdkafka tells of a cluster that is gone once per partition; that is one cause, not hundreds.
            silent = [end for end in ends.values() if isinstance(end, ClusterUnreachable)]
            unreachable = bool(silent) and len(silent) == len(wanted)
            trouble = str(silent[0]) if unreachable else self._partly(ends)
        parts = tuple(self._partition(view, p, ends.get(p), highs.get(p)) for p in wanted)
        rates = self._rates(sum(p.records for p in parts), sum(p.bytes for p in parts))
        behind = [p for p in parts if p.lag]
        oldest = min((p.newest_ms for p in behind if p.newest_ms > 0), default=-1)
        status = LinkStatus(
            link=self.link.name,
            engine=view.engine,
            partitions=parts,
            problems=tuple(t.problem for t in view.roster.values() if t.problem and self._counts(t.problem)),
            source_trouble=trouble,
            source_unreachable=unreachable,
            source_partly=trouble is not None and any(isinstance(end, int) for end in ends.values()),
            source_seen_ms=seen_at(view.memos.get(CHORE, {})),
            now_ms=now_ms,
            records_per_second=rates[0],
            bytes_per_second=rates[1],
            lag_seconds=_age(now_ms, oldest) if behind else None if trouble else 0.0,
            topics=len(view.roster),
            control=view.control,
            chores=tuple(view.notes[chore] for chore in sorted(view.notes)),
            stages=self._lately(view.times),
            stage_totals=view.times.total,
        )
        nexts = {part.partition: part.source_next for part in parts}
        ids = {name: topic.source_id for name, topic in view.roster.items()}
        known = known_ends(view.memos.get(CHORE, {}), nexts, ids)
        data = tuple(part for part in parts if not self.link.naming.is_heartbeats(part.partition.topic))
        # Heartbeats are nobody's data: the report of a switch does not count them, so status does not either.
        exposure = link_exposure(replace(status, partitions=data), known, self.link.objectives, live=trouble is None)
        if status.rests and exposure.live:
            # That everything of the side that was left is copied says nothing about what the active side writes now.
            return replace(status, lag_seconds=None)
        lag_seconds = None if status.untold or status.rests else status.lag_seconds
        return replace(status, exposure=exposure, lag_seconds=lag_seconds)

    def _partly(self, ends: Mapping[TopicPartition, int | ClusterError]) -> str | None:
        """Which leaders of the source do not answer, while others do: a broker that is dead, frozen or cut off."""
        lost = [place for place, end in ends.items() if isinstance(end, (ClusterUnreachable, LeaderMissing))]
        if not lost:
            return None
        count = f"{len(lost)} of {len(ends)} partitions"
        return f"{self.link.source}: no broker answers as leader of {count} ({listed(lost)})"

    def _partition(
        self,
        view: LedgerView,
        partition: TopicPartition,
        end: int | ClusterError | None,
        high: int | ClusterError | None,
    ) -> PartitionStatus:
        topic: RosterTopic = view.roster[partition.topic]
        state = view.states.get(partition)
        if state is not None and state.incarnation != topic.incarnation:
            state = None
        known_end = int(end) if isinstance(end, int) else None
        held = None
        if known_end is not None and isinstance(high, int) and high > known_end:
            held = f"an open transaction at source offset {known_end} holds {high - known_end} offsets back"
        if view.control.paused(partition):
            held = "an operator paused it; `twinlog link resume-topic` continues it"
        return PartitionStatus(
            partition=partition,
            remote=topic.remote,
            source_next=state.source_next if state else topic.origins[partition.partition],
            source_end=known_end,
            target_next=state.target_next if state else None,
            records=state.records if state else 0,
            bytes=state.bytes if state else 0,
            skipped=state.skipped if state else 0,
            returned=state.returned if state else 0,
            dropped=state.dropped if state else 0,
            refused=state.refused if state else 0,
            newest_ms=state.newest_ms if state else -1,
            at_ms=state.at_ms if state else 0,
            fault=state.fault if state and state.phase == "faulted" and self._counts(state.fault) else None,
            held_back=held,
        )

    def _counts(self, fault: FaultEntry | None) -> bool:
        """A deleted source is no fault where the policy says what becomes of the copy: the sync job tells of it."""
        settled = not isinstance(self.link.copies.deletion, ReportDeletion)
        return fault is not None and not (settled and fault.code == SourceTopicMissing.code)

    def _rates(self, records: int, size: int) -> tuple[float | None, float | None]:
        now = time.monotonic()
        before, self._before = self._before, (now, records, size)
        if before is None or now - before[0] < 0.2:
            return None, None
        elapsed = now - before[0]
        return max(0.0, (records - before[1]) / elapsed), max(0.0, (size - before[2]) / elapsed)

    def _lately(self, times: LinkTimes) -> dict[Stage, Durations]:
        """How long records took in the last minute; of the running epoch where nobody looked a minute ago."""
        now = time.monotonic()
        while len(self._times) > 1 and self._times[1][0] <= now - _LATELY_S:
            self._times.popleft()
        self._times.append((now, times.total))
        then, before = self._times[0]
        return since(times.total, before) if then <= now - _LATELY_S else times.running()


def _age(now_ms: int, then_ms: int) -> float | None:
    """Seconds since then; None where nothing was copied yet, so that nobody knows how old what waits is."""
    return max(0.0, (now_ms - then_ms) / 1000) if then_ms > 0 else None
