"""Orders for connectors: each is checked, written to the store and brought into force. Runs in the service's loop.

    order ─▶ checked ─▶ links topic ─▶ plan ─▶ jobs

Only the service that leads takes orders. Every order is written to the audit, also one that is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twinlog.config.security.masking import masked, repointed, unmasked
from twinlog.control.audit import Audit, Who
from twinlog.control.connectors import Connectors
from twinlog.control.kind import Kind, Offset, Plan
from twinlog.control.kinds import kind_of, unknown_class
from twinlog.control.leadership import Leadership
from twinlog.control.levels import OrderedLevels, level_of
from twinlog.control.planning import Planning
from twinlog.control.record_signatures import Record
from twinlog.control.refusals import check_alone, invalid, send_again
from twinlog.errors import (
    ConnectorExists,
    ConnectorReadOnly,
    ConnectorRefused,
    LinkForbidden,
    NotActive,
    TwinlogError,
)
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.connectors import LINKS_TOPIC, Connector, LevelOrder, TargetState

log = logging.getLogger("twinlog.connectors")


@dataclass
class Orders:
    """Takes orders, one after the other."""

    leadership: Leadership
    planning: Planning
    connectors: Connectors
    audit: Audit
    levels: OrderedLevels
    on_order: Callable[[Who, str, str], None] = lambda _who, _what, _name: None  # told of every order that was done
    _ordering: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def create(self, who: Who, name: str, config: Mapping[str, str], state: TargetState) -> Connector:
        """Make a connector. Raises ConnectorExists, ConnectorRefused."""
        async with self._order(who, "create", name, after=masked(config)):
            if name in self.connectors.names():
                raise ConnectorExists(name, "")
            wanted = Connector(name, {**config, "name": name}, state)
            plan = await self._checked(who, wanted)
            await self._append(self._record(wanted), self.leadership.group_state.state_record(name, state), plan=plan)
        return self.connectors.connector(name)

    async def put(self, who: Who, name: str, config: Mapping[str, str]) -> tuple[bool, Connector]:
        """Set all of a connector's config; True when it is new."""
        before = self.connectors.find(name)
        if before is None:
            return True, await self.create(who, name, config, "STARTED")
        await self._change(who, before, {**config, "name": name}, sent=config)
        return False, self.connectors.connector(name)

    async def patch(self, who: Who, name: str, changes: Mapping[str, str | None]) -> Connector:
        """Set some keys of a connector's config; None removes one."""
        before = self.connectors.connector(name)
        config = {key: value for key, value in {**before.config, **changes}.items() if value is not None}
        await self._change(who, before, config, sent=changes)
        return self.connectors.connector(name)

    async def delete(self, who: Who, name: str) -> None:
        """End a connector. What was copied, and how far it is, stays, as with Connect."""
        connector = self.connectors.connector(name)
        async with self._order(who, "delete", name, before=masked(connector.config)):
            self._writable(connector)
            group_state = self.leadership.group_state
            await self._append(group_state.config_record(name, None), group_state.state_record(name, None))

    async def want(self, who: Who, name: str, state: TargetState) -> None:
        """Start, pause or stop a connector; those of the file, too."""
        connector = self.connectors.connector(name)
        async with self._order(who, state.lower(), name, before=connector.state, after=state):
            await self._append(self.leadership.group_state.state_record(name, state))

    async def restart(self, who: Who, name: str, *, only_failed: bool = False) -> None:
        """Restart the job of a connector, as it is set; a sync job restarts with its link."""
        connector = self.connectors.connector(name)
        async with self._order(who, "restart", name):
            kind = kind_of(connector)
            if kind is not None and (not only_failed or self.connectors.status(name).state == "FAILED"):
                if self.connectors.sharing.told_of(name) is None:
                    await self.connectors.runner.restart(kind.job(connector))
                else:
                    ordered = self.leadership.group_state.restart_record(name, SYSTEM_CLOCK.now_ms())
                    await self.leadership.write(ordered)
                self.leadership.due()

    async def change_offsets(self, who: Who, name: str, wanted: Sequence[Offset] | None) -> None:
        """Change how far a stopped connector is; None forgets everything. What was copied must be gone (R2)."""
        kind, subject = self.connectors.kind(name), self.connectors.subject(name)
        if subject.connector.state != "STOPPED":
            raise ConnectorRefused(
                name,
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for "
                f"the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
            )
        change = await kind.change_offsets(subject, wanted)
        if change is None:
            return
        async with self._order(who, change.what, name, after=change.after):
            await change.apply()

    async def set_levels(self, who: Who, logger: str, level: str) -> None:
        """Set a level of logging in every service of the group."""
        before = level_of(logger).level
        async with self._order(who, "set level everywhere", logger, before=before, after=level):
            order = LevelOrder(level, SYSTEM_CLOCK.now_ms())
            self.levels.take(await self.leadership.write(self.leadership.group_state.level_record(logger, order)))

    # --- how orders are carried out -----------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _order(
        self, who: Who, what: str, name: str, before: Any = None, after: Any = None
    ) -> AsyncIterator[None]:
        """Around every change: only the active service makes it, and the audit has it either way."""
        try:
            async with self._ordering:
                if not self.leadership.active:
                    trouble = self.leadership.trouble
                    raise NotActive(name, trouble or "this service is a standby and the active one cannot be asked")
                yield
        except TwinlogError as error:
            self.audit.note(who, what, name, before=before, after=after, outcome=f"refused: {error.code}")
            raise
        self.audit.note(who, what, name, before=before, after=after)
        self.on_order(who, what, name)

    async def _change(
        self, who: Who, before: Connector, config: Mapping[str, str], *, sent: Mapping[str, str | None]
    ) -> None:
        shown = masked(before.config), masked(config)
        async with self._order(who, "change", before.name, *shown):
            self._writable(before)
            wanted = Connector(before.name, unmasked(config, before.config), before.state)
            if kept := repointed(before.config, wanted.config, sent):
                raise ConnectorRefused(before.name, send_again(kept))
            plan = await self._checked(who, wanted)
            await self._append(self._record(wanted), plan=plan)

    def _writable(self, connector: Connector) -> None:
        if connector.in_file:
            file = self.planning.file
            raise ConnectorReadOnly(connector.name, file.draft.lookup.file if file is not None else "the settings file")

    async def _checked(self, who: Who, connector: Connector) -> Plan | None:
        """Refuse what may not be made, and what could not run: by itself, beside the others, or on this machine.

        Returns the plan with it; None when it cannot run yet.
        """
        kind = _allowed_kind(who, connector)
        await asyncio.to_thread(check_alone, connector, self.planning.grounds)
        plan = await self.planning.plan_with(self.leadership.group_state, connector)
        # A sync job may come before its link; everything else that is wrong now stays wrong.
        if connector.name in plan.troubles and not kind.may_come_first:
            raise ConnectorRefused(connector.name, invalid([plan.troubles[connector.name]]))
        worse = {name: why for name, why in plan.troubles.items() if name != connector.name}
        if worse.keys() - self.planning.plan.troubles.keys():
            # Not by this order, perhaps: a file that another one refers to may have changed since the plan in force.
            known = await self.planning.troubles_without(self.leadership.group_state, connector)
            worse = {name: why for name, why in worse.items() if name not in known}
        else:
            worse = {}
        if worse:
            raise ConnectorRefused(connector.name, invalid([f"{name}: {why}" for name, why in worse.items()]))
        spec = plan.specs.get(kind.job(connector))
        if spec is not None and (trouble := await self.planning.refusal(spec)) is not None:
            raise ConnectorRefused(connector.name, invalid([trouble]))
        return None if connector.name in plan.troubles else plan

    def _record(self, connector: Connector) -> Record:
        seal = self.planning.seal
        if seal.leaves_open(connector.config):
            log.warning("connector %s: whoever may read %s can read its passwords; set http.group.secret, or refer to "
                        "them with a config provider", connector.name, LINKS_TOPIC)  # fmt: skip
        return seal.record(self.leadership.group_state, connector.name, connector.config)

    async def _append(self, *records: Record, plan: Plan | None = None) -> None:
        group_state = await self.leadership.write(*records)
        await self.planning.take_order(group_state, plan)
        self.leadership.due()


def _allowed_kind(who: Who, connector: Connector) -> Kind:
    """The kind of a connector that somebody may make. Raises ConnectorRefused, LinkForbidden."""
    kind = kind_of(connector)
    if kind is None:
        raise ConnectorRefused(connector.name, unknown_class(connector.class_name))
    about = kind.about(connector)
    if not who.may("admin", about):
        raise LinkForbidden(connector.name, about)
    return kind
