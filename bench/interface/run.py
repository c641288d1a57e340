"""Asks whether readers of the interface disturb a busy link."""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from bench.clusters import two_clusters
from bench.copying import MirrorFailed
from bench.goals import interface_goals
from bench.latency.percentiles import RANKS
from bench.latency.run import PARTITIONS, LatencyRun, Times, await_probes, consume, producing, send_probes
from bench.options import Options
from bench.peers.ours import TwinlogListening
from bench.peers.peer import Errand, output_tail, running
from bench.report import listed, table

RATE = 200
RECORDS_PER_SECOND = 1000
QUIET, ASKED = "nobody asks", f"{RATE} requests/s"
_READY_WITHIN_S = 60.0


@dataclass(frozen=True)
class Readers:
    """What the readers saw in one turn."""

    seconds: float
    sent: int
    answered: int
    failed: int
    bytes: int
    ms: dict[str, float]
    paths: dict[str, dict[str, float]]


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    times = Times(2, 6) if options.quick else Times(5, 30)
    # Turns are short and the machine is noisy: a pair of turns more than the rounds asked for.
    turns = options.rounds + 1
    with two_clusters() as pair:
        errand = Errand(pair, 1, "paced", PARTITIONS)
        port = _free_port()
        pair.source.create(errand.topic, PARTITIONS)
        send_probes(errand)
        with running(TwinlogListening(port), errand) as process:
            await_probes(process, errand)
            _await_answers(process, errand, port)
            with producing(errand, RECORDS_PER_SECOND):
                # The first turn of a young link is slower than all that follow, whoever asks.
                consume(pair.target, errand.remote, times, from_end=True)
                runs, asked = _turns(errand, port, times, turns)
    return "\n\n".join(_section(runs, asked, times))


def _turns(errand: Errand, port: int, times: Times, turns: int) -> tuple[dict[str, list[LatencyRun]], list[Readers]]:
    runs: dict[str, list[LatencyRun]] = {QUIET: [], ASKED: []}
    asked: list[Readers] = []
    for turn in range(turns):
        # Who begins changes from turn to turn, so that neither always follows the other.
        for name in (QUIET, ASKED) if turn % 2 == 0 else (ASKED, QUIET):
            if name == ASKED:
                with _reading(errand, port) as readers:
                    run = consume(errand.pair.target, errand.remote, times, from_end=True)
                asked += readers
            else:
                run = consume(errand.pair.target, errand.remote, times, from_end=True)
            runs[name].append(run)
            shown = ", ".join(f"{p} {value:.1f}" for p, value in run.ms.items())
            print(f"  turn {turn + 1}, {name}: {shown} ms, {run.verdict}", flush=True)
    return runs, asked


@contextmanager
def _reading(errand: Errand, port: int) -> Iterator[list[Readers]]:
    """Readers while the block lasts; what they saw is in the list afterwards."""
    link = quote(f"{errand.source}->{errand.target}", safe="")
    paths = ["/connectors", "/v1/links", "/metrics", f"/v1/links/{link}/topics", "/ui/"]
    command = [sys.executable, "-m", "bench.interface.readers", "127.0.0.1", str(port), str(RATE), *paths]
    found: list[Readers] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield found
        told, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"the readers failed with exit code {process.returncode}")
    found.append(Readers(**json.loads(told)))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port


def _await_answers(process: subprocess.Popen[bytes], errand: Errand, port: int) -> None:
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as found:
                if found.status == 200:
                    return
        except (urllib.error.URLError, OSError) as trouble:
            if process.poll() is not None or time.monotonic() > deadline:
                raise MirrorFailed(f"/readyz: {trouble}, exit code {process.poll()}:\n{output_tail(errand)}") from None
        time.sleep(0.2)


def _section(runs: dict[str, list[LatencyRun]], asked: list[Readers], times: Times) -> Iterator[str]:
    medians = {name: {p: statistics.median(run.ms[p] for run in some) for p in RANKS} for name, some in runs.items()}
    yield "### Goals"
    rate = statistics.median(one.answered / one.seconds for one in asked)
    goals = interface_goals(medians[QUIET]["p99"], medians[ASKED]["p99"], rate / RATE)
    yield table(["goal", "wanted", "got", "verdict"], (goal.row for goal in goals))
    yield "### Milliseconds from producer to consumer"
    yield (
        f"{RECORDS_PER_SECOND:,} records/s of 100 B, {PARTITIONS} partitions, {times.seconds:.0f} s a turn after "
        f"{times.warm_up_s:.0f} s of warm-up, turns alternating. Medians:"
    )
    yield table(
        ["beside the link", *RANKS],
        ([name, *(f"{value:.1f}" for value in figures.values())] for name, figures in medians.items()),
    )
    yield "All turns:"
    yield table(
        ["beside the link", "turn", *RANKS, "measured", "records"],
        (
            [name, str(turn), *(f"{run.ms[p]:.1f}" for p in RANKS), f"{run.count:,}", run.verdict]
            for name, some in runs.items()
            for turn, run in enumerate(some, 1)
        ),
    )
    yield "### What the readers saw"
    yield table(
        ["turn", "requests/s", "answered", "failed", "MB", "p50 ms", "p99 ms"],
        (
            [
                *(str(turn), f"{one.answered / one.seconds:.0f}", f"{one.answered:,}", str(one.failed)),
                *(f"{one.bytes / 1e6:.1f}", f"{one.ms['p50']:.1f}", f"{one.ms['p99']:.1f}"),
            ]
            for turn, one in enumerate(asked, 1)
        ),
    )
    yield "By path, medians of the turns:"
    yield table(
        ["path", "p50 ms", "p99 ms"],
        (
            [f"`{path}`", *(f"{statistics.median(one.paths[path][p] for one in asked):.1f}" for p in ("p50", "p99"))]
            for path in asked[0].paths
        ),
    )
    yield "### Settings"
    yield listed({"Twinlog": TwinlogListening(0).settings, "clients": "linger.ms=1, idempotent; fetch.min.bytes=1"})
