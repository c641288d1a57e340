"""What the switch lets an engine do with its link. Runs in the service's loop, beside the engine.

Both ends of a link may hold the decision: a switch is written into one of them and copied to the other. So both are
read before anything is copied, and both are followed from then on; the decision of the highest generation holds. An old
primary that comes back therefore finds its link held, whatever it remembers itself. So does an engine that a switch
shut out by force and that has not read why: the ledger names the decision (`shut_out`).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from twinlog.config.settings import LinkSettings
from twinlog.errors import AccessDenied
from twinlog.ledger.switch_log import SwitchTopic
from twinlog.model.names import LinkName
from twinlog.model.naming import SWITCH_TOPIC
from twinlog.model.switch.log import Copying, StateEntry, held_because, may_copy, newest
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.switch")


@dataclass
class SwitchWatch:
    """The switch logs of both ends of one link."""

    link: LinkSettings
    target: Cluster
    source: Cluster = field(init=False)
    shut_out: int = 0  # as the ledger says: the newest decision with which a switch shut the link's writers out
    _ends: dict[str, SwitchTopic] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source = Cluster(self.link.clients.source_consumer, f"twinlog|{self.link.name}|switch")
        name = LinkName(self.link.source, self.link.target)
        secret = self.link.switch.secret
        self._ends = {
            "target": SwitchTopic(self.target, name, secret=secret),
            "source": SwitchTopic(self.source, name, secret=secret),
        }

    @property
    def state(self) -> StateEntry | None:
        """The decision that holds."""
        return newest(*(end.log.state for end in self._ends.values()))

    @property
    def generation(self) -> int:
        """Its number; 0 while there never was a switch."""
        return self.state.generation if self.state else 0

    @property
    def mode(self) -> Copying:
        """What may be done with the link now."""
        return may_copy(self.state, self.link.name)

    @property
    def drains(self) -> bool:
        """Whether only records may be copied."""
        return self.mode in {"draining", "draining-all"}

    @property
    def wants_all(self) -> bool:
        """Whether records that came from the target are to be copied back to it."""
        return self.mode == "draining-all"

    @property
    def holds(self) -> bool:
        """Whether nothing may be copied."""
        return self.mode in {"held", "by-switch"} or self.generation < self.shut_out or self._distrust is not None

    @property
    def _distrust(self) -> str | None:
        """Why no decision can be relied upon: there are some, and none of them is signed with our secret.

        Whoever set the secret without signing what holds, or set another one, may have an active side that this engine
        does not know of. So nothing is copied.
        """
        if self.link.switch.secret is None or self.state is not None:
            return None
        return next((end.distrust for end in self._ends.values() if end.distrust is not None), None)

    @property
    def reason(self) -> str | None:
        """Why nothing may be copied."""
        if self.generation < self.shut_out:
            return (
                f"a switch shut the writers of {self.link.name} out, and the engine has not read its decision "
                f"{self.shut_out}: the engine needs Read and Describe on {SWITCH_TOPIC} on both clusters, and the "
                "switch.secret that the switch had, if it had one"
            )
        if (distrust := self._distrust) is not None:
            return f"{distrust}; `twinlog switch sign '{self.link.name}'` signs the decision that holds"
        return held_because(self.state, self.link.name) if self.state and self.holds else None

    async def read(self, end: str) -> bool:
        """Read the log of one end. Who may not read it is not held by it; a planned switch notices and says so."""
        try:
            await self._ends[end].catch_up()
        except AccessDenied as denied:
            log.warning(
                "%s: cannot read the switch state, so a failover would not be noticed: %s", self.link.name, denied
            )
        return True

    async def follow(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as together:
            for end in self._ends.values():
                together.create_task(end.follow())

    async def close(self) -> None:
        """Close what this watch opened; the target's connections belong to the engine."""
        await self.source.close()
