"""The steward of a service's links: takes orders for connectors, keeps them in the store, lets the service run them.

    order ─▶ checked ─▶ links topic ─▶ plan (config.connector_set) ─▶ service.become
                            │
                            └──▶ read by every service of the group; the one that leads runs the links

Runs in the service's loop; everything that blocks is done in threads. Links of the settings file go the same way, so
that there is one list of links and one rule who runs them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeAlias

from twinlog.config.changes import Change
from twinlog.config.resolve import Resolved
from twinlog.config.security.masking import masked, repointed, unmasked
from twinlog.config.settings import HeartbeatPair, LinkSettings
from twinlog.control.audit import Audit, Who
from twinlog.control.connector_set import Grounds, LinkPlan, connectors_of, grounds_of, link_name, plan_links
from twinlog.control.group_trust import GroupTrust
from twinlog.control.levels import LEVELS, is_ours, level_of, set_level
from twinlog.control.refusals import check_alone, invalid, send_again
from twinlog.control.sealing import Seal
from twinlog.control.states import ConnectorStatus, EngineSight, judge
from twinlog.errors import (
    ConnectorExists,
    ConnectorReadOnly,
    ConnectorRefused,
    ConnectorUnknown,
    LinkForbidden,
    NotActive,
    TwinlogError,
    UsageError,
)
from twinlog.model.connectors import COPYING, LINKS_TOPIC, Connector, Leader, LevelOrder, Shelf, TargetState
from twinlog.model.naming import HEARTBEATS

log = logging.getLogger("twinlog.connectors")

Record: TypeAlias = tuple[bytes, bytes | None]
Position: TypeAlias = tuple[str, int, int]
"""Source topic, partition, and the offset to copy next."""
_LONGEST_PAUSE_S: Final = 10.0


class Store(Protocol):
    """Where connectors are kept (given by the service: control.links_topic). All of it blocks."""

    def open(self) -> Shelf:
        """Read what is there and begin to follow it."""

    def lead(self, leader: Leader) -> Shelf:
        """Become the one who writes and runs the links."""

    def append(self, records: Sequence[Record]) -> Shelf:
        """Write, all or none."""

    def audit(self, entry: bytes, done: Callable[[str | None], None]) -> None:
        """Write an entry of the audit; `done` hears None, or why it could not be written."""

    def close(self) -> None:
        """Let another one lead."""


class Runner(Protocol):
    """What runs links (given by the service)."""

    async def become(self, links: Sequence[LinkSettings], heartbeats: Sequence[HeartbeatPair]) -> tuple[Change, ...]:
        """Make these the links."""

    async def restart(self, link: str) -> None:
        """Begin a link anew."""

    def snapshot(self, link: str) -> EngineSight | None:
        """How the engine of a link stands."""

    def check(self, link: LinkSettings) -> None:
        """Raise TwinlogError when this machine cannot run the link. Blocking."""

    async def positions(self, link: LinkSettings) -> list[Position]:
        """How far a link is, by its ledger."""

    async def forget(self, link: LinkSettings, topic: str) -> None:
        """Let a topic begin anew."""


@dataclass
class Steward:
    """The connectors of one service. `make_store` takes what to call with news, and when it is our turn to lead."""

    runner: Runner
    make_store: Callable[[Callable[[Shelf], None], Callable[[], None]], Store]
    group: str
    instance: str
    url: str | None
    environment: Mapping[str, str]
    audit: Audit = field(default_factory=Audit)
    trust: GroupTrust = field(default_factory=GroupTrust)
    active: bool = False
    trouble: str | None = "the links topic was not read yet"
    plan: LinkPlan = field(default_factory=LinkPlan)
    _file: Resolved | None = None
    _shelf: Shelf = field(init=False)
    _seal: Seal = field(init=False)
    _store: Store | None = None
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _turn: bool = False
    _due: bool = False
    _runs: bool = False
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _ordering: asyncio.Lock = field(default_factory=asyncio.Lock)
    _levels: Mapping[str, LevelOrder] = field(default_factory=dict)
    # Link -> its settings, and why this machine cannot run it, if so.
    _tried: dict[str, tuple[LinkSettings, str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._shelf = Shelf(self.group)
        self._seal = Seal(self.group, self.trust.secret)

    # --- the life of it -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled: read the store, lead when it is our turn, run what is to run."""
        loop = asyncio.get_running_loop()

        def news(shelf: Shelf) -> None:
            loop.call_soon_threadsafe(self._hear, shelf)

        def turn() -> None:
            loop.call_soon_threadsafe(self._take_turn)

        store = self.make_store(news, turn)
        try:
            self._shelf = await self._patiently(lambda: asyncio.to_thread(store.open))
            self._store, self.audit.to_topic = store, store.audit
            self._levels = self._shelf.levels  # ordered before our time
            self._tell_unserved()
            await self._replan()
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._patiently(self._step)
        finally:
            self.audit.to_topic = None
            # Engines have ended by now, or the process is about to: whoever waits may begin.
            await asyncio.to_thread(store.close)

    async def _step(self) -> None:
        if self._turn:
            await self._lead()
        if self.active and not self._leads():
            self.active, self._due = False, True
            log.warning("group %s: %s runs the links now", self.group, self.leader_url or "another service")
        if self._due:
            self._due = False
            try:
                await self._bring_into_force()
            except BaseException:
                self._due = True
                raise

    async def _lead(self) -> None:
        """Lead, also while we believe that we do: whoever had the turn in between is perhaps not heard of yet."""
        if self._store is None:
            return
        leader = Leader(self.instance, self.url, self._links_of_file())
        self._turn = False
        try:
            self._accept(await asyncio.to_thread(self._store.lead, self.trust.signed(leader)))
        except BaseException:
            self._turn = True
            raise
        if not self.active:
            log.warning("group %s: this service runs the links now", self.group)
        self.active, self._due = True, True

    def _accept(self, shelf: Shelf) -> None:
        """Take a look at the store, unless it is older than what is known."""
        if shelf.records >= self._shelf.records:
            self._shelf = shelf

    async def _patiently(self, work: Callable[[], Awaitable[Any]]) -> Any:
        pause = 0.5
        while True:
            try:
                done = await work()
            except TwinlogError as error:
                self.trouble = str(error)
                log.warning("group %s: waiting: %s", self.group, error)
            except Exception as error:  # a mistake of ours must neither end this loop nor stay unseen
                self.trouble = f"unexpected: {type(error).__name__}; the log says more"
                log.exception("group %s", self.group)
            else:
                self.trouble = None
                return done
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _hear(self, shelf: Shelf) -> None:
        self._accept(shelf)
        self._take_levels()
        if not self.active:
            self._due = True
        self._wake.set()

    def _take_levels(self) -> None:
        """Set the levels of logging that were ordered for all services since we began."""
        before, self._levels = self._levels, self._shelf.levels
        for logger, order in self._levels.items():
            if before.get(logger) != order and is_ours(logger) and order.level in LEVELS:
                set_level(logger, order.level)

    def _take_turn(self) -> None:
        self._turn = True
        self._wake.set()

    def _leads(self) -> bool:
        return self._shelf.leader is not None and self._shelf.leader.instance == self.instance

    @property
    def superseded(self) -> dict[str, str]:
        """Links of ours that an engine of somebody else has, each with its sentence."""
        if not self.active:
            return {}
        snapshots = {link.name: self.runner.snapshot(link.name) for link in self.plan.links}
        return {
            name: snapshot.trouble or "another engine has it"
            for name, snapshot in snapshots.items()
            if snapshot and snapshot.phase == "superseded"
        }

    @property
    def unserved(self) -> tuple[str, ...]:
        """Links of our file that nobody copies: another service leads, and its file does not have them."""
        leader = self._shelf.leader
        if leader is None or self._file is None or self.active or leader.instance == self.instance:
            return ()
        return tuple(link.name for link in self._file.links if link.name not in leader.links)

    def _tell_unserved(self) -> None:
        if missing := self.unserved:
            where = self.leader_url or "another service"
            links = ", ".join(missing)
            log.error("group %s: %s leads and its file has no %s; give this service another group.id, or that one the "
                      "same file", self.group, where, links)  # fmt: skip

    async def _say_who_leads(self) -> None:
        """Our own file may have changed since we began to lead."""
        links = self._links_of_file()
        if self._store is not None and self._shelf.leader is not None and self._shelf.leader.links != links:
            record = self._shelf.leader_record(replace(self._shelf.leader, links=links))
            self._shelf = await asyncio.to_thread(self._store.append, [record])

    def _links_of_file(self) -> tuple[str, ...]:
        return tuple(link.name for link in self._file.links) if self._file is not None else ()

    async def _replan(self) -> None:
        found, shelf = self._seal.opened(self._shelf), self._shelf
        trusted = [one.connector for one in found if one.trouble is None]
        plan = await asyncio.to_thread(plan_links, self._file, trusted, shelf.state_of, self.environment)
        links = [link for link in plan.links if await self._try(link) is None]
        distrusted = {one.connector.name: one.trouble for one in found if one.trouble is not None}
        self.plan = replace(plan, links=tuple(links), troubles={**plan.troubles, **distrusted})

    async def _try(self, link: LinkSettings) -> str | None:
        """Why this machine cannot run a link, if so; asked once for the same settings."""
        settings, trouble = self._tried.get(link.name, (None, None))
        if settings != link:
            try:
                await asyncio.to_thread(self.runner.check, link)
                trouble = None
            except TwinlogError as error:
                trouble = str(error)
            self._tried[link.name] = (link, trouble)
        return trouble

    async def _bring_into_force(self) -> tuple[Change, ...]:
        async with self._changing:
            await self._replan()
            if self.active:
                self._runs = True
                await self._say_who_leads()
                return await self.runner.become(self.plan.links, self.plan.heartbeats)
            # Whoever only stands by must not wait for Spark to start before it can lead.
            return await self._let_go() if self._runs else ()

    async def _let_go(self) -> tuple[Change, ...]:
        changes = await self.runner.become((), ())
        self._runs = False
        return changes

    async def use_file(self, file: Resolved) -> tuple[Change, ...]:
        """Take the links of a settings file, at first and whenever it changed."""
        self._file = file
        if self._store is None:
            return ()
        return await self._bring_into_force()

    # --- looking ------------------------------------------------------------------------------------------------------

    @property
    def leader_url(self) -> str | None:
        """Where the service that runs the links can be asked; None when it is this one, or nobody knows."""
        leader = self._shelf.leader
        return None if leader is None or leader.instance == self.instance else leader.url

    @property
    def believed_url(self) -> str | None:
        """The same, when it is known that a service of this group said so: anybody could write to the links topic."""
        leader = self._shelf.leader
        return self.leader_url if leader is not None and self.trust.believes(leader) else None

    @property
    def waits_for_its_turn(self) -> bool:
        """Whether nobody leads yet: at the first start, and when we were here before and were killed."""
        leader = self._shelf.leader
        return not self.active and (leader is None or (leader.instance != self.instance and leader.url == self.url))

    @property
    def grounds(self) -> Grounds:
        """What connectors are read by."""
        return grounds_of(self._file, self.environment)

    @property
    def turn(self) -> object:
        """What the list of connectors is made of: the same objects until it changes."""
        return self._file, self._shelf

    def names(self) -> list[str]:
        """All connectors, those of the file first."""
        return [one.name for one in self._all()]

    def connector(self, name: str) -> Connector:
        """One connector by its name. Raises ConnectorUnknown."""
        for one in self._all():
            if one.name == name:
                return one
        raise ConnectorUnknown(name, f"Connector {name} not found")

    def link_of(self, name: str) -> str | None:
        """The link that a connector is about; None when there is no such connector."""
        return next((link_name(one) for one in self._all() if one.name == name), None)

    def status(self, name: str) -> ConnectorStatus:
        """How a connector stands."""
        one = self.connector(name)
        link = link_name(one)
        trouble = self.plan.troubles.get(name) or self._tried.get(link, (None, None))[1]
        copies = one.kind in COPYING
        if one.kind == "heartbeat" and link not in self.plan.settings and self.active:
            return judge(one.state, trouble, EngineSight("running", None), copies=False)
        snapshot = self.runner.snapshot(link) if self.active else None
        return judge(one.state, trouble, snapshot, copies=copies)

    def settings(self, name: str) -> LinkSettings:
        """What a connector's link is set to. Raises ConnectorRefused for one that cannot be read."""
        one = self.connector(name)
        found = self.plan.settings.get(link_name(one))
        if found is None:
            raise ConnectorRefused(name, self.plan.troubles.get(name, f"{name}: no link is copied by it"))
        return found

    async def topics(self, name: str) -> list[str]:
        """The topics of the target that a connector writes to."""
        one = self.connector(name)
        link = self.plan.settings.get(link_name(one))
        if one.kind == "heartbeat":
            return [HEARTBEATS]
        if link is None or name in self.plan.troubles:
            return []
        if one.kind == "checkpoint":
            return [link.naming.checkpoints_topic(link.source)]
        sources = {topic for topic, _, _ in await self.runner.positions(link)}
        return sorted(link.naming.remote(link.source, topic) for topic in sources)

    def _stored(self) -> list[Connector]:
        return [one.connector for one in self._seal.opened(self._shelf)]

    def _all(self) -> list[Connector]:
        filed = connectors_of(self._file) if self._file is not None else []
        return [*(replace(one, state=self._shelf.state_of(one.name)) for one in filed), *self._stored()]

    # --- orders -------------------------------------------------------------------------------------------------------

    async def create(self, who: Who, name: str, config: Mapping[str, str], state: TargetState) -> Connector:
        """Make a connector. Raises ConnectorExists, ConnectorRefused."""
        async with self._order(who, "create", name, after=masked(config)):
            if name in self.names():
                raise ConnectorExists(name, "")
            wanted = Connector(name, {**config, "name": name}, state)
            _may_make(who, wanted)
            new = await self._checked(wanted)
            await self._append(self._record(new), self._shelf.state_record(name, state))
        return self.connector(name)

    async def put(self, who: Who, name: str, config: Mapping[str, str]) -> tuple[bool, Connector]:
        """Set all of a connector's config; True when it is new."""
        before = next((one for one in self._all() if one.name == name), None)
        if before is None:
            return True, await self.create(who, name, config, "STARTED")
        await self._change(who, before, {**config, "name": name}, sent=config)
        return False, self.connector(name)

    async def patch(self, who: Who, name: str, changes: Mapping[str, str | None]) -> Connector:
        """Set some keys of a connector's config; None removes one."""
        before = self.connector(name)
        config = {key: value for key, value in {**before.config, **changes}.items() if value is not None}
        await self._change(who, before, config, sent=changes)
        return self.connector(name)

    async def delete(self, who: Who, name: str) -> None:
        """End a connector. What was copied and how far is kept, as with Connect."""
        one = self.connector(name)
        async with self._order(who, "delete", name, before=masked(one.config)):
            self._writable(one)
            await self._append(self._shelf.config_record(name, None), self._shelf.state_record(name, None))

    async def want(self, who: Who, name: str, state: TargetState) -> None:
        """Start, pause or stop a connector; those of the file, too."""
        one = self.connector(name)
        async with self._order(who, state.lower(), name, before=one.state, after=state):
            await self._append(self._shelf.state_record(name, state))

    async def restart(self, who: Who, name: str, *, only_failed: bool = False) -> None:
        """Begin a link anew, as it is set; a sync job begins anew with its link."""
        one = self.connector(name)
        async with self._order(who, "restart", name):
            if not only_failed or self.status(name).state == "FAILED":
                await self.runner.restart(link_name(one))
                self._due = True
                self._wake.set()

    async def positions(self, name: str) -> list[Position]:
        """How far a connector's link is."""
        return await self.runner.positions(self.settings(name))

    async def forget(self, who: Who, name: str, topics: Sequence[str] | None) -> None:
        """Let topics of a stopped link begin anew, or all of them. Their copies must be gone (R2)."""
        link = self.settings(name)
        async with self._order(who, "forget positions", name, after=topics and list(topics)):
            if self.runner.snapshot(link.name) is not None:
                raise ConnectorRefused(
                    name, f"{name}: the link has not come to its end yet; ask again in a few seconds"
                )
            known = {topic for topic, _, _ in await self.runner.positions(link)}
            for topic in known if topics is None else topics:
                try:
                    await self.runner.forget(link, topic)
                except UsageError as error:
                    raise ConnectorRefused(name, str(error)) from error

    async def set_levels(self, who: Who, logger: str, level: str) -> None:
        """Set a level of logging in every service of the group."""
        before = level_of(logger).level
        async with self._order(who, "set level everywhere", logger, before=before, after=level):
            order = LevelOrder(level, int(time.time() * 1000))
            self._shelf = await self._write(self._shelf.level_record(logger, order))
            self._take_levels()

    # --- how orders are carried out -----------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _order(self, who: Who, what: str, name: str, before: Any = None, after: Any = None) -> Any:
        """Around every change: only the active service does it, and it is told either way."""
        try:
            async with self._ordering:
                if not self.active:
                    raise NotActive(name, self.trouble or "this service stands by and the active one cannot be asked")
                yield
        except TwinlogError as error:
            self.audit.note(who, what, name, before=before, after=after, outcome=f"refused: {error.code}")
            raise
        self.audit.note(who, what, name, before=before, after=after)

    async def _change(
        self, who: Who, before: Connector, config: Mapping[str, str], *, sent: Mapping[str, str | None]
    ) -> None:
        shown = masked(before.config), masked(config)
        async with self._order(who, "change", before.name, *shown):
            self._writable(before)
            wanted = replace(before, config=unmasked(config, before.config))
            if kept := repointed(before.config, wanted.config, sent):
                raise ConnectorRefused(before.name, send_again(kept))
            _may_make(who, wanted)
            new = await self._checked(wanted)
            await self._append(self._record(new))

    def _writable(self, one: Connector) -> None:
        if one.in_file:
            file = self._file.draft.lookup.file if self._file is not None else "the settings file"
            raise ConnectorReadOnly(one.name, file)

    async def _checked(self, one: Connector) -> Connector:
        """Refuse what could not run: by itself, beside the others, or on this machine."""
        await asyncio.to_thread(check_alone, one, self.grounds)
        others = [
            other.connector
            for other in self._seal.opened(self._shelf)
            if other.connector.name != one.name and other.trouble is None
        ]
        plan = await asyncio.to_thread(plan_links, self._file, [*others, one], self._shelf.state_of, self.environment)
        # A sync job may come before its link; everything else that is wrong now stays wrong.
        if one.name in plan.troubles and one.kind != "checkpoint":
            raise ConnectorRefused(one.name, invalid([plan.troubles[one.name]]))
        worse = {
            name: why for name, why in plan.troubles.items() if name != one.name and name not in self.plan.troubles
        }
        if worse:
            raise ConnectorRefused(one.name, invalid([f"{name}: {why}" for name, why in worse.items()]))
        link = plan.settings.get(link_name(one))
        if link is not None and (trouble := await self._try(link)) is not None:
            raise ConnectorRefused(one.name, invalid([trouble]))
        return one

    def _record(self, one: Connector) -> Record:
        if self._seal.leaves_open(one.config):
            log.warning("connector %s: whoever may read %s can read its passwords; set http.group.secret, or refer to "
                        "them with a config provider", one.name, LINKS_TOPIC)  # fmt: skip
        return self._seal.record(self._shelf, one.name, one.config)

    async def _append(self, *records: Record) -> None:
        self._shelf = await self._write(*records)
        await self._replan()
        self._due = True
        self._wake.set()

    async def _write(self, *records: Record) -> Shelf:
        if self._store is None:
            raise NotActive(self.group, "the links topic was not read yet")
        return await asyncio.to_thread(self._store.append, records)


def _may_make(who: Who, one: Connector) -> None:
    """Refuse a link that somebody may not change. Raises LinkForbidden."""
    link = link_name(one)
    if not who.may("admin", link):
        raise LinkForbidden(one.name, link)
