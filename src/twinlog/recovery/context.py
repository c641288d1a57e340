"""What the steps of a switch work with: both clusters, both links, the journal. Runs in the command that switches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from twinlog.config.pair import Pair
from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, SwitchStopped, TwinlogError
from twinlog.kafka.admin import ClusterAdmin
from twinlog.ledger.reading import look_at_ledger
from twinlog.ledger.switch_log import SwitchTopic
from twinlog.ledger.view import LedgerView
from twinlog.model.names import LinkName
from twinlog.recovery.fencing import Fence
from twinlog.recovery.journal import Journal
from twinlog.wire.connection import Cluster, ConnectionTrouble

T = TypeVar("T")

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
    facts: Mapping[str, Any]


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
        """All of them."""
        for name in list(self._running):
            await self.stop(name)


@dataclass(frozen=True)
class ShutByUs:
    """A fence that this process raised, and what the journal says of before."""

    fence: Fence
    topics: tuple[str, ...]
    noted: Mapping[str, Any]


@dataclass
class SwitchContext:
    """One switch while this process runs it."""

    pair: Pair
    journal: Journal
    source: ClusterAdmin
    target: ClusterAdmin
    engines: OwnEngines
    folder: Path
    say: Callable[[str], None] = lambda _: None
    shut: dict[str, ShutByUs] = field(default_factory=dict)  # by cluster
    _clusters: tuple[Cluster, ...] = ()
    _said: str = ""

    @classmethod
    def of(cls, pair: Pair, copier: Copier, folder: Path, runner: str) -> SwitchContext:
        """Clients for both clusters; nothing is asked yet."""
        link = pair.link
        name = LinkName(link.source, link.target)
        here = Cluster(pair.back.target_producer, f"twinlog|{link.name}|recovery")
        there = Cluster(link.target_producer, f"twinlog|{link.name}|recovery")
        patience = min(link.source_admin.request_timeout_ms, _SOURCE_TIMEOUT_MS)
        source = ClusterAdmin(link.source_admin.model_copy(update={"request_timeout_ms": patience}))
        target = ClusterAdmin(link.target_admin)
        journal = Journal(
            home=SwitchTopic(there, name),
            other=SwitchTopic(here, name),
            home_admin=target,
            other_admin=source,
            replication_factor=link.replication_factor,
            folder=folder,
            runner=runner,
        )
        return cls(pair, journal, source, target, OwnEngines(copier), folder, _clusters=(here, there))

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

    def facts(self, step: str) -> Mapping[str, Any]:
        """What a step of this switch left behind."""
        return self.journal.switch.facts(step)

    def earlier(self, step: str) -> Mapping[str, Any]:
        """What a step left behind in this switch, or else in the last one that had it: a failback looks at the cut."""
        for switch in (self.journal.switch, *reversed(self.journal.log.ended)):
            if switch.facts(step):
                return switch.facts(step)
        return {}

    async def ledger(self, link: LinkSettings) -> LedgerView:
        """Everything that a link's ledger says now."""
        found = await look_at_ledger(link.target_producer, link.source, within_s=LEDGER_WITHIN_S)
        return found if found is not None else LedgerView({})

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
        cluster = self.at_source if admin is self.source else self.at_target
        try:
            async with asyncio.timeout(within_s):
                await cluster.refresh(None)
        except TimeoutError:
            return f"no answer within {within_s:.0f} s"
        except (ClusterError, *ConnectionTrouble) as error:
            return str(error) or type(error).__name__
        return None


def require(refusals: Mapping[Any, TwinlogError | None]) -> None:
    """Raise the first refusal of many."""
    for refusal in refusals.values():
        if refusal is not None:
            raise refusal
