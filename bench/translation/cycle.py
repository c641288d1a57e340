"""How long one look at 2000 groups with 20 positions each takes, by the engine's own notes."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.clusters import End, Pair
from bench.copying import MirrorFailed
from bench.datasets import DataSet, Flavour
from bench.loading import load
from bench.options import Options
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, output_tail, running

from twinlog.errors import ClusterError
from twinlog.ledger.view import LedgerView
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.ledger.records import ChoreNote, ledger_topic
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators

GROUPS, PARTITIONS = 2000, 20
GOAL_MS = 10_000
_WITHIN_S = 180.0
_LOOK_AGAIN_S = 0.5


@dataclass(frozen=True)
class Cycles:
    """Milliseconds of three kinds of cycles over so many positions."""

    positions: int
    first_ms: int
    moved_ms: int
    idle_ms: int


def measure_cycles(pair: Pair, options: Options) -> Cycles:
    """Set the groups up, run Twinlog, read its notes."""
    groups = [f"bench-group-{number}" for number in range(int(GROUPS * options.scale))]
    data = DataSet("cycle", "cycle", 1000 * PARTITIONS, (Flavour(100, "lz4", 100),), PARTITIONS)
    load(pair.source, "cycle", data)
    return asyncio.run(_measure(Errand(pair, 900, "cycle", PARTITIONS), groups))


async def _measure(errand: Errand, groups: list[str]) -> Cycles:
    positions = len(groups) * PARTITIONS
    await commit(errand.pair.source, {group: _positions(100) for group in groups})
    notes = _Notes(errand)
    try:
        with running(TWINLOG, errand) as process:
            first = await notes.wait(lambda note: note.counts.get("written") == positions)
            idle = await notes.wait(lambda note: _idle(note, positions))
            # The engine sleeps while the groups move: it must find all of them moved in one cycle.
            process.send_signal(signal.SIGSTOP)
            await commit(errand.pair.source, {group: _positions(200) for group in groups})
            process.send_signal(signal.SIGCONT)
            moved = await notes.wait(lambda note: note.counts.get("written") == positions)
    finally:
        await notes.close()
    return Cycles(positions, first.took_ms, moved.took_ms, idle.took_ms)


def _idle(note: ChoreNote, positions: int) -> bool:
    return note.counts.get("exact") == positions and not note.counts["written"] and not note.counts["told"]


def _positions(offset: int) -> dict[TopicPartition, GroupPosition]:
    return {TopicPartition("cycle", number): GroupPosition(offset) for number in range(PARTITIONS)}


async def commit(end: End, wanted: dict[str, dict[TopicPartition, GroupPosition]]) -> None:
    """Put groups where they are to stand."""
    cluster = Cluster(end.settings, "bench|groups")
    try:
        await cluster.refresh(None)
        for group, answer in (await GroupCoordinators(cluster).commit_positions(wanted)).items():
            if isinstance(answer, ClusterError) or answer:
                raise RuntimeError(f"{group}: {answer}")
    finally:
        await cluster.close()


class _Notes:
    """What the engine notes about its groups."""

    def __init__(self, errand: Errand) -> None:
        self._errand = errand
        self._cluster = Cluster(errand.pair.target.settings, "bench|notes")
        self._view: LedgerView | None = None
        self._seen_ms = 0

    async def wait(self, accept: Callable[[ChoreNote], bool]) -> ChoreNote:
        """The next note that is acceptable."""
        deadline = time.monotonic() + _WITHIN_S
        note = None
        while time.monotonic() < deadline:
            note = await self._newest()
            if note is not None and note.at_ms > self._seen_ms and accept(note):
                self._seen_ms = note.at_ms
                return note
            await asyncio.sleep(_LOOK_AGAIN_S)
        raise MirrorFailed(f"no such cycle; last seen: {note}\n{output_tail(self._errand)}")

    async def _newest(self) -> ChoreNote | None:
        topic = ledger_topic(self._errand.source)
        leaders = (await self._cluster.refresh([topic]))[topic].leaders
        if not leaders:
            return None
        if self._view is None:
            self._view = LedgerView(dict.fromkeys(leaders, 0))
        await self._view.catch_up(self._cluster, self._errand.source)
        return self._view.notes.get("groups")

    async def close(self) -> None:
        await self._cluster.close()
