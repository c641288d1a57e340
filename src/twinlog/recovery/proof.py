"""The proof that no producer can write any more. Runs in the command that switches, and in the guard.

A log that stands still proves little: a slow producer may only be between two records, behind a broker that has not
heard of the fence yet. A fence by topic config is proven by a probe that each partition's leader must refuse
(wire/probe). A fence by ACL is proven by the rules that each broker says it has. What a leader took before that may be
on its way to the replicas, and readers do not see it yet (wire/log_ends).
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
from twinlog.model.counted import counted
from twinlog.model.names import TopicPartition
from twinlog.wire import protocol_errors as codes
from twinlog.wire.acls import fetch_acls_of
from twinlog.wire.connection import Cluster
from twinlog.wire.log_ends import fetch_log_ends
from twinlog.wire.offset_lists import fetch_offsets
from twinlog.wire.offsets import LATEST
from twinlog.wire.probe import WOULD_BE_TAKEN, probe_writes

_LOOK_S: Final = 0.25
_ASK_WITHIN_S: Final = 5.0
_WAY: Final = "That broker has not applied the fence. Look at its log and at the controller."


@dataclass
class Deadline:
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


async def await_refusals(client: ClientSettings, partitions: Collection[TopicPartition], wait: Deadline) -> None:
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
                await wait.more(f"{first} {what} ({counted(len(left), 'partition')})", _WAY)
    finally:
        await cluster.close()


async def await_replicas(client: ClientSettings, partitions: Collection[TopicPartition], wait: Deadline) -> None:
    """Until readers see everything that the leaders took before the fence.

    A record that not all replicas in sync have yet is behind the end that readers are told. It becomes visible later,
    and its producer counts it as written: a cut in front of it would leave it behind.
    """
    cluster = Cluster(client, f"twinlog|{wait.link}|proof")
    try:
        while True:
            taken = await fetch_log_ends(cluster, partitions, _ASK_WITHIN_S)
            silent = [p for p, end in taken.items() if end is None]
            if silent:
                says = f"{min(silent)} has no leader that tells where its log ends"
                await wait.more(f"{says} ({counted(len(silent), 'partition')})", "Look at the broker that leads it.")
                continue
            seen = await fetch_offsets(cluster, list(taken), LATEST, within_s=_ASK_WITHIN_S)
            hidden = {p: end - at for p, end in taken.items() if end and isinstance(at := seen[p], int) and at < end}
            if not hidden:
                return
            first = min(hidden)
            says = f"{first}: not all replicas in sync have its newest {counted(hidden[first], 'record')}"
            await wait.more(
                f"{says} ({counted(len(hidden), 'partition')})", "Look at the brokers that hold its replicas."
            )
    finally:
        await cluster.close()


async def await_rules(client: ClientSettings, rules: Collection[AclBinding], wait: Deadline) -> None:
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
