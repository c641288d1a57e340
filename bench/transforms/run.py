"""Asks what transforms on a link cost: the same topic copied without a step, through a filter, and masked."""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bench.clusters import Pair, two_clusters
from bench.copying import await_all, await_first
from bench.cost import Meter
from bench.options import Options
from bench.peers.mirrormaker import TUNED, MirrorMaker
from bench.peers.peer import Errand, Peer, running
from bench.report import listed, table
from confluent_kafka import Producer

RECORDS = 1_000_000
PARTITIONS = 4
_KAFKA = "org.apache.kafka.connect.transforms"
_JSON = {
    "LINK.value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "LINK.value.converter.schemas.enable": "false",
}
FILTER = {
    "LINK.transforms": "internal",
    "LINK.transforms.internal.type": f"{_KAFKA}.Filter",
    "LINK.transforms.internal.predicate": "p",
    "LINK.predicates": "p",
    "LINK.predicates.p.type": f"{_KAFKA}.predicates.HasHeaderKey",
    "LINK.predicates.p.name": "internal",
}
MASK = {
    "LINK.transforms": "mask",
    "LINK.transforms.mask.type": f"{_KAFKA}.MaskField$Value",
    "LINK.transforms.mask.fields": "email",
    **_JSON,
}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Transforming:
    """Twinlog with some steps."""

    name: str
    title: str
    settings: str
    steps: Mapping[str, str] = field(default_factory=dict)

    def command(self, errand: Errand) -> list[str]:
        return [sys.executable, "-m", "twinlog", "run", "-c", str(errand.properties_file(self.steps)), "-o", "json"]


_PEERS: tuple[Peer, ...] = (
    Transforming("plain", "Twinlog, no transforms", "all defaults"),
    Transforming("filter", "Twinlog, Filter by header", "all defaults", FILTER),
    Transforming("mask", "Twinlog, MaskField$Value on JSON", "all defaults", MASK),
    TUNED,
    MirrorMaker("mm2-filter", "MirrorMaker 2, tuned, Filter by header", TUNED.settings, {**TUNED.tuning, **FILTER}),
)


@dataclass(frozen=True)
class Run:
    """One copy."""

    copy_s: float
    warm_rate: float
    cpu_us: float


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    peers = [peer for peer in _PEERS if options.wants_peer(peer.name)]
    runs: dict[str, list[Run]] = {peer.name: [] for peer in peers}
    count = int(RECORDS * options.scale)
    with two_clusters() as pair:
        pair.source.create("people", PARTITIONS)
        _load(pair, count)
        for turn in range(options.rounds):
            for peer in peers:
                run = _copy(peer, pair, count)
                runs[peer.name].append(run)
                print(f"  round {turn + 1}, {peer.title}: {run}", flush=True)
                pair.target.clear()
    return "\n\n".join(_section(runs, peers, count))


def _load(pair: Pair, count: int) -> None:
    producer = Producer({"bootstrap.servers": pair.source.servers, "compression.type": "lz4", "linger.ms": 50,
                         "batch.num.messages": 1000})  # fmt: skip
    for number in range(count):
        value = {"id": number, "name": f"Person {number}", "email": f"p{number}@example.com", "note": "x" * 150}
        while True:
            try:
                producer.produce("people", json.dumps(value).encode(), b"%d" % number, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(120):
        raise RuntimeError("not all records were written")


def _copy(peer: Peer, pair: Pair, count: int) -> Run:
    errand = Errand(pair, next(_numbers), "people", PARTITIONS)
    with running(peer, errand) as process, Meter(process.pid) as meter:
        first, start_cpu_s = await_first(process, errand, meter)
        looks = await_all(process, errand, count, first)
        cpu_s = meter.cpu_seconds() - start_cpu_s
    time.sleep(1)
    return Run(looks.copy_s, count / 2 / looks.second_half_s(count), cpu_s / count * 1e6)


def _section(runs: dict[str, list[Run]], peers: list[Peer], count: int) -> Iterator[str]:
    yield f"{count:,} records of about 230 bytes of JSON, lz4, {PARTITIONS} partitions. No record is dropped. Medians:"
    yield table(
        ["mirror", "copy s", "records/s, second half", "CPU us per record"],
        (
            [
                peer.title,
                f"{statistics.median(run.copy_s for run in runs[peer.name]):.1f}",
                f"{statistics.median(run.warm_rate for run in runs[peer.name]):,.0f}",
                f"{statistics.median(run.cpu_us for run in runs[peer.name]):.1f}",
            ]
            for peer in peers
        ),
    )
    yield "### Settings"
    yield listed({peer.title: peer.settings for peer in peers})
