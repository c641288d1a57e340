"""What records cost when only one partition in a hundred is busy: cost must follow traffic, not partitions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.copying import await_all, await_first
from bench.cost import Meter
from bench.datasets import DataSet
from bench.loading import fill
from bench.peers.peer import Errand, Peer, running

ONE_IN = 100


@dataclass(frozen=True)
class BusyRun:
    """CPU of a mirror whose other partitions were idle."""

    busy: int
    records: int
    cpu_s: float

    @property
    def cpu_per_million(self) -> float:
        return self.cpu_s / self.records * 1e6


def busy_once(peer: Peer, errand: Errand, data: DataSet, records: int) -> BusyRun:
    """Copy the whole set, then as many records again on a hundredth of the partitions; only these are measured."""
    busy = max(1, data.partitions // ONE_IN)
    more = replace(data, records=records, partitions=busy)
    with running(peer, errand) as process, Meter(process.pid) as meter:
        first, _ = await_first(process, errand, meter)
        looks = await_all(process, errand, data.total, first)
        before = meter.cpu_seconds()
        fill(errand.pair.source, errand.topic, more)
        await_all(process, errand, data.total + more.total, looks.last)
        used = meter.cpu_seconds() - before
    return BusyRun(busy, more.total, used)
