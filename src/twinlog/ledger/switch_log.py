"""Reading and writing the switch log of one cluster (model.switch says what is in it and what it means).

Runs in the service (every engine follows the logs of both of its ends) and in the commands that switch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from twinlog.config.security.secrets import Secret
from twinlog.errors import ClusterUnreachable
from twinlog.kafka.admin import ClusterAdmin
from twinlog.ledger.switch_signatures import is_signed, is_signed_with, signed
from twinlog.logs.append import LogWriter
from twinlog.logs.ensure import ensure_logs
from twinlog.logs.follow import follow
from twinlog.logs.read import Batches, is_there, read_to_end, read_up_to, records_in
from twinlog.logs.topic import BROKER_TIME, LogTopic
from twinlog.model.names import LinkName
from twinlog.model.naming import SWITCH_TOPIC
from twinlog.model.switch.log import SwitchEntry, SwitchLog, Written, pair_of, read_switch_entry
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.switch")

_TOPIC: Final = LogTopic(
    SWITCH_TOPIC,
    {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": "-1",
        # Who came first and who is silent is judged by one clock: the broker's.
        **BROKER_TIME,
        # The cut of a switch names every partition.
        "max.message.bytes": "8388608",
    },
)
_WITHIN_S: Final = 15.0
_LANE: Final = "switch-read"


def ensure_switch_topic(admin: ClusterAdmin, replication_factor: int) -> None:
    """Create the topic unless it is there. Blocking."""
    ensure_logs(admin, replication_factor, _TOPIC)


@dataclass
class SwitchTopic:
    """The switch log of one cluster, for one pair."""

    cluster: Cluster
    link: LinkName
    on_entry: Callable[[SwitchEntry], None] | None = None  # told of every entry, of whatever pair
    secret: Secret | None = None  # with one only entries count that are signed with it
    log: SwitchLog = field(init=False)
    unsigned: int = 0  # entries of the pair that do not count
    signed_by_others: bool = False  # whether entries of the pair have signatures that were not made with the secret

    def __post_init__(self) -> None:
        self.log = SwitchLog(pair_of(self.link))

    async def catch_up(self) -> SwitchLog:
        """Read everything there is now; nothing when there never was a switch on this cluster."""
        try:
            async with asyncio.timeout(_WITHIN_S):
                if await is_there(self.cluster, SWITCH_TOPIC):
                    positions = {0: self.log.next_offset}
                    await read_to_end(self.cluster, SWITCH_TOPIC, positions, self._take, _LANE)
        except TimeoutError:
            raise ClusterUnreachable(self.cluster.alias, f"{SWITCH_TOPIC} could not be read in time") from None
        return self.log

    def _take(self, _: int, batches: Batches) -> None:
        for record in records_in(batches):
            entry = read_switch_entry(record.value)
            if entry is None or record.offset < self.log.next_offset:
                continue
            if not self._counts(entry, record.value):
                self.log = replace(self.log, next_offset=record.offset + 1)
                continue
            self.log = self.log.take(Written(record.offset, record.timestamp_ms, entry))
            if self.on_entry is not None:
                self.on_entry(entry)

    def _counts(self, entry: SwitchEntry, value: bytes | None) -> bool:
        """Whether an entry was written by whoever knows the secret. Entries of other pairs have other secrets."""
        if entry.pair != self.log.pair:
            return True
        if self.secret is not None and is_signed_with(value, self.secret):
            return True
        self.signed_by_others = self.signed_by_others or is_signed(value)
        if self.secret is None:
            return True
        self.unsigned += 1
        log.error("%s: an entry of %s is not signed with switch.secret and does not count: %s %s",
                  self.cluster.alias, SWITCH_TOPIC, entry.kind, getattr(entry, "why", ""))  # fmt: skip
        return False

    @property
    def distrust(self) -> str | None:
        """Why what this log says cannot be relied upon, if so."""
        where = f"{SWITCH_TOPIC} on {self.cluster.alias}"
        if self.secret is None and self.signed_by_others:
            return f"{where} is signed, and this file has no switch.secret"
        if self.unsigned and self.log.state is None:
            return f"no decision in {where} is signed with switch.secret ({self.unsigned} entries do not count)"
        return None

    async def follow(self) -> None:
        """Read for ever. A cluster that is away, or has no such topic yet, is waited for."""
        await follow(self.cluster, SWITCH_TOPIC, {0: self.log.next_offset}, self._take, "switch")

    async def append(self, entry: SwitchEntry, within_s: float = _WITHIN_S) -> SwitchLog:
        """Write one entry and read the log up to it: what counts is what the log then says."""
        writer = LogWriter(self.cluster, SWITCH_TOPIC)
        try:
            async with asyncio.timeout(within_s):
                offset = await writer.append([(entry.pair.encode(), signed(entry.value(), self.secret))])
                positions = {0: self.log.next_offset}
                await read_up_to(self.cluster, SWITCH_TOPIC, positions, {0: offset + 1}, self._take, _LANE)
        except TimeoutError:
            problem = f"{SWITCH_TOPIC} did not take a record within {within_s:.0f} s"
            raise ClusterUnreachable(self.cluster.alias, problem) from None
        return self.log
