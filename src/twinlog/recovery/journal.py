"""The journal of one switch: every entry on the home cluster and in a file, decisions on both clusters.

Runs in the command that switches. What counts is what the log on the home cluster says after each write (model.switch);
the file is for people, and for the day on which that cluster is lost too.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import logging
import os
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from twinlog.errors import ClusterError, SwitchRefused, SwitchRunning, SwitchTakenOver
from twinlog.kafka.admin import ClusterAdmin
from twinlog.ledger.switch_log import SwitchTopic, ensure_switch_topic
from twinlog.machine.folders import open_private
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.switch.facts import FenceNote, StepFacts
from twinlog.model.switch.log import (
    Beat,
    Claim,
    Command,
    Copying,
    End,
    Fenced,
    StateEntry,
    StepEntry,
    StepEvent,
    Switch,
    SwitchEntry,
    SwitchLog,
    decision_after,
    newest,
    pair_of,
)
from twinlog.wire.connection import Cluster

log = logging.getLogger("twinlog.recovery")

BEAT_SECONDS: Final = 2.0
_COPY_WITHIN_S: Final = 5.0
_AWAY_S: Final = 8.0
"""How long a cluster that did not answer is left alone: a lost source must not slow every step of a failover."""


@dataclass
class Journal:
    """Reads and writes the switch of one pair of clusters."""

    home: SwitchTopic
    other: SwitchTopic
    home_admin: ClusterAdmin
    other_admin: ClusterAdmin
    replication_factor: int
    folder: Path
    runner: str
    switch_id: str = ""
    saying: str = ""  # what the running step waits for: told with each sign of life
    _step: str = "claim"
    _copied: int = 0  # generation that the other cluster knows
    _away_until: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def pair(self) -> str:
        """The pair of clusters, whichever way."""
        return pair_of(self.home.link)

    @property
    def log(self) -> SwitchLog:
        """What the home cluster says."""
        return self.home.log

    @property
    def switch(self) -> Switch:
        """The switch that this journal is about."""
        switch = self.log.find(self.switch_id)
        if switch is None:
            raise LookupError(f"{self.switch_id} is not in the log")
        return switch

    @property
    def state(self) -> StateEntry | None:
        """The decision that holds, whichever cluster told it."""
        return newest(self.home.log.state, self.other.log.state)

    @property
    def file(self) -> Path:
        """The local copy."""
        return self.folder / f"{self.switch_id}.jsonl"

    async def read(self) -> None:
        """Read both logs; the other cluster may be away."""
        await self.home.catch_up()
        try:
            async with asyncio.timeout(_COPY_WITHIN_S):
                await self.other.catch_up()
        except (ClusterError, TimeoutError) as error:
            log.info("%s: its switch log is not read: %s", self.other.cluster.alias, error or type(error).__name__)

    def require_trust(self) -> None:
        """Raise SwitchRefused where engines may know decisions that we do not, or will not follow ours."""
        for end in (self.home, self.other):
            if end.distrust is not None and (end.secret is None or self.state is None):
                link = str(self.home.link)
                way = f"Set switch.secret as the engines have it. `twinlog switch sign '{link}'` signs what holds now."
                raise SwitchRefused(link, end.distrust, way)

    async def claim(self, switch_id: str, command: Command, options: dict[str, Any]) -> None:
        """Open the switch, or take the open one over. Raises SwitchRunning when the log gives it to somebody else."""
        self.switch_id = switch_id
        link = str(self.home.link)
        self.require_trust()
        await asyncio.to_thread(ensure_switch_topic, self.home_admin, self.replication_factor)
        entry = Claim(
            pair=self.pair,
            switch=switch_id,
            runner=self.runner,
            command=command,
            link=link,
            operator=_operator(),
            host=socket.gethostname(),
            pid=os.getpid(),
            options=options,
        )
        log = await self._append(entry)
        if log.owned_by(switch_id, self.runner):
            return
        holder = log.open
        who = "somebody" if holder is None else f"{holder.claim.operator}@{holder.claim.host}"
        raise SwitchRunning(
            link,
            f"a switch is already running (begun by {who}, and its process lives)",
            f"`twinlog switch status {link}` shows it. Should that process be gone, try again in ten seconds.",
        )

    async def note(
        self, step: str, event: StepEvent, says: str = "", *, facts: StepFacts | None = None, took_ms: int = 0
    ) -> None:
        """Write what became of a step. Raises SwitchTakenOver when it is not ours any more."""
        self._step, self.saying = step, ""
        entry = StepEntry(
            pair=self.pair,
            switch=self.switch_id,
            runner=self.runner,
            step=step,
            event=event,
            says=says,
            facts={} if facts is None else facts.as_json(),
            took_ms=took_ms,
        )
        await self._own(entry)

    async def decide(
        self,
        why: str,
        *,
        active: str | None = None,
        links: dict[str, Copying] | None = None,
        fence_on_return: dict[str, str] | None = None,
    ) -> StateEntry:
        """Make a decision: what is not named stays as it was. Written at home first, then copied."""
        entry = decision_after(
            self.state,
            self.home.link,
            why=why,
            at_ms=SYSTEM_CLOCK.now_ms(),
            active=active,
            links=links or {},
            fence_on_return=fence_on_return,
        ).model_copy(update={"switch": self.switch_id, "runner": self.runner})
        await self._own(entry)
        await self.copy_state()
        return entry

    async def copy_state(self) -> bool:
        """Tell the other cluster the decision that holds, if it answers."""
        state = self.home.log.state
        if state is None or self._copied >= state.generation:
            return True
        if time.monotonic() < self._away_until:
            return False
        try:
            async with asyncio.timeout(_COPY_WITHIN_S):
                await self.other.cluster.refresh(None)
                await asyncio.to_thread(ensure_switch_topic, self.other_admin, -1)
                # Without a runner: nobody holds a claim there.
                await self.other.append(state.model_copy(update={"runner": ""}), _COPY_WITHIN_S)
        except (ClusterError, TimeoutError) as error:
            log.info("%s: the decision is not copied: %s", self.other.cluster.alias, error or type(error).__name__)
            self._away_until = time.monotonic() + _AWAY_S
            return False
        self._copied = state.generation
        return True

    async def prove_owner(self) -> None:
        """Raise SwitchTakenOver unless the log says that the switch is ours: to be asked before each change."""
        await self._own(self._sign_of_life())

    def _sign_of_life(self) -> Beat:
        return Beat(pair=self.pair, switch=self.switch_id, runner=self.runner, says=self.saying)

    async def note_fence(self, cluster: str, note: FenceNote) -> None:
        """Write down what a cluster was like before it is shut; an earlier note of the same fence counts."""
        await self._note_fenced(Fenced(pair=self.pair, cluster=cluster, facts=note))

    async def note_lifted(self, cluster: str) -> None:
        """Its producers are let in again."""
        await self._note_fenced(Fenced(pair=self.pair, cluster=cluster, lifted=True))

    async def _note_fenced(self, entry: Fenced) -> None:
        """At home, and on the cluster that is shut: links to third clusters read it there, so that the values of the
        fence are not copied.
        """
        there = self.other if entry.cluster == self.other.cluster.alias else self.home
        entry = entry.model_copy(update={"cluster_id": await self._id_of(there.cluster)})
        await self._append(entry)
        if there is self.home:
            return
        try:
            async with asyncio.timeout(_COPY_WITHIN_S):
                await asyncio.to_thread(ensure_switch_topic, self.other_admin, -1)
                await self.other.append(entry, _COPY_WITHIN_S)
        except (ClusterError, TimeoutError) as error:
            log.warning("%s: its fence is not noted there: %s", entry.cluster, error or type(error).__name__)

    @staticmethod
    async def _id_of(cluster: Cluster) -> str:
        """The id by which every file knows a cluster. Empty while it does not answer: nothing is noted there then."""
        try:
            async with asyncio.timeout(_COPY_WITHIN_S):
                if cluster.cluster_id is None:
                    await cluster.refresh(None)
        except (ClusterError, TimeoutError) as error:
            log.info("%s: its id is not known: %s", cluster.alias, error or type(error).__name__)
        return cluster.cluster_id or ""

    async def end(self, outcome: End) -> None:
        await self._own(outcome)

    async def beat(self) -> None:
        """Until cancelled: show that this runner lives, and copy decisions as soon as the other cluster answers."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self._own(self._sign_of_life())
            except ClusterError as error:
                log.warning("%s: no sign of life could be written: %s", self.pair, error)
            await self.copy_state()

    async def _own(self, entry: SwitchEntry) -> None:
        """Write as the owner. Raises SwitchTakenOver when the log says that somebody else is."""
        log = await self._append(entry)
        ended = log.find(self.switch_id)
        if log.owned_by(self.switch_id, self.runner) or (isinstance(entry, End) and ended and ended.end == entry):
            return
        holder = "the switch was ended" if log.open is None else f"runner {log.open.runner}"
        raise SwitchTakenOver(str(self.home.link), self._step, holder)

    async def _append(self, entry: SwitchEntry) -> SwitchLog:
        async with self._lock:
            if self.switch_id and not isinstance(entry, Beat):  # the guard of an old primary runs no switch
                self._write_file(entry)
            return await self.home.append(entry)

    def _write_file(self, entry: SwitchEntry) -> None:
        line = {"at_ms": SYSTEM_CLOCK.now_ms(), **entry.model_dump(exclude_none=True)}
        with open_private(self.file, "a") as out:
            out.write(json.dumps(line) + "\n")


def _operator() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return "unknown"
