"""Entry point of this package: observe, plan, execute, resume, abort. Runs in commands, drills and tests."""

from __future__ import annotations

import asyncio
import os
import socket
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from twinlog.config.pair import Pair
from twinlog.errors import SwitchRefused, SwitchRunning
from twinlog.ledger.switch_log import ensure_switch_topic
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import LinkName
from twinlog.model.switch.card import CardFacts, card_facts
from twinlog.model.switch.events import OnSwitchEvent, Said, ignore_event
from twinlog.model.switch.log import SILENT_MS, Command, StateEntry, Switch, decision_after
from twinlog.model.switch.plan import Facts, Plan, plan_of, refusal_of
from twinlog.recovery.context import Copier, SwitchContext
from twinlog.recovery.execute import abort, begin, planned, run, take_up
from twinlog.recovery.observe import observe
from twinlog.recovery.report import Report, reports_of

T = TypeVar("T")

_AGAIN_S: Final = 2.0


def _runner() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"


@dataclass
class Standing:
    """How a pair stands: who is active, what runs, what was done."""

    state: StateEntry | None
    open: Switch | None
    ended: tuple[Switch, ...]
    closed: frozenset[str] = frozenset()  # clusters whose producers are shut out


@dataclass
class Switching:
    """Switches of one pair of clusters."""

    pair: Pair
    copier: Copier
    folder: Path
    on_event: OnSwitchEvent = ignore_event
    runner: str = field(default_factory=_runner)
    _card: CardFacts = field(default_factory=CardFacts)

    def _context(self) -> SwitchContext:
        return SwitchContext.of(self.pair, self.copier, self.folder, self.runner, self.on_event)

    async def plan(self, command: Command) -> tuple[Facts, Plan]:
        """Look at both clusters and make the plan; changes nothing. Raises SwitchRefused."""
        ctx = self._context()
        try:
            facts = await observe(ctx, command)
            ctx.journal.require_trust()
        finally:
            await ctx.close()
        refusal = refusal_of(facts)
        if refusal is not None:
            kind = SwitchRunning if facts.open is not None and facts.target_trouble is None else SwitchRefused
            raise kind(str(facts.link), refusal.reason, refusal.way)
        link = self.pair.link
        servers = {
            link.source: link.clients.source_admin.bootstrap_servers,
            link.target: link.clients.target_admin.bootstrap_servers,
        }
        self._card = card_facts(facts, link.naming, servers)
        return facts, plan_of(facts)

    async def execute(self, plan: Plan, options: Mapping[str, Any] | None = None) -> Report:
        """Claim the switch and run the plan to its end. Raises SwitchRunning, SwitchStopped."""
        ctx = self._context()
        try:
            await ctx.journal.read()
            titles = {step.id: step.title for step in plan.steps}
            card = self._card.model_dump(mode="json")
            await begin(ctx, plan.command, [*titles], {"titles": titles, "card": card, **(options or {})})
            return await run(ctx)
        finally:
            await ctx.close()

    async def resume(self) -> Report:
        """Continue the open switch once whoever ran it is silent."""
        ctx = self._context()
        try:
            await ctx.journal.read()
            if ctx.journal.log.open is not None:
                self.on_event(planned(ctx.journal.log.open))
            await self._when_silent(lambda: take_up(ctx))
            return await run(ctx)
        finally:
            await ctx.close()

    async def abort(self) -> Report:
        """Give the open switch up."""
        ctx = self._context()
        try:
            return await self._when_silent(lambda: abort(ctx))
        finally:
            await ctx.close()

    async def _when_silent(self, claim: Callable[[], Awaitable[T]]) -> T:
        """A process that was killed counts as gone only after a while; that long is waited."""
        deadline = time.monotonic() + SILENT_MS / 1000 + _AGAIN_S
        while True:
            try:
                return await claim()
            except SwitchRunning:
                if time.monotonic() > deadline:
                    raise
                self.on_event(Said("waiting to see whether the process that ran the switch is gone"))
                await asyncio.sleep(_AGAIN_S)

    async def sign(self, *, dry_run: bool = False) -> StateEntry:
        """Sign the decision that holds, on both clusters, whoever wrote it. Raises SwitchRefused, ClusterError."""
        link = self.pair.link
        if link.switch.secret is None:
            way = "Set switch.secret in the file, as a reference, and start the services again afterwards."
            raise SwitchRefused(link.name, "there is no switch.secret to sign with", way)
        ctx = self._context()
        ends = (ctx.journal.home, ctx.journal.other)
        try:
            for end in ends:
                end.secret = None  # what was never signed counts once more
                await end.catch_up()
                end.secret = link.switch.secret
            if ctx.journal.log.open is not None:
                raise SwitchRunning(
                    link.name, "a switch is open", f"End it first: `twinlog switch status {link.name}`."
                )
            before = ctx.journal.state
            why = "signed" if before is None else before.why
            name = LinkName(link.source, link.target)
            entry = decision_after(before, name, why=why, at_ms=SYSTEM_CLOCK.now_ms())
            entry = entry.model_copy(update={"runner": "", "switch": ""})
            if not dry_run:
                for end, admin in zip(ends, (ctx.target, ctx.source), strict=True):
                    await asyncio.to_thread(ensure_switch_topic, admin, link.copies.replication_factor)
                    await end.append(entry)
            return entry
        finally:
            await ctx.close()

    async def standing(self) -> Standing:
        """What the logs of both clusters say, as far as they answer."""
        ctx = self._context()
        try:
            await ctx.journal.read()
            return Standing(
                ctx.journal.state, ctx.journal.log.open, ctx.journal.log.ended, frozenset(ctx.journal.log.fenced)
            )
        finally:
            await ctx.close()


def reports(standing: Standing) -> list[Report]:
    """All switches, the open one last."""
    return reports_of([*standing.ended, *([standing.open] if standing.open else [])])
