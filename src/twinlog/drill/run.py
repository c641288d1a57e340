"""Runs a drill and keeps its report: the entry point of this package. Runs in `twinlog drill`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from twinlog.config.pair import Pair
from twinlog.doctor.gather import gather
from twinlog.doctor.registry import examine
from twinlog.drill.outcome import DrillOutcome, Kind, memo_body, report_of
from twinlog.drill.paper import paper_outcome
from twinlog.drill.reports import Reports
from twinlog.drill.schemas import rehearse_schemas
from twinlog.drill.shadow import ShadowResult, run_shadow
from twinlog.errors import SelectionEmpty, SwitchRefused, TwinlogError
from twinlog.ledger.view import LedgerView
from twinlog.ledger.writer import roster_writer
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.drills.evidence import CHORE, LAST
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.records import Memo
from twinlog.model.switch.log import Command
from twinlog.model.switch.plan import Plan
from twinlog.model.wanted import Wanted
from twinlog.recovery.switching import Switching
from twinlog.sync.ends import LinkEnds
from twinlog.wire.connection import Cluster

Look = Callable[[], Awaitable[tuple[LinkStatus, LedgerView]]]
Canary = Callable[[], Awaitable[DrillOutcome]]
_COMMANDS: Final[tuple[Command, ...]] = ("failover-planned", "failover-unplanned")
_ALL_GROUPS: Final = Wanted("groups")
_NAMED: Final = 20
_NOTE_WITHIN_S: Final = 10.0


@dataclass
class Drills:
    """Drills of one link. `canary` really switches, a topic of its own (given by the service)."""

    pair: Pair
    look: Look
    switching: Switching
    canary: Canary
    reports: Reports
    say: Callable[[str], None] = lambda _: None

    async def run(self, kind: Kind, wanted: Wanted = _ALL_GROUPS, limit: int = 200) -> dict[str, Any]:
        """Run one drill to its end and keep the report; returns it.

        Raises SelectionEmpty when there is nothing to try: a drill of nothing is no evidence, neither good nor bad.
        """
        link = self.pair.link
        began_ms = SYSTEM_CLOCK.now_ms()
        exposure = None
        try:
            status, view = await self.look()
            exposure = status.exposure
            outcome = await self._rehearse(kind, wanted, limit)
            if kind != "paper":  # there the doctor looks at them
                await rehearse_schemas(link, view, outcome)
        except SelectionEmpty:
            raise
        except TwinlogError as error:
            # A rehearsal that cannot even begin is the most valuable of all: it is evidence too.
            outcome = DrillOutcome(kind, [f"it could not be carried out: {error}"])
        if exposure is not None:
            outcome.remarks += [f"{topic.topic}: its objective is not kept" for topic in exposure.broken]
        report = self.reports.append(report_of(outcome, link.name, exposure, link.objectives, began_ms))
        await self._note(report)
        return report

    async def _rehearse(self, kind: Kind, wanted: Wanted, limit: int) -> DrillOutcome:
        match kind:
            case "paper":
                return await self._paper()
            case "shadow":
                return shadow_outcome(await run_shadow(LinkEnds.of(self.pair.link), wanted, limit))
            case "canary":
                return await self.canary()

    async def _paper(self) -> DrillOutcome:
        plans: dict[str, Plan | str] = {}
        for command in _COMMANDS:
            try:
                _, plans[command] = await self.switching.plan(command)
            except SwitchRefused as refused:
                plans[command] = str(refused)
        facts = await gather(self.pair.link, self.look, back_enabled=self.pair.back_enabled)
        return paper_outcome(plans, examine(facts))

    async def _note(self, report: dict[str, Any]) -> None:
        """Tell the ledger, so that status and doctor know, and a report that is missing from the file is missed."""
        link = self.pair.link
        target = Cluster(link.clients.target_producer, f"twinlog|{link.name}|drill")
        try:
            async with asyncio.timeout(_NOTE_WITHIN_S):
                writer = roster_writer(target, link.source, link.name)
                await writer.write([Memo(chore=CHORE, name=LAST, body=memo_body(report))])
        except (TwinlogError, TimeoutError) as error:
            self.say(f"{link.name}: the ledger could not be written about this drill: {str(error) or 'no answer'}")
        finally:
            await target.close()

    async def last_hash(self) -> str | None:
        """The hash of the last report that the ledger knows of; None when it knows of none, or does not answer."""
        try:
            _, view = await self.look()
        except TwinlogError:
            return None
        memo = view.memos.get(CHORE, {}).get(LAST)
        return None if memo is None else str(memo.body["hash"])


def shadow_outcome(result: ShadowResult) -> DrillOutcome:
    """Judge the shadows."""
    outcome = DrillOutcome("shadow")
    bad = [verdict for verdict in result.verdicts if not verdict.passed]
    outcome.failures = [verdict.says() for verdict in bad]
    if not result.verdicts:
        outcome.failures.append("no position of any group could be tried on the target")
    outcome.remarks = list(result.findings)
    outcome.remarks += [
        f"{verdict.group}: {verdict.source}: {verdict.foreign:,} of the records it reads were not written by this link"
        for verdict in result.verdicts
        if verdict.foreign
    ]
    for what, seconds in result.steps:
        outcome.step(what, seconds)
    outcome.facts = {
        "groups": result.groups,
        "partitions": len(result.verdicts),
        "records_compared": sum(verdict.compared for verdict in result.verdicts),
        "left_out_by_the_map": sum(verdict.left_out for verdict in result.verdicts),
        "foreign_on_target": sum(verdict.foreign for verdict in result.verdicts),
        "tried": [verdict.says() for verdict in result.verdicts[:_NAMED]],
    }
    outcome.rto_seconds = result.seconds if result.verdicts else None
    outcome.rto_covers = "from the decision until every group read its first record; without redirecting clients"
    return outcome
