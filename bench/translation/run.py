"""Asks what a group reads again after a switch, and how long one look at thousands of groups takes."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.census import end_offsets
from bench.clusters import End, Pair, two_clusters
from bench.copying import MirrorFailed
from bench.datasets import DataSet, Flavour
from bench.goals import Goal
from bench.loading import load
from bench.options import Options
from bench.peers.mirrormaker import MirrorMaker
from bench.peers.ours import TWINLOG
from bench.peers.peer import Errand, Peer, output_tail, running
from bench.report import listed, table
from bench.translation.cycle import GOAL_MS, Cycles, commit, measure_cycles

from twinlog.errors import ClusterError
from twinlog.model.groups.observed import GroupPosition
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.groups import GroupCoordinators
from twinlog.wire.log import LogReader

RECORDS = 1_000_000
BEHIND = (10, 1_000, 100_000)
TOPIC = "behind"
_SYNCING = {
    "LINK.sync.group.offsets.enabled": "true",
    "LINK.sync.group.offsets.interval.seconds": "5",
    "LINK.emit.checkpoints.interval.seconds": "5",
    "LINK.refresh.groups.interval.seconds": "5",
}
_MIRRORMAKER = MirrorMaker(
    "mm2-default",
    "MirrorMaker 2, defaults",
    "tasks.max=4, sync.group.offsets.enabled=true; intervals of groups, checkpoints and group offsets 5 s",
    _SYNCING,
)
_PEERS: tuple[Peer, ...] = (_MIRRORMAKER, TWINLOG)
_STILL_S = 16.0
_WITHIN_S = 300.0
_LOOK_AGAIN_S = 0.5


@dataclass(frozen=True)
class Switched:
    """One group after one run: how many records lie before it on the target, of those it had left."""

    behind: int
    reads: int

    @property
    def again(self) -> int:
        return self.reads - self.behind


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    peers = [peer for peer in _PEERS if options.wants_peer(peer.name)]
    data = DataSet(TOPIC, TOPIC, int(RECORDS * options.scale), (Flavour(100, "lz4", 100),), 1)
    behind = [min(n, data.total) for n in (*BEHIND[:-1], int(BEHIND[-1] * options.scale))]
    runs: dict[str, list[list[Switched]]] = {}
    with two_clusters() as pair:
        if options.wants_set("re-read"):
            load(pair.source, TOPIC, data)
            number = 0
            for _ in range(options.rounds):
                for peer in peers:
                    number += 1
                    runs.setdefault(peer.name, []).append(_switch(pair, number, peer, data, behind))
        wanted = options.wants_set("cycle") and options.wants_peer(TWINLOG.name)
        cycles = [measure_cycles(pair, options)] if wanted else []
    return "\n\n".join(_section(runs, cycles, peers, data))


def _switch(pair: Pair, number: int, peer: Peer, data: DataSet, behind: list[int]) -> list[Switched]:
    """Run one mirror with groups of its own, then count what lies before each of them."""
    errand = Errand(pair, number, TOPIC, 1)
    groups = {f"{peer.name}-{number}-{n}": n for n in behind}
    place = TopicPartition(TOPIC, 0)
    wanted = {group: {place: GroupPosition(data.total - n)} for group, n in groups.items()}
    asyncio.run(commit(pair.source, wanted))
    with running(peer, errand) as process:
        positions = asyncio.run(_await_positions(process, errand, groups, data.total))
    counted = asyncio.run(_records_behind(pair.target, errand.remote, positions))
    return [Switched(n, counted[group]) for group, n in groups.items()]


async def _await_positions(
    process: subprocess.Popen[bytes], errand: Errand, groups: Mapping[str, int], total: int
) -> dict[str, int]:
    """Wait until all is copied and no position has moved for some intervals."""
    place = TopicPartition(errand.remote, 0)
    cluster = Cluster(errand.pair.target.settings, "bench|groups")
    positions: dict[str, int] = {}
    moved, deadline = time.monotonic(), time.monotonic() + _WITHIN_S
    try:
        await cluster.refresh(None)
        coordinators = GroupCoordinators(cluster)
        while time.monotonic() - moved < _STILL_S:
            if process.poll() is not None or time.monotonic() > deadline:
                raise MirrorFailed(f"positions so far: {positions}\n{output_tail(errand)}")
            await asyncio.sleep(_LOOK_AGAIN_S)
            ends = await asyncio.to_thread(end_offsets, errand.pair.target, errand.remote, 1)
            found = await coordinators.fetch_positions(groups)
            now = {
                group: answer[place].offset
                for group, answer in found.items()
                if not isinstance(answer, ClusterError) and place in answer
            }
            if now != positions or len(now) < len(groups) or sum((ends or {}).values()) < total:
                positions, moved = now, time.monotonic()
    finally:
        await cluster.close()
    return positions


async def _records_behind(end: End, topic: str, positions: Mapping[str, int]) -> dict[str, int]:
    """How many records each group would read: batch by batch, from its position to the end."""
    cluster = Cluster(end.settings, "bench|count")
    counted = dict.fromkeys(positions, 0)
    try:
        until = (end_offsets(end, topic, 1) or {})[0]
        reader = LogReader(cluster, topic, {0: min(positions.values())}, "count", max_wait_ms=50)
        async for _, batches in reader.batches():
            for header, _data in batches:
                for group, position in positions.items():
                    if not header.is_control:
                        counted[group] += max(0, header.next_offset - max(position, header.base_offset))
            if reader.positions[0] >= until:
                return counted
    finally:
        await cluster.close()
    raise AssertionError("the log ended early")


def _section(
    runs: dict[str, list[list[Switched]]], cycles: list[Cycles], peers: list[Peer], data: DataSet
) -> Iterator[str]:
    titles = {peer.name: peer.title for peer in peers}
    if runs:
        yield f"Records that a group reads again after a switch, on a topic of {data.total:,} records; every round:"
        yield table(
            ["mirror", "round", "records behind", "read again"],
            (
                [titles[name], str(turn), f"{one.behind:,}", f"{one.again:,}"]
                for name, rounds in runs.items()
                for turn, switched in enumerate(rounds, 1)
                for one in switched
            ),
        )
    for one in cycles:
        yield f"One cycle over {one.positions:,} positions of groups (20 each), in a running engine:"
        yield table(
            ["cycle", "ms"],
            [
                ["the first: everything written and told", f"{one.first_ms:,}"],
                ["after every group moved on", f"{one.moved_ms:,}"],
                ["with nothing to do", f"{one.idle_ms:,}"],
            ],
        )
    yield "### Goals"
    yield table(["goal", "wanted", "got", ""], (goal.row for goal in _goals(runs, cycles)))
    yield "### Settings"
    yield listed({peer.title: peer.settings for peer in peers})


def _goals(runs: dict[str, list[list[Switched]]], cycles: list[Cycles]) -> Iterator[Goal]:
    for switched in zip(*runs.get(TWINLOG.name, []), strict=True):
        worst = max(switched, key=lambda one: abs(one.again))
        what = f"read again, {worst.behind:,} records behind"
        yield Goal(what, "0", f"{worst.again:,}", worst.again == 0)
    for one in cycles:
        slowest = max(one.first_ms, one.moved_ms, one.idle_ms)
        what = f"slowest cycle over {one.positions:,} positions"
        yield Goal(what, f"under {GOAL_MS / 1000:.0f} s", f"{slowest / 1000:.1f} s", slowest < GOAL_MS)
