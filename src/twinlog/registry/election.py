"""Electing the leader through Kafka's group protocol. Runs in the service's loop, for as long as the service does.

It never ends by itself: whatever a broker answers is noted, waited out and tried again. While a group rebalances the
role stays what it was: an old leader that writes meanwhile is let through only if no new one fenced it.
"""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from twinlog.errors import ClusterError
from twinlog.model.backoff import Backoff
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.registry import identity as sr
from twinlog.registry.identity import Assignment, Identity, assignment_of, elect
from twinlog.wire.broken import why
from twinlog.wire.connection import Cluster
from twinlog.wire.membership import Membership, MembershipLost

log = logging.getLogger("twinlog.registry.election")

SESSION_MS: Final = 10_000
REBALANCE_MS: Final = 10_000
HEARTBEAT_S: Final = 1.0
_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 3.0
_TROUBLE: Final = (MembershipLost, ClusterError, ValueError, TimeoutError)

Elected = Callable[[Assignment, bool], None]


@dataclass
class ElectionStatus:
    """What is known of the group, for status and health."""

    member_id: str = ""
    generation: int = -1
    members: int | None = None  # known to the member that computes the assignment
    joined_at: float | None = None
    last_error: str | None = None
    failures: int = 0


@dataclass
class Elector:
    """One member of the registry's group.

    `elected` is told every assignment and whether it is this member; it must not wait, or heartbeats would. `lost` is
    told when the membership ended.
    """

    cluster: Cluster
    group: str
    me: Identity
    elected: Elected
    lost: Callable[[], None]
    leads: Callable[[], bool]
    session_ms: int = SESSION_MS
    status: ElectionStatus = field(default_factory=ElectionStatus)
    last_contact: float = -1e9
    """When the coordinator last confirmed the membership, by the monotonic clock."""
    _member: Membership | None = None

    async def run(self) -> None:
        """Join, hear who leads, stay; again and again."""
        member = Membership(self.cluster, self.group, sr.PROTOCOL_TYPE, sr.PROTOCOL, self.session_ms, REBALANCE_MS)
        self._member = member
        backoff = Backoff(_PAUSE_S, _LONGEST_PAUSE_S)
        while True:
            try:
                await self._join(member)
                backoff.reset()
                await self._stay(member)
            except _TROUBLE as trouble:
                self._note(member, trouble)
                if not isinstance(trouble, MembershipLost):
                    member.forget_coordinator()
                    await asyncio.sleep(backoff.next_s())
                elif trouble.code != 27:  # a rebalance is joined at once
                    await asyncio.sleep(_PAUSE_S)

    def has_contact(self) -> bool:
        """Whether the coordinator confirmed us so lately that nobody else can have been elected."""
        return time.monotonic() - self.last_contact < self.session_ms / 1000

    async def leave(self) -> None:
        """Say good-bye: the others need not wait for the session to end."""
        if self._member is not None and self._member.member_id:
            with contextlib.suppress(*_TROUBLE):
                await self._member.leave()

    async def _join(self, member: Membership) -> None:
        joined = await member.join(self.me.metadata(leader=self.leads()))
        self.last_contact = time.monotonic()
        assignments: dict[str, bytes] = {}
        if joined.leads:
            assignments = dict.fromkeys(joined.members, elect(joined.members))
            self.status.members = len(joined.members)
        else:
            self.status.members = None
        data = await member.sync(assignments)
        self.last_contact = time.monotonic()
        assignment = assignment_of(data)
        self.status.member_id, self.status.generation = joined.member_id, joined.generation
        self.status.joined_at, self.status.failures, self.status.last_error = SYSTEM_CLOCK.now_s(), 0, None
        log.info("Finished rebalance with leader election result: %s", json.dumps(json.loads(data)))
        if assignment.error == sr.DUPLICATE_URLS:
            self.status.last_error = f"two instances of the group advertise one address; see host.name ({self.me.url})"
            log.error("%s", self.status.last_error)
        self.elected(assignment, assignment.member == joined.member_id)

    async def _stay(self, member: Membership) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            began = time.monotonic()
            await member.heartbeat()
            self.last_contact = began

    def _note(self, member: Membership, trouble: Exception) -> None:
        if isinstance(trouble, MembershipLost) and trouble.code == 27:
            return
        self.status.failures += 1
        self.status.last_error = why(trouble) if not isinstance(trouble, MembershipLost) else str(trouble)
        log.warning("%s: membership of group %s: %s", self.me.url, self.group, self.status.last_error)
        if not member.member_id or not self.has_contact():
            self.lost()
