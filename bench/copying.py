"""One run of one mirror over a loaded topic: how long, how fast, at what cost, and is it all there.

    process start ───────────▶ last look with nothing ── copy ──▶ first look with everything ──▶ mirror ended, counted
                  start-up                               speed

Both moments of the copy err against the mirror, by at most one look (50 ms).
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import NamedTuple

from bench.census import Census, end_offsets, take_census
from bench.cost import Meter
from bench.datasets import DataSet
from bench.peers.peer import Errand, Peer, output_tail, running

LOOK_EVERY_S = 0.05
_FIRST_WITHIN_S = 180.0
_STALLED_AFTER_S = 60.0
_QUIET_S = 1.0


class MirrorFailed(Exception):
    """A mirror ended or stood still before its work was done."""


@dataclass(frozen=True)
class CopyRun:
    """What was seen."""

    peer: str
    start_s: float
    copy_s: float
    second_half_s: float
    records: int
    gigabytes: float
    start_cpu_s: float
    copy_cpu_s: float
    idle_cpu_share: float | None
    peak_bytes: int
    census: Census

    @property
    def rate(self) -> float:
        """Records a second, from nothing to everything."""
        return self.records / self.copy_s

    @property
    def warm_rate(self) -> float:
        """Records a second over the second half: what a mirror that has been running for a while does."""
        return self.records / 2 / self.second_half_s

    @property
    def cpu_per_million(self) -> float:
        return self.copy_cpu_s / self.records * 1e6

    @property
    def cpu_per_gigabyte(self) -> float:
        return self.copy_cpu_s / self.gigabytes


class First(NamedTuple):
    """The last look with nothing, the first with something, and how much that was."""

    nothing_at: float
    at: float
    records: int


@dataclass(frozen=True)
class Looks:
    """(time, records on the target) as seen, from the last look with none to the first with all."""

    seen: list[tuple[float, int]]

    @property
    def copy_s(self) -> float:
        return self.seen[-1][0] - self.seen[0][0]

    @property
    def last(self) -> First:
        """The last look, as the beginning of what is copied after it."""
        at, count = self.seen[-1]
        return First(at, at, count)

    def second_half_s(self, total: int) -> float:
        middle = next(at for at, count in self.seen if count * 2 >= total)
        return max(LOOK_EVERY_S, self.seen[-1][0] - middle)


def copy_once(peer: Peer, errand: Errand, data: DataSet, *, idle_s: float = 0.0) -> CopyRun:
    """Start the mirror, wait until everything is copied, watch it idle for a while, end it, count."""
    began = time.monotonic()
    with running(peer, errand) as process, Meter(process.pid) as meter:
        first, start_cpu_s = await_first(process, errand, meter)
        looks = await_all(process, errand, data.total, first)
        copy_cpu_s = meter.cpu_seconds() - start_cpu_s
        _await_quiet(errand)
        idle = _idle_share(meter, idle_s) if idle_s else None
    return CopyRun(
        peer=peer.name,
        start_s=first.nothing_at - began,
        copy_s=looks.copy_s,
        second_half_s=looks.second_half_s(data.total),
        records=data.total,
        gigabytes=data.gigabytes,
        start_cpu_s=start_cpu_s,
        copy_cpu_s=copy_cpu_s,
        idle_cpu_share=idle,
        peak_bytes=meter.peak_bytes,
        census=take_census(errand.pair.target, errand.remote, data),
    )


def _look(errand: Errand) -> int:
    return sum((end_offsets(errand.pair.target, errand.remote, errand.partitions) or {}).values())


def await_first(process: subprocess.Popen[bytes], errand: Errand, meter: Meter) -> tuple[First, float]:
    """The beginning of the copy, and the CPU used until then."""
    deadline = time.monotonic() + _FIRST_WITHIN_S
    nothing, used = time.monotonic(), meter.cpu_seconds()
    while True:
        at = time.monotonic()
        count = _look(errand)
        # A transaction marker takes an offset too, so a mirror that begins with one per partition has copied nothing.
        if count > errand.partitions:
            return First(nothing, at, count), used
        nothing, used = at, meter.cpu_seconds()
        if process.poll() is not None or at > deadline:
            raise MirrorFailed(f"no record arrived (exit code {process.poll()}):\n{output_tail(errand)}")
        time.sleep(LOOK_EVERY_S)


def await_all(process: subprocess.Popen[bytes], errand: Errand, total: int, first: First) -> Looks:
    """Until so many records lie on the target."""
    nothing, at, count = first
    seen = [(nothing, 0), (at, count)]
    moved = at
    while count < total:
        time.sleep(LOOK_EVERY_S)
        at, before = time.monotonic(), count
        count = _look(errand)
        seen.append((at, count))
        moved = at if count > before else moved
        if process.poll() is not None or at - moved > _STALLED_AFTER_S:
            raise MirrorFailed(f"{count:,} of {total:,} records arrived:\n{output_tail(errand)}")
    return Looks(seen)


def _await_quiet(errand: Errand) -> None:
    """A mirror that writes records twice may do so after the last one: wait until nothing is added."""
    count, since = _look(errand), time.monotonic()
    while time.monotonic() - since < _QUIET_S:
        time.sleep(LOOK_EVERY_S)
        now = _look(errand)
        if now != count:
            count, since = now, time.monotonic()


def _idle_share(meter: Meter, seconds: float) -> float:
    """CPU seconds a second of a mirror with nothing to do."""
    began, used = time.monotonic(), meter.cpu_seconds()
    while time.monotonic() - began < seconds:
        time.sleep(LOOK_EVERY_S)
    return (meter.cpu_seconds() - used) / (time.monotonic() - began)
