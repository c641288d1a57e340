"""What it costs that records wait for schemas: the same link with the gate and without it, in turns."""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.census import end_offsets
from bench.clusters import Pair, two_clusters
from bench.copying import CopyRun, copy_once
from bench.datasets import SETS, DataSet
from bench.goals import Goal
from bench.latency.run import LatencyRun, Times, measure_once
from bench.loading import load
from bench.options import Options
from bench.peers.peer import Errand
from bench.report import amount, ratio, table
from confluent_kafka import Producer

from twinlog.registry.content import Content
from twinlog.registry.records import SchemaValue, schema_record

RATE = 1000
SCHEMAS = 100
TOPIC = "_schemas"
RANKS = ("p50", "p99")
_DATA = "small-lz4"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Link:
    """Twinlog with one setting."""

    name: str
    title: str
    lines: dict[str, str] = field(default_factory=dict)
    settings: str = "all defaults but the gate"

    def command(self, errand: Errand) -> list[str]:
        file = errand.properties_file(self.lines)
        return [sys.executable, "-m", "twinlog", "run", "-c", str(file), "-o", "json"]


LINKS = (Link("gate", "records wait for schemas"), Link("open", "without waiting", {"LINK.registry.gate.ms": "0"}))


def answer(options: Options, _folder: Path) -> tuple[list[Goal], str]:
    """Goals, and the tables. Nobody set a goal for the cost; it is told."""
    times = Times(3, 8) if options.quick else Times(5, 20)
    rounds = min(options.rounds, 2)
    data = next(one for one in SETS if one.name == _DATA).scaled(0.04 if options.quick else 0.4)
    waits: dict[str, list[LatencyRun]] = {link.name: [] for link in LINKS}
    with two_clusters() as pair:
        for turn in range(rounds):
            for link in LINKS[:: 1 if turn % 2 else -1]:
                _registered(pair)
                waits[link.name].append(measure_once(link, Errand(pair, next(_numbers), "paced", 6), RATE, times))
                _require_schemas(pair)
                _clear(pair)
        copies = _copies(pair, data, rounds)
    return [], f"{_waiting(waits)}\n\n{_copying(copies, data)}"


def _copies(pair: Pair, data: DataSet, rounds: int) -> dict[str, list[CopyRun]]:
    runs: dict[str, list[CopyRun]] = {link.name: [] for link in LINKS}
    load(pair.source, data.name, data)
    _registered(pair)
    for turn in range(rounds):
        for link in LINKS[:: 1 if turn % 2 else -1]:
            errand = Errand(pair, next(_numbers), data.name, data.partitions)
            runs[link.name].append(copy_once(link, errand, data, idle_s=0.0))
            _require_schemas(pair)
            pair.target.clear()
    return runs


def _registered(pair: Pair) -> None:
    """Some schemas at the source, so that the link mirrors a registry."""
    pair.source.create(TOPIC, 1, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": pair.source.servers})
    for number in range(1, SCHEMAS + 1):
        content = Content("AVRO", f'{{"type":"record","name":"R{number}","fields":[]}}')
        record = schema_record(SchemaValue(f"subject-{number}", 1, number, content, deleted=False))
        producer.produce(TOPIC, record.value, record.key)
    if producer.flush(30):
        raise RuntimeError(f"{TOPIC}: the schemas were not accepted")


def _require_schemas(pair: Pair) -> None:
    """A link that did not mirror the schemas had nothing to wait for: its figures would say nothing."""
    ends = end_offsets(pair.target, TOPIC, 1)
    if ends is None or ends[0] < SCHEMAS:
        raise RuntimeError(f"{TOPIC} was not mirrored: {ends}")


def _clear(pair: Pair) -> None:
    pair.source.clear()
    pair.target.clear()


def _waiting(runs: dict[str, list[LatencyRun]]) -> str:
    rows = [
        (link.title, *(f"{_median(runs[link.name], rank):.1f}" for rank in RANKS), *_rounds(runs[link.name]))
        for link in LINKS
    ]
    return table(
        (f"ms from producer to consumer, {RATE:,} records/s", *RANKS, *(f"every round, {r}" for r in RANKS)), rows
    )


def _rounds(runs: Sequence[LatencyRun]) -> list[str]:
    return [", ".join(f"{run.ms[rank]:.1f}" for run in runs) for rank in RANKS]


def _median(runs: Sequence[LatencyRun], rank: str) -> float:
    return statistics.median(run.ms[rank] for run in runs)


def _copying(runs: dict[str, list[CopyRun]], data: DataSet) -> str:
    rate, cpu = (
        {name: statistics.median(getattr(run, what) for run in some) for name, some in runs.items()}
        for what in ("rate", "cpu_per_million")
    )
    rows = [
        (
            link.title,
            amount(rate[link.name]),
            ratio(rate[link.name], rate["open"]),
            f"{cpu[link.name]:.2f}",
            ", ".join(f"{amount(run.rate)} ({run.census.verdict})" for run in runs[link.name]),
        )
        for link in LINKS
    ]
    head = (
        f"copying {data.total:,} records ({data.title})",
        "records/s",
        "of it without",
        "CPU s per million",
        "every round",
    )
    return table(head, rows)
