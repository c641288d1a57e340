"""The proof that no producer can write any more. Runs in the command that switches, and in the guard.

A log that stands still proves little: a slow producer may only be between two records, behind a broker that has not
heard of the fence yet. A fence by topic config is proven by a probe that each partition's leader must refuse
(wire/probe). A fence by ACL is proven by the rules that each broker says it has.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from twinlog.config.settings import ClientSettings
from twinlog.errors import SwitchStopped
from twinlog.model.access.acls import AclBinding
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.acls import fetch_acls_of
from twinlog.wire.connection import Cluster
from twinlog.wire.probe import WOULD_BE_TAKEN, probe_writes

_LOOK_S: Final = 0.25
_ASK_WITHIN_S: Final = 5.0
_WAY: Final = "That broker has not applied the fence. Look at its log and at the controller."


@dataclass
class Patience:
    """How long a step waits for what holds it up."""

    link: str
    step: str
    within_s: float
    since: float = 0.0

    async def more(self, seen: str, way: str) -> None:
        """Wait a moment. Raises SwitchStopped when it was long enough."""
        now = time.monotonic()
        self.since = self.since or now
        if now - self.since > self.within_s:
            raise SwitchStopped(self.link, self.step, f"{seen}, for {self.within_s:.0f} s", way)
        await asyncio.sleep(_LOOK_S)


async def await_refusals(client: ClientSettings, partitions: Collection[TopicPartition], wait: Patience) -> None:
    """Until no leader would take a record any more.

    A leader that cannot be asked so (we may not write there, or too few replicas are in sync) is left to the look at
    the ends of the logs.
    """
    cluster = Cluster(client, f"twinlog|{wait.link}|proof")
    left = set(partitions)
    try:
        while left:
            answers = await probe_writes(cluster, left, _ASK_WITHIN_S)
            left = {p for p, error in answers.items() if error in WOULD_BE_TAKEN | _MOVING}
            if left:
                first = min(left)
                what = "has no leader that answers" if answers[first] in _MOVING else "still takes records"
                await wait.more(f"{first} {what} ({len(left)} partitions)", _WAY)
    finally:
        await cluster.close()


async def await_rules(client: ClientSettings, rules: Collection[AclBinding], wait: Patience) -> None:
    """Until every broker says that it has these rules."""
    cluster = Cluster(client, f"twinlog|{wait.link}|proof")
    try:
        await cluster.refresh(None)
        for node in sorted(cluster.nodes):
            while missing := set(rules) - await fetch_acls_of(cluster, node):
                await wait.more(f"broker {node} does not know the rule {min(missing)} yet", _WAY)
    finally:
        await cluster.close()


_MOVING: Final = frozenset({codes.LEADER_NOT_AVAILABLE, codes.NOT_LEADER, codes.REQUEST_TIMED_OUT})
