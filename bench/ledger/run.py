"""Asks what a million small transactions cost: bytes of ledger, memory of whoever follows it, time of the commands."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.clusters import Pair, two_clusters
from bench.goals import Goal
from bench.ledger.history import PARTITIONS, SHARDS, TOPIC, History, write_history
from bench.options import Options
from bench.report import table
from bench.translation.cycle import commit

from twinlog.model.groups.observed import GroupPosition
from twinlog.model.ledger.records import ledger_topic
from twinlog.model.names import TopicPartition
from twinlog.sync.link_topics import LEDGER_CONFIGS
from twinlog.wire.codec import open_batch
from twinlog.wire.connection import Cluster
from twinlog.wire.log import LogReader, fetch_ends

TRANSACTIONS = 1_000_000
GROUPS = 100
RECORD_BYTES = (100, 1_000)
SHARE_GOAL = 0.01
SECONDS_GOAL = 5.0
GROWTH_GOAL_BYTES = 8 << 20
_RECORD_OVERHEAD = 8  # attributes, lengths and deltas of one record in a batch


@dataclass(frozen=True)
class Sizes:
    """Of the ledger: everything in the log, and the newest record of each key."""

    written: int
    kept: int


@dataclass(frozen=True)
class Followed:
    """What reading a ledger cost a fresh process."""

    seconds: float
    rss_growth: float
    parts: float


@dataclass(frozen=True)
class Timed:
    """One command."""

    words: str
    history: str
    seconds: float
    cpu_seconds: float
    code: int


def answer(options: Options) -> str:
    """Run it all; return the page's section."""
    whole, tenth = int(TRANSACTIONS * options.scale), int(TRANSACTIONS * options.scale / 10)
    with two_clusters() as pair:
        pair.source.create(TOPIC, PARTITIONS)
        short = _written(pair, "S", tenth)
        history = _written(pair, "A", whole)
        sizes = asyncio.run(_measure(pair, "A"))
        followed = {one.source: [_follow(pair, one) for _ in range(options.rounds)] for one in (short, history)}
        groups = {
            f"bench-{number}": {
                TopicPartition(TOPIC, n): GroupPosition(number * history.records // PARTITIONS // GROUPS)
                for n in range(PARTITIONS)
            }
            for number in range(GROUPS)
        }
        asyncio.run(commit(pair.source, groups))
        timed = [
            one
            for _ in range(options.rounds)
            for link, name in (("S->B", "a tenth"), ("A->B", "whole"))
            for one in _commands(pair, link, name)
        ]
    return "\n\n".join(_section(history, sizes, followed[short.source], followed[history.source], timed))


def _written(pair: Pair, source: str, transactions: int) -> History:
    remote = f"{source}.{TOPIC}"
    pair.target.create(remote, PARTITIONS)
    pair.target.create(ledger_topic(source), 1 + SHARDS, dict(LEDGER_CONFIGS))
    print(f"writing the history of {transactions:,} transactions", flush=True)
    return asyncio.run(write_history(pair, source, remote, transactions))


async def _measure(pair: Pair, source: str) -> Sizes:
    cluster = Cluster(pair.target.settings, "bench|sizes")
    topic, positions = ledger_topic(source), dict.fromkeys(range(1 + SHARDS), 0)
    written, kept = 0, dict[bytes, int]()
    try:
        ends = await fetch_ends(cluster, topic, positions)
        reader = LogReader(cluster, topic, positions, "sizes", max_wait_ms=50)
        async for _, batches in reader.batches():
            for header, data in batches:
                written += header.size
                for record in open_batch(data):
                    kept[record.key or b""] = len(record.key or b"") + len(record.value or b"") + _RECORD_OVERHEAD
            if all(reader.positions[n] >= end for n, end in ends.items()):
                break
    finally:
        await cluster.close()
    return Sizes(written, sum(kept.values()))


def _follow(pair: Pair, history: History) -> Followed:
    command = [sys.executable, "-m", "bench.ledger.follow", pair.target.servers, history.source]
    answered = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    return Followed(**json.loads(answered.stdout))


def _commands(pair: Pair, link: str, history: str) -> Iterator[Timed]:
    source = link.split("->", maxsplit=1)[0]
    file = pair.folder / f"{source}.properties"
    file.write_text(
        f"clusters = {source}, B\n{source}.bootstrap.servers = {pair.source.servers}\n"
        f"B.bootstrap.servers = {pair.target.servers}\n{link}.enabled = true\n{link}.topics = {TOPIC}\n"
        f"{link}.groups = bench-.*\n{link}.ledger.shards = {SHARDS}\n",
        encoding="latin-1",
    )
    for words in (["switch", "status"], ["groups"], ["failover", "--unplanned", "--dry-run"]):
        began, cpu = time.monotonic(), _cpu_of_children()
        done = subprocess.run(
            [sys.executable, "-m", "twinlog", *words, link, "-c", str(file), "-o", "json"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        yield Timed(" ".join(words), history, time.monotonic() - began, _cpu_of_children() - cpu, done.returncode)
        print(f"{link} {' '.join(words)}: {done.returncode} {done.stderr[-300:]}", flush=True)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _section(
    history: History, sizes: Sizes, short: list[Followed], whole: list[Followed], timed: list[Timed]
) -> Iterator[str]:
    what = f"{history.transactions:,} transactions of 1 to 10 records in {PARTITIONS} partitions"
    yield f"{what}, {history.records:,} records:"
    rows = [["everything written", f"{sizes.written:,}"], ["what compaction keeps", f"{sizes.kept:,}"]]
    yield table(
        ["ledger", "bytes", "per transaction", *(f"of the data, {size} B records" for size in RECORD_BYTES)],
        (
            [
                name,
                size,
                f"{int(size.replace(',', '')) / history.transactions:.2f}",
                *(f"{int(size.replace(',', '')) / history.records / each:.3%}" for each in RECORD_BYTES),
            ]
            for name, size in rows
        ),
    )
    yield "A fresh process that reads it, every round:"
    yield table(
        ["history", "parts of the map", "seconds", "growth of the process, MB"],
        (
            [name, f"{one.parts:,.0f}", f"{one.seconds:.2f}", f"{one.rss_growth / 1e6:.1f}"]
            for name, rounds in (("a tenth", short), ("whole", whole))
            for one in rounds
        ),
    )
    yield f"Commands, {GROUPS} groups with {PARTITIONS} positions each, every round:"
    yield table(
        ["command", "history", "seconds", "CPU seconds", "exit code"],
        (
            [f"`twinlog {one.words}`", one.history, f"{one.seconds:.2f}", f"{one.cpu_seconds:.2f}", str(one.code)]
            for one in timed
        ),
    )
    yield "### Goals"
    yield table(["goal", "wanted", "got", ""], (goal.row for goal in _goals(history, sizes, short, whole, timed)))


def _goals(
    history: History, sizes: Sizes, short: list[Followed], whole: list[Followed], timed: list[Timed]
) -> Iterator[Goal]:
    share = sizes.written / history.records / min(RECORD_BYTES)
    what = f"ledger per byte of data, {min(RECORD_BYTES)} B records"
    yield Goal(what, "at most 1 %", f"{share:.3%}", share <= SHARE_GOAL)
    growth = max(one.rss_growth for one in whole) - min(one.rss_growth for one in short)
    what = "a follower's memory, whole history against a tenth"
    yield Goal(what, f"within {GROWTH_GOAL_BYTES >> 20} MiB", f"{growth / 1e6:.1f} MB", growth < GROWTH_GOAL_BYTES)
    for words in dict.fromkeys(one.words for one in timed):
        mine = [one for one in timed if one.words == words and one.history == "whole"]
        slowest, worked = max(one.seconds for one in mine), all(one.code == 0 for one in mine)
        yield Goal(f"`twinlog {words}`", "under 5 s", f"{slowest:.1f} s", worked and slowest < SECONDS_GOAL)
