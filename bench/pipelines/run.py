"""Asks how fast a warm worker copies between Kafka and files, tables, indexes and buckets, and what that costs."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.clusters import JAVA_OPTIONS, SETTINGS
from bench.cost import Meter
from bench.options import Options
from bench.pipelines.errands import ERRANDS, Errand
from bench.pipelines.idle import IDLE, Idle, idle
from bench.pipelines.latency import PIPELINE, Latency, latency
from bench.pipelines.scene import Scene, fresh
from bench.pipelines.workers import WITHIN_S, Worker, running
from bench.report import amount, ratio, table

from twinlog.local.cluster import LocalCluster

PEERS: Final = ("connect", "twinlog")
WARM_UP: Final = 2
"""Rounds that do not count: the first ones of a JVM are several times slower, for both."""


@dataclass(frozen=True)
class Result:
    """One copy."""

    rate: float
    cpu_us: float  # per record
    peak_bytes: int


def _run(scene: Scene, worker: Worker, errand: Errand, count: int) -> Result:
    order = errand.make(scene, worker.name, count)
    name = fresh("bench")
    with Meter(worker.pid) as meter:
        meter.look_around()
        cpu, began = meter.cpu_seconds(), time.monotonic()
        worker.put(name, dict(order.config))
        while order.arrived() < count:
            if time.monotonic() - began > WITHIN_S:
                raise RuntimeError(f"{worker.name}: {errand.title}: {order.arrived()} of {count} in {WITHIN_S:.0f} s")
            time.sleep(order.look_s)
        seconds = time.monotonic() - began
        meter.look_around()
        used = meter.cpu_seconds() - cpu
    worker.delete(name)
    order.clean_up()
    return Result(count / seconds, used * 1e6 / count, meter.peak_bytes)


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    errands = [one for one in ERRANDS if options.wants_set(one.title)]
    peers = [peer for peer in PEERS if options.wants_peer(peer)]
    found: dict[tuple[str, str], list[Result]] = {}
    hand: dict[str, float] = {}
    delays: dict[str, Latency] = {}
    idles: dict[str, Idle] = {}
    failed: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = LocalCluster("bench", folder / "kafka", settings=SETTINGS, java_options=JAVA_OPTIONS)
        scene = Scene(stack.enter_context(cluster), folder, stack)
        workers = [stack.enter_context(running(peer, cluster, folder)) for peer in peers]
        for errand in errands:
            count = int(errand.records * options.scale)
            able = [one for one in workers if one.name == "twinlog" or errand.peer]
            for turn in range(WARM_UP + options.rounds):
                for worker in list(able):
                    try:
                        result = _run(scene, worker, errand, count)
                    except (RuntimeError, OSError, AssertionError) as error:
                        print(f"  {errand.title}, {worker.name}: FAILED: {error}", flush=True)
                        failed.append(f"{errand.title}, {worker.name}: {' '.join(str(error).split())[:300]}")
                        able.remove(worker)
                        continue
                    print(f"  {errand.title}, round {turn + 1}, {worker.name}: {result}", flush=True)
                    if turn >= WARM_UP:
                        found.setdefault((errand.title, worker.name), []).append(result)
            if errand.beside is not None and able:
                hand[errand.title] = errand.beside(scene, count)
        if options.wants_set(PIPELINE):
            delays = {worker.name: latency(scene, worker, options.scale) for worker in workers}
        if options.wants_set(IDLE):
            idles = {worker.name: idle(scene, worker, options.scale) for worker in workers}
    lost = "Not measured, because it failed:\n\n" + "\n".join(f"- {one}" for one in failed) if failed else ""
    return "\n\n".join(filter(None, (_table(found, errands, hand, options), _delays(delays), _idles(idles), lost)))


def _middle(runs: list[Result]) -> Result:
    return Result(
        statistics.median(one.rate for one in runs),
        statistics.median(one.cpu_us for one in runs),
        int(statistics.median(one.peak_bytes for one in runs)),
    )


def _table(
    found: dict[tuple[str, str], list[Result]], errands: list[Errand], hand: dict[str, float], options: Options
) -> str:
    rows = []
    for errand in errands:
        peer = _middle(found[errand.title, "connect"]) if (errand.title, "connect") in found else None
        own = _middle(found[errand.title, "twinlog"]) if (errand.title, "twinlog") in found else None
        label = f"{errand.title}, {int(errand.records * options.scale):,} records"
        if peer:
            rows.append([f"{label}: Connect, {errand.peer}", amount(peer.rate), "", f"{peer.cpu_us:.1f}", "",
                         f"{peer.peak_bytes / 1e6:.0f}"])  # fmt: skip
        if errand.title in hand:
            rows.append([f"{label}: the target's part by hand", amount(hand[errand.title]), "", "", "", ""])
        if own:
            beside = peer.rate if peer else hand.get(errand.title)
            cpu = "" if peer is None else f"{own.cpu_us / peer.cpu_us:.2f} x"
            rows.append([f"{label}: Twinlog", amount(own.rate), ratio(own.rate, beside), f"{own.cpu_us:.1f}", cpu,
                         f"{own.peak_bytes / 1e6:.0f}"])  # fmt: skip
    if not rows:
        return ""
    head = ["errand and worker", "records/s", "beside", "CPU µs per record", "beside", "most memory, MB"]
    told = f"Two warm-up rounds, then the median of {options.rounds}. Both workers run all the time, one is idle."
    return f"{told}\n\n{table(head, rows)}"


def _delays(found: dict[str, Latency]) -> str:
    if not found:
        return ""
    rows = [
        [name, *(f"{one.percentile(share):.1f}" for share in (50, 90, 99)), str(len(one.milliseconds))]
        for name, one in found.items()
    ]
    head = ["topic to file, 1000 records/s", "p50 ms", "p90 ms", "p99 ms", "records"]
    return table(head, rows)


def _idles(found: dict[str, Idle]) -> str:
    if not found:
        return ""
    rows = [
        [name, f"{one.core * 100:.1f} %", f"{one.resident_bytes / 1e6:.0f}", f"{one.start_s:.0f}"]
        for name, one in found.items()
    ]
    count = next(iter(found.values())).connectors
    head = [f"{count} connectors without a record", "of one core", "memory, MB", "seconds until all ran"]
    return table(head, rows)
