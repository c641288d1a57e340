"""Lookups, new schemas and known schemas, beside Apicurio in the same run."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from bench.goals import Goal
from bench.options import Options
from bench.registry import apicurio
from bench.registry.asking import Asked, Figures, each, load, median, started
from bench.report import amount, ratio, table

from twinlog.local.cluster import LocalCluster

OURS = "Twinlog, Kafka with one broker"
SIZES = {"new": 10_000, "alone": 1_000, "lookups": 100_000}
PEER_SIZES = {"new": 2_000, "alone": 300, "lookups": 30_000}
KINDS = {
    "lookups": "lookup by id, 32 clients",
    "again": "known schema, 32 clients",
    "new": "new schema, 32 clients",
    "alone": "new schema, one client",
}
LOOKUPS, LOOKUP_CPU_MS, AGAIN, NEW = 10_000, 0.05, 5_000, 1_000
CONFLUENT = ("Confluent 8.1.1 (another day, another run)", "6.0-7.8 k", "0.14", "1.0-3.0 k", "75-118", "283")


def answer(options: Options, folder: Path, cluster: LocalCluster) -> tuple[list[Goal], str]:
    """Goals, and the tables."""
    part = 10 if options.quick else 1
    ours, our_rss = _ours(cluster, folder, options.rounds, part)
    theirs, their_rss = _apicurio(folder, options.rounds, part) if options.wants_peer("apicurio") else ({}, 0.0)
    rows = [_row(OURS, ours, our_rss)]
    if theirs:
        rows.append(_row(f"Apicurio {apicurio.VERSION}, H2 in memory, no Kafka", theirs, their_rss))
        rows.append(("Twinlog / Apicurio", *(_ratio(ours, theirs, kind, name) for kind, name in _SHOWN), "-"))
    head = ("medians", "lookups by id /s", "CPU ms each", "known schema again /s", "new /s, 32 clients", "MiB")
    times = [
        (f"{who}: {said}", *(f"{median(runs[kind], name):.2f}" for name in ("p50_ms", "p99_ms", "cpu_ms")))
        for who, runs in (("Twinlog", ours), ("Apicurio", theirs))
        if runs
        for kind, said in KINDS.items()
    ]
    rounds = [
        (f"{who}: {said}", each(runs[kind], "rate", amount))
        for who, runs in (("Twinlog", ours), ("Apicurio", theirs))
        if runs
        for kind, said in KINDS.items()
    ]
    tables = (
        table(head, [*rows, CONFLUENT]),
        table(("", "p50 ms", "p99 ms", "CPU ms each"), times),
        table(("every round", "/s"), rounds),
    )
    return list(_goals(ours)), "\n\n".join(tables)


_SHOWN = (("lookups", "rate"), ("lookups", "cpu_ms"), ("again", "rate"), ("new", "rate"))


def _ratio(ours: dict[str, list[Figures]], theirs: dict[str, list[Figures]], kind: str, name: str) -> str:
    return ratio(median(ours[kind], name), median(theirs[kind], name))


def _goals(ours: dict[str, list[Figures]]) -> Iterator[Goal]:
    for what, kind, least in (
        ("lookups by id /s", "lookups", LOOKUPS),
        ("known schema again /s", "again", AGAIN),
        ("new schemas /s, 32 clients", "new", NEW),
    ):
        rate = median(ours[kind], "rate")
        yield Goal(what, f"at least {amount(least)}", amount(rate), rate >= least)
    cpu = median(ours["lookups"], "cpu_ms")
    yield Goal("CPU of a lookup, ms", f"at most {LOOKUP_CPU_MS}", f"{cpu:.3f}", cpu <= LOOKUP_CPU_MS)


def _row(name: str, runs: dict[str, list[Figures]], rss_mib: float) -> tuple[str, ...]:
    shown = [
        f"{median(runs[kind], what):.3f}" if what == "cpu_ms" else amount(median(runs[kind], what))
        for kind, what in _SHOWN
    ]
    return (name, *shown, f"{rss_mib:.0f}")


def _measured(registry: Asked, rounds: int, sizes: dict[str, int], base: str = "") -> dict[str, list[Figures]]:
    """Each round registers schemas of its own, the same again, then looks them up."""
    found: dict[str, list[Figures]] = {kind: [] for kind in KINDS}
    for number in range(rounds):
        mark = f"n{number}"
        new = load(registry, "register", sizes["new"], 32, mark, base=base)
        found["new"].append(new)
        found["again"].append(load(registry, "register", sizes["new"], 32, mark, base=base))
        found["alone"].append(load(registry, "register", sizes["alone"], 1, f"o{number}", base=base))
        ids = f"{new['lowest']:.0f}-{new['highest']:.0f}"
        load(registry, "lookup", sizes["lookups"] // 10, 32, ids, base=base)  # once, so that answers are prepared
        found["lookups"].append(load(registry, "lookup", sizes["lookups"], 32, ids, base=base))
    return found


def _smaller(sizes: dict[str, int], part: int) -> dict[str, int]:
    return {name: size // part for name, size in sizes.items()}


def _ours(cluster: LocalCluster, folder: Path, rounds: int, part: int) -> tuple[dict[str, list[Figures]], float]:
    registry = started(cluster, folder, f"rates-{uuid.uuid4().hex[:6]}").await_ready()
    try:
        return _measured(registry, rounds, _smaller(SIZES, part)), registry.rss_mib
    finally:
        registry.kill()


def _apicurio(folder: Path, rounds: int, part: int) -> tuple[dict[str, list[Figures]], float]:
    with apicurio.running(folder) as peer:
        if peer is None:
            return {}, 0.0
        until = time.monotonic() + (0 if part > 1 else apicurio.WARM_S)
        warm = 0
        while time.monotonic() < until:
            warm += 1
            made = load(peer, "register", 500, 8, f"w{warm}", base=peer.base)
            load(peer, "lookup", 5_000, 32, f"{made['lowest']:.0f}-{made['highest']:.0f}", base=peer.base)
        return _measured(peer, rounds, _smaller(PEER_SIZES, part), peer.base), peer.rss_mib
