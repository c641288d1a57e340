"""Which service of a group runs the jobs. Runs in the service's loop; everything that blocks is done in threads.

    store (links topic) ─▶ read by every service of the group ─▶ the elected one leads: it writes and runs

A service that does not lead stands by. It takes over when it is elected.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeAlias

from twinlog.control.audit import Audit, Who
from twinlog.control.group_trust import GroupTrust
from twinlog.control.record_signatures import Record, RecordSignatures
from twinlog.errors import NotActive, TwinlogError
from twinlog.model.backoff import Backoff
from twinlog.model.connectors import GroupState, Leader, Prove, Share

log = logging.getLogger("twinlog.connectors")

_STRANGER: Final = Who("unknown", "viewer", by="the links topic")
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 10.0


class Store(Protocol):
    """Where connectors are kept (given by the service: control.links_topic). All of it blocks."""

    def open(self) -> GroupState:
        """Read what is there and begin to follow it."""

    def lead(self, records: Sequence[Record]) -> GroupState:
        """Become the one who writes and runs the jobs, and write the first records."""

    def append(self, records: Sequence[Record]) -> GroupState:
        """Write, all or none."""

    def audit(self, entry: bytes, done: Callable[[str | None], None]) -> None:
        """Write an entry of the audit; `done` hears None, or why it could not be written."""

    def announce(self, text: str) -> None:
        """Tell the service that leads that this one can run connectors."""

    def members(self) -> tuple[str, ...] | None:
        """What the living services of the group announced; None while some come or go."""

    def close(self) -> None:
        """Let another one lead."""


MakeStore: TypeAlias = Callable[
    [Prove | None, Callable[[GroupState], None], Callable[[], None], Callable[[], None]], Store
]
"""Makes a store of how records are proven, and what to call with news, after an election, and when services came or
went."""


@dataclass
class Leadership:
    """One service of a group. `links_of_file` names what only we can run, for the others to know."""

    make_store: MakeStore
    group: str
    instance: str
    url: str | None
    audit: Audit
    trust: GroupTrust
    links_of_file: Callable[[], tuple[str, ...]] = tuple
    on_read: Callable[[GroupState], None] = lambda _: None
    on_news: Callable[[GroupState], None] = lambda _: None
    on_members: Callable[[], None] = lambda: None
    active: bool = False
    trouble: str | None = "the links topic was not read yet"
    group_state: GroupState = field(init=False)
    _signatures: RecordSignatures = field(init=False)
    _store: Store | None = None
    _announced: str | None = None
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _elected: bool = False
    _due: bool = False

    def __post_init__(self) -> None:
        self.group_state = GroupState(self.group)
        self._signatures = RecordSignatures(self.group, self.trust.secret)

    # --- the loop -----------------------------------------------------------------------------------------------------

    async def run(self, bring_into_force: Callable[[], Awaitable[Any]], begin: Callable[[], Awaitable[Any]]) -> None:
        """Until cancelled: read the store, lead when elected, call `bring_into_force` when something changed.

        `begin` is called once, when the store was read.
        """
        loop = asyncio.get_running_loop()

        def news(group_state: GroupState) -> None:
            loop.call_soon_threadsafe(self._hear, group_state)

        def elected() -> None:
            loop.call_soon_threadsafe(self._take_lead)

        def members() -> None:
            loop.call_soon_threadsafe(self.on_members)

        store = self.make_store(self._signatures.proof, news, elected, members)
        try:
            self.group_state = await self._with_retries(lambda: asyncio.to_thread(store.open))
            self._store, self.audit.to_topic = store, store.audit
            if self._announced is not None:
                store.announce(self._announced)
            self.on_read(self.group_state)
            self._tell_unserved()
            await begin()
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._with_retries(lambda: self._step(bring_into_force))
        finally:
            self.audit.to_topic = None
            # Jobs have ended by now, or the process is about to: whoever waits may begin.
            await asyncio.to_thread(store.close)

    async def _step(self, bring_into_force: Callable[[], Awaitable[Any]]) -> None:
        if self._elected:
            await self._lead()
        if self.active and not self._leads():
            await self._defend()
        if self.active:
            await self._write_again()
        if self._due:
            self._due = False
            try:
                await bring_into_force()
            except BaseException:
                self._due = True
                raise

    async def _lead(self) -> None:
        """Lead, also while we believe that we do: whoever was elected in between is perhaps not heard of yet."""
        if self._store is None:
            return
        self._elected = False
        try:
            await self._write(self._store.lead, self._ourselves())
            if not self._leads():  # More was written in between than we knew of, and our record had too low a number.
                await self._write(self._store.append, self._ourselves())
        except BaseException:
            self._elected = True
            raise
        if not self.active:
            log.info("group %s: this service runs the links now", self.group)
        self.active, self._due = True, True

    def _ourselves(self) -> Record:
        # What was dealt stays dealt until the members are known: the others continue meanwhile.
        former = self.group_state.leader
        work = {} if former is None else former.work
        return self.group_state.leader_record(Leader(self.instance, self.url, self.links_of_file(), work))

    async def _defend(self) -> None:
        """The topic names another leader. A true one has shut us out of the topic; anybody can write a record."""
        said = self.leader_url or "another service"
        try:
            await self.write(self._ourselves())
        except NotActive:
            self.active, self._due = False, True
            log.warning("group %s: %s runs the links now", self.group, said)
        else:
            self._note_foreign("leader")

    async def _write_again(self) -> None:
        """Sign what counts and is not signed, and put back what somebody else wrote over."""
        refused = sorted(self.group_state.refused)
        records = self.group_state.to_write_again()
        if not records:
            return
        try:
            await self.write(*records)
        except NotActive:
            return  # Another service leads, and does it.
        for what in refused:
            self._note_foreign(what)

    def _note_foreign(self, what: str) -> None:
        log.error("group %s: somebody who is no service of this group wrote the record %s to the links topic; it does "
                  "not count. `twinlog doctor` names who may write there", self.group, what)  # fmt: skip
        self.audit.note(_STRANGER, "write to the links topic", what, outcome="refused: not signed")

    def _accept(self, group_state: GroupState) -> None:
        """Take what the store says, unless it is older than what is known."""
        if group_state.records >= self.group_state.records:
            self.group_state = group_state

    async def _with_retries(self, work: Callable[[], Awaitable[Any]]) -> Any:
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
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
            await asyncio.sleep(backoff.next_s())

    def _hear(self, group_state: GroupState) -> None:
        self._accept(group_state)
        self.on_news(self.group_state)
        if not self.active:
            self._due = True
        self._wake.set()

    def _take_lead(self) -> None:
        self._elected = True
        self._wake.set()

    def _leads(self) -> bool:
        return self.group_state.leader is not None and self.group_state.leader.instance == self.instance

    # --- writing ------------------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the store was read."""
        return self._store is not None

    async def write(self, *records: Record) -> GroupState:
        """Write to the store, all or none. Raises NotActive while it was not read."""
        if self._store is None:
            raise NotActive(self.group, "the links topic was not read yet")
        return await self._write(self._store.append, *records)

    async def _write(self, how: Callable[[Sequence[Record]], GroupState], *records: Record) -> GroupState:
        signed = self._signatures.sign(self.group_state, records)
        self._accept(await asyncio.to_thread(how, signed))
        return self.group_state

    def due(self) -> None:
        """Something changed: bring it into force soon."""
        self._due = True
        self._wake.set()

    async def say_who_leads(self) -> None:
        """Write again that this service leads, with the links of its file: the file may have changed since."""
        links = self.links_of_file()
        if self._store is not None and self.group_state.leader is not None and self.group_state.leader.links != links:
            await self.write(self.group_state.leader_record(replace(self.group_state.leader, links=links)))

    # --- the other services -------------------------------------------------------------------------------------------

    def announce(self, text: str) -> None:
        """Tell the service that leads that this one can run connectors."""
        self._announced = text
        if self._store is not None:
            self._store.announce(text)

    def members(self) -> tuple[str, ...] | None:
        """What the living services announced; None while some come or go, or nothing was read yet. Blocking."""
        return None if self._store is None else self._store.members()

    async def share(self, work: Mapping[str, Share]) -> None:
        """Write how the pipelines are dealt. Raises NotActive."""
        await self.write(self.group_state.leader_record(Leader(self.instance, self.url, self.links_of_file(), work)))

    # --- who leads ----------------------------------------------------------------------------------------------------

    @property
    def leader_url(self) -> str | None:
        """Where the service that runs the jobs can be asked; None when it is this one, or unknown."""
        leader = self.group_state.leader
        return None if leader is None or leader.instance == self.instance else leader.url

    @property
    def believed_url(self) -> str | None:
        """The same, when it is known that a service of this group said so: anybody could write to the links topic."""
        return self.leader_url if self.trust.believes(self.group_state) else None

    @property
    def waits_for_election(self) -> bool:
        """Whether nobody leads yet: at the first start, and when we were here before and were killed."""
        leader = self.group_state.leader
        return not self.active and (leader is None or (leader.instance != self.instance and leader.url == self.url))

    @property
    def unserved(self) -> tuple[str, ...]:
        """Links of our file that nobody copies: another service leads, and its file does not have them."""
        leader = self.group_state.leader
        if leader is None or self.active or leader.instance == self.instance:
            return ()
        return tuple(name for name in self.links_of_file() if name not in leader.links)

    def _tell_unserved(self) -> None:
        if missing := self.unserved:
            where = self.leader_url or "another service"
            links = ", ".join(missing)
            log.error("group %s: %s leads and its file has no %s; give this service another group.id, or that one the "
                      "same file", self.group, where, links)  # fmt: skip
