"""What the steps of a switch work with: both clusters, both links, the journal. Runs in the command that switches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from twinlog.config.pair import Pair
from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, SwitchStopped
from twinlog.kafka.admin import ClusterAdmin
from twinlog.ledger.following import FollowedLedger
from twinlog.ledger.switch_log import SwitchTopic
from twinlog.ledger.view import LedgerView
from twinlog.model.names import LinkName, TopicPartition
from twinlog.model.switch.events import OnSwitchEvent, Said, ignore_event
from twinlog.model.switch.facts import FenceFacts, FenceNote, StepFacts
from twinlog.model.switch.log import F, Switch
from twinlog.recovery.fencing import Fence
from twinlog.recovery.journal import Journal
from twinlog.wire.connection import Cluster

Copier = Callable[[LinkSettings], AbstractAsyncContextManager[None]]
"""Runs an engine of the switch's own for a link while the block lasts (given by the service)."""
LEDGER_WITHIN_S: Final = 60.0
_LOOK_S: Final = 0.25
_SOURCE_TIMEOUT_MS: Final = 8_000
"""A source that is lost must not hold the failover up for the minute that an ordinary request may take."""


@dataclass(frozen=True)
class StepResult:
    """What a step did: a sentence for the report, and facts for later steps and for the report."""

    says: str
    facts: StepFacts


@dataclass
class OwnEngines:
    """The engines of the switch itself: they copy while all others are held."""

    copier: Copier
    _running: dict[str, AbstractAsyncContextManager[None]] = field(default_factory=dict)

    def runs(self, name: str) -> bool:
        """Whether one of them copies this link."""
        return name in self._running

    async def start(self, links: Sequence[LinkSettings]) -> None:
        """Start what does not run yet."""
        for link in links:
            if link.name not in self._running:
                engine = self.copier(link)
                await engine.__aenter__()
                self._running[link.name] = engine

    async def stop(self, name: str) -> None:
        """A clean end: what was read is written and noted."""
        engine = self._running.pop(name, None)
        if engine is not None:
            await engine.__aexit__(None, None, None)

    async def stop_all(self) -> None:
        for name in list(self._running):
            await self.stop(name)


@dataclass(frozen=True)
class ShutByUs:
    """A fence that this process raised, and what the journal says of before."""

    fence: Fence
    topics: tuple[str, ...]
    noted: FenceNote


