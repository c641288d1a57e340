"""What is to run: the plan of the settings file and of all connectors. Runs in the service's loop; reads in threads.

An order is planned once: the plan that checked it is the plan that is brought into force. At any other time the plan is
made again, for files that settings refer to may have changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from twinlog.config.resolve import Resolved
from twinlog.control.grounds import Grounds, grounds_of
from twinlog.control.kind import Plan
from twinlog.control.kinds import in_file, plan_all
from twinlog.control.sealing import Opened, Seal
from twinlog.engine.spec_changes import Spec
from twinlog.errors import TwinlogError
from twinlog.model.connectors import Connector, GroupState, TargetState
from twinlog.pipelines.worker_settings import Worker

_Inputs: TypeAlias = tuple[Resolved | None, tuple[Opened, ...], Mapping[str, TargetState]]


@dataclass
class Planning:
    """The plan in force. `check` raises TwinlogError when this machine cannot run a job; it blocks."""

    check: Callable[[Spec], None]
    environment: Mapping[str, str]
    seal: Seal
    file: Resolved | None = None
    worker: Worker | None = None  # whose cluster and defaults pipelines use
    plan: Plan = field(default_factory=Plan)
    made: int = 0  # how many plans were made
    _ordered: tuple[_Inputs, Plan] | None = None
    # Job -> its spec, and why this machine cannot run it, if so.
    _tried: dict[str, tuple[Spec, str | None]] = field(default_factory=dict)

    @property
    def grounds(self) -> Grounds:
        """What connectors are read by."""
        return grounds_of(self.file, self.environment, self.worker)

    def connectors(self, group_state: GroupState) -> list[Connector]:
        """All of them, those of the file first."""
        return [
            *in_file(self.file, group_state.states),
            *(opened.connector for opened in self.seal.opened(group_state)),
        ]

    async def plan_with(self, group_state: GroupState, connector: Connector) -> Plan:
        """The plan as it would be with one connector more, or with another config of it."""
        # The new one comes last: of two that claim the same, the first has it.
        others = [other for other in self.seal.opened(group_state) if other.connector.name != connector.name]
        return await self._made(self._inputs(group_state, [*others, Opened(connector, None)]))

    async def troubles_without(self, group_state: GroupState, connector: Connector) -> frozenset[str]:
        """The connectors that cannot run now, whatever becomes of this one: files that they name may have changed."""
        plan = await self._planned(self._inputs(group_state, self.seal.opened(group_state)))
        return frozenset(plan.troubles) - {connector.name}

    async def take_order(self, group_state: GroupState, checked: Plan | None = None) -> None:
        """Plan the connectors as an order left them, unless `checked` is that plan already. `refresh` uses it once."""
        inputs = self._inputs(group_state, self.seal.opened(group_state))
        known = self._ordered
        if checked is None or known is None or known[1] is not checked or not _same(known[0], inputs):
            checked = await self._made(inputs)
        self.plan, self._ordered = checked, (inputs, checked)

    async def refresh(self, group_state: GroupState) -> None:
        """Plan anew, unless an order did so a moment ago and nothing came between."""
        inputs = self._inputs(group_state, self.seal.opened(group_state))
        known, self._ordered = self._ordered, None
        ready = known is not None and known[1] is self.plan and _same(known[0], inputs)
        if not ready:
            self.plan = await self._made(inputs)
            self._ordered = None

    async def refusal(self, spec: Spec) -> str | None:
        """Why this machine cannot run a job, if so; tried once for the same spec."""
        known, trouble = self._tried.get(spec.name, (None, None))
        if known != spec:
            try:
                await asyncio.to_thread(self.check, spec)
                trouble = None
            except TwinlogError as error:
                trouble = str(error)
            self._tried[spec.name] = (spec, trouble)
        return trouble

    def _inputs(self, group_state: GroupState, stored: Sequence[Opened]) -> _Inputs:
        return (
            self.file,
            tuple(stored),
            {connector.name: connector.state for connector in in_file(self.file, group_state.states)},
        )

    async def _made(self, inputs: _Inputs) -> Plan:
        plan = await self._planned(inputs)
        self._ordered = inputs, plan
        return plan

    async def _planned(self, inputs: _Inputs) -> Plan:
        file, stored, states = inputs
        self.made += 1
        trusted = [opened.connector for opened in stored if opened.trouble is None]
        parts = await asyncio.to_thread(plan_all, file, trusted, lambda name: states.get(name, "STARTED"), self.grounds)
        jobs = [spec for part in parts for spec in part.jobs]
        refused = {spec.name: why for spec in jobs if (why := await self.refusal(spec)) is not None}
        return Plan(
            jobs=tuple(spec for spec in jobs if spec.name not in refused),
            specs={name: spec for part in parts for name, spec in part.specs.items()},
            troubles={
                **{name: why for part in parts for name, why in part.troubles.items()},
                **{opened.connector.name: opened.trouble for opened in stored if opened.trouble is not None},
            },
            heartbeats=tuple(pair for part in parts for pair in part.heartbeats),
            refused=refused,
        )


def _same(first: _Inputs, other: _Inputs) -> bool:
    return first[0] is other[0] and _by_name(first) == _by_name(other) and first[2] == other[2]


def _by_name(inputs: _Inputs) -> list[Opened]:
    return sorted(inputs[1], key=lambda opened: opened.connector.name)