@dataclass
class SwitchContext:
    """One switch while this process runs it."""

    pair: Pair
    journal: Journal
    source: ClusterAdmin
    target: ClusterAdmin
    engines: OwnEngines
    folder: Path
    on_event: OnSwitchEvent
    shut: dict[str, ShutByUs] = field(default_factory=dict)  # by cluster
    _clusters: tuple[Cluster, ...] = ()
    _ledgers: dict[str, FollowedLedger] = field(default_factory=dict)  # by source
    _said: str = ""

    @classmethod
    def of(
        cls, pair: Pair, copier: Copier, folder: Path, runner: str, on_event: OnSwitchEvent = ignore_event
    ) -> SwitchContext:
        """Clients for both clusters; nothing is asked yet."""
        link = pair.link
        name = LinkName(link.source, link.target)
        here = Cluster(pair.back.clients.target_producer, f"twinlog|{link.name}|recovery")
        there = Cluster(link.clients.target_producer, f"twinlog|{link.name}|recovery")
        timeout_ms = min(link.clients.source_admin.request_timeout_ms, _SOURCE_TIMEOUT_MS)
        source = ClusterAdmin(link.clients.source_admin.model_copy(update={"request_timeout_ms": timeout_ms}))
        target = ClusterAdmin(link.clients.target_admin)
        journal = Journal(
            home=SwitchTopic(there, name, secret=link.switch.secret),
            other=SwitchTopic(here, name, secret=link.switch.secret),
            home_admin=target,
            other_admin=source,
            replication_factor=link.copies.replication_factor,
            folder=folder,
            runner=runner,
        )
        return cls(pair, journal, source, target, OwnEngines(copier), folder, on_event, _clusters=(here, there))

    async def close(self) -> None:
        """Stop what was started and close every connection."""
        await self.engines.stop_all()
        for cluster in self._clusters:
            await cluster.close()

    @property
    def link(self) -> LinkSettings:
        """The link that is switched."""
        return self.pair.link

    @property
    def back(self) -> LinkSettings:
        """Its way back."""
        return self.pair.back

    @property
    def at_source(self) -> Cluster:
        """The source, for raw requests; with the rights to write there."""
        return self._clusters[0]

    @property
    def at_target(self) -> Cluster:
        """The target, for raw requests."""
        return self._clusters[1]

    @property
    def timeout_s(self) -> float:
        """The longest wait of one step."""
        return float(self.link.switch.timeout_seconds)

    def facts(self, kind: type[F]) -> F:
        """What a step of this switch left. Raises SwitchStopped when it left nothing."""
        facts = self.find(kind)
        if facts is None:
            reason = f"the journal has nothing of the step {kind.step}, which must run before"
            raise SwitchStopped(self.link.name, kind.step, reason, "Give the switch up and begin it again.")
        return facts

    def ends(self, kind: type[FenceFacts]) -> dict[TopicPartition, int]:
        """Where the topics of a side end that this switch shut. Raises SwitchStopped when it did not."""
        ends = self.facts(kind).ends
        if ends is None:
            reason = f"the step {kind.step} did not note where the topics end"
            raise SwitchStopped(self.link.name, kind.step, reason, "Give the switch up and begin it again.")
        return ends

    def find(self, kind: type[F]) -> F | None:
        """What a step of this switch left; None when it left nothing, or is no step of this switch."""
        return self._read(self.journal.switch, kind)

    def earlier(self, kind: type[F]) -> F | None:
        """What a step left in this switch, or else in the last one that had it: a failback looks at the cut."""
        switches = (self.journal.switch, *reversed(self.journal.log.ended))
        return next((facts for switch in switches if (facts := self._read(switch, kind)) is not None), None)

    def _read(self, switch: Switch, kind: type[F]) -> F | None:
        try:
            return switch.facts(kind)
        except ValueError as error:
            reason = f"what the journal has of the step {kind.step} of {switch.id} cannot be read: {error}"
            raise SwitchStopped(
                self.link.name, kind.step, reason, "Another version wrote it: resume with that."
            ) from error

    def noted(self, cluster: str) -> FenceNote | None:
        """What a cluster was like before it was shut; None while it is not shut."""
        return self.journal.log.fenced.get(cluster)

    async def ledger(self, link: LinkSettings) -> LedgerView:
        """Everything that a link's ledger says now. It is read once; later looks fetch only what is new.

        All looks at one link return the same view. It changes with the next look.
        """
        if link.source not in self._ledgers:
            self._ledgers[link.source] = FollowedLedger(self.cluster(link.target), link.source)
        return await self._ledgers[link.source].read(LEDGER_WITHIN_S) or LedgerView({})

    def cluster(self, alias: str) -> Cluster:
        """One of the two clusters, for raw requests."""
        return self.at_target if alias == self.link.target else self.at_source

    def admin(self, alias: str) -> ClusterAdmin:
        """One of the two clusters, for administration."""
        return self.target if alias == self.link.target else self.source

    def say(self, text: str) -> None:
        """Report a sentence about the running step. Others read it in the journal, with the next sign of life."""
        self.journal.saying = text
        self.on_event(Said(text))

    def say_progress(self, sentence: str) -> None:
        """Say what a wait is for and how far it is. It looks several times a second: nothing is said twice."""
        if sentence != self._said:
            self._said = sentence
            self.say(sentence)

    async def wait(
        self,
        step: str,
        what: str,
        look: Callable[[], Any],
        accept: Callable[[Any], bool],
        within_s: float | None = None,
    ) -> Any:
        """Look until it is as wanted. Raises SwitchStopped with what was seen last."""
        limit = self.timeout_s if within_s is None else within_s
        deadline = time.monotonic() + limit
        while True:
            seen = await look()
            if accept(seen):
                return seen
            if time.monotonic() > deadline:
                raise SwitchStopped(self.link.name, step, f"{what}: not within {limit:.0f} s; last seen: {seen}")
            await asyncio.sleep(_LOOK_S)

    async def reachable(self, admin: ClusterAdmin, within_s: float) -> str | None:
        """Why a cluster does not answer; None when it does. Refused connections are told at once."""
        cluster = self.cluster(admin.cluster)
        try:
            async with asyncio.timeout(within_s):
                await cluster.refresh(None)
        except TimeoutError:
            return f"no answer within {within_s:.0f} s"
        except ClusterError as error:
            return str(error) or type(error).__name__
        return None
