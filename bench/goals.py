"""What Twinlog wants to reach, and whether figures reach it. Pure: figures in, sentences out.

Figures are medians, by data set and mirror.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TIMES_TUNED = {"small-lz4": 3.0, "small-none": 3.0, "large-zstd": 2.0, "large-none": 2.5, "tiny": 3.0}
TIMES_DEFAULT = {"small-lz4": 5.0, "small-none": 5.0}
SHARE_OF_RAW = 0.8
CPU_SHARE = 1 / 3
P99_WHILE_ASKED = 1.2
ANSWERED = 0.95
TIMES_TUNED_FAR = 2.0
SHARE_OF_LOCAL = 0.8
SHARE_OF_LINE = 0.9
ABOVE_ONE_WAY_MS = 15.0
LONG_MS = 80
COLD_S = 8.0
KILLED_S = 10.0
ALL_MOVED_S = {10_000: 120.0}
IDLE_SHARE = {1000: 0.05}


@dataclass(frozen=True)
class Goal:
    """One goal and what came out."""

    what: str
    wanted: str
    got: str
    reached: bool

    @property
    def row(self) -> tuple[str, str, str, str]:
        return self.what, self.wanted, self.got, "reached" if self.reached else "**missed**"


@dataclass(frozen=True)
class CopyFigures:
    """Medians of one mirror on one set."""

    rate: float
    cpu_per_gigabyte: float
    peak_bytes: float


def copy_goals(title: str, name: str, tiny: bool, figures: Mapping[str, CopyFigures]) -> Iterator[Goal]:
    """Goals of one data set; those whose mirrors were not measured are left out."""
    ours = figures.get("twinlog")
    if ours is None:
        return
    tuned, default, raw = (figures.get(peer) for peer in ("mm2-tuned", "mm2-default", "raw"))
    if tuned and name in TIMES_TUNED:
        yield _at_least(f"{title}: speed, of tuned MirrorMaker 2", ours.rate / tuned.rate, TIMES_TUNED[name])
    if default and name in TIMES_DEFAULT:
        yield _at_least(f"{title}: speed, of default MirrorMaker 2", ours.rate / default.rate, TIMES_DEFAULT[name])
    if raw and not tiny:
        yield _at_least(f"{title}: speed, of the raw ceiling", ours.rate / raw.rate, SHARE_OF_RAW)
    if tuned:
        share = ours.cpu_per_gigabyte / tuned.cpu_per_gigabyte
        yield _at_most(f"{title}: CPU per GB, of tuned MirrorMaker 2", share, CPU_SHARE)
        yield _at_most(f"{title}: memory, of tuned MirrorMaker 2", ours.peak_bytes / tuned.peak_bytes, 1.0)


def latency_goals(rate: int, percentiles: Mapping[str, Mapping[str, float]]) -> Iterator[Goal]:
    """Goals of one rate: `percentiles[mirror][p]` in milliseconds."""
    ours, theirs = percentiles.get("twinlog"), percentiles.get("mm2-default")
    if ours is None:
        return
    for p in ("p50", "p90", "p99", "p99.9"):
        if theirs:
            got = f"{ours[p]:.1f} ms"
            wanted = f"at most MirrorMaker 2's {theirs[p]:.1f} ms"
            yield Goal(f"{rate:,} records/s: {p}", wanted, got, ours[p] <= theirs[p])


def start_goals(cold_s: float, killed_s: float) -> Iterator[Goal]:
    """Seconds without a record."""
    for what, got, most in (("cold start", cold_s, COLD_S), ("restart after kill -9", killed_s, KILLED_S)):
        yield Goal(what, f"at most {most:.0f} s", f"{got:.1f} s", got <= most)


def partition_goals(partitions: int, moved_s: float, idle: float, idle_tuned: float | None) -> Iterator[Goal]:
    """Goals of one number of partitions: seconds until all have moved, and shares of a core of a mirror that idles."""
    title = f"{partitions:,} partitions"
    if (most_s := ALL_MOVED_S.get(partitions)) is not None:
        yield Goal(f"{title}: all moved", f"within {most_s:.0f} s", f"{moved_s:.1f} s", moved_s <= most_s)
    if (most := IDLE_SHARE.get(partitions)) is not None:
        yield Goal(f"{title}: idle", f"at most {most:.0%} of a core", f"{idle:.1%}", idle <= most)
        if idle_tuned is not None:
            wanted = f"at most MirrorMaker 2's {idle_tuned:.1%}"
            yield Goal(f"{title}: idle, beside MirrorMaker 2", wanted, f"{idle:.1%}", idle <= idle_tuned)


def interface_goals(quiet_p99_ms: float, asked_p99_ms: float, answered: float) -> Iterator[Goal]:
    """What readers of the interface may cost a link; and that they were answered, for otherwise they cost nothing."""
    yield _at_most("p99 with readers, of p99 without", asked_p99_ms / quiet_p99_ms, P99_WHILE_ASKED)
    yield _at_least("requests answered, of those asked", answered, ANSWERED)


def wan_copy_goals(
    title: str, line: tuple[int, int], ours: float, tuned: float | None, local: float | None
) -> Iterator[Goal]:
    """Goals of one long line (milliseconds, Mbit/s or 0); rates in megabytes a second."""
    round_trip_ms, mbit = line
    if mbit:
        yield _at_least(f"{title}: speed, of the line", ours / (mbit / 8), SHARE_OF_LINE)
        return
    if tuned and round_trip_ms >= LONG_MS:
        yield _at_least(f"{title}: speed, of tuned MirrorMaker 2", ours / tuned, TIMES_TUNED_FAR)
    if local and round_trip_ms <= LONG_MS:
        yield _at_least(f"{title}: speed, of our own without a line", ours / local, SHARE_OF_LOCAL)


def wan_latency_goals(
    title: str, one_way_ms: float, pushed: bool, ours: Mapping[str, float], tuned: Mapping[str, float] | None
) -> Iterator[Goal]:
    """Goals of one long line; `pushed`: the mirror is beside the source, so a record crosses the line once."""
    if pushed:
        most = one_way_ms + ABOVE_ONE_WAY_MS
        yield Goal(f"{title}: p50", f"at most {most:.0f} ms", f"{ours['p50']:.1f} ms", ours["p50"] <= most)
    for p, most in (tuned or {}).items():
        yield Goal(f"{title}: {p}", f"below MirrorMaker 2's {most:.1f} ms", f"{ours[p]:.1f} ms", ours[p] < most)


def _at_least(what: str, value: float, wanted: float) -> Goal:
    return Goal(what, f"at least {wanted:.2f} x", f"{value:.2f} x", value >= wanted)


def _at_most(what: str, value: float, wanted: float) -> Goal:
    return Goal(what, f"at most {wanted:.2f} x", f"{value:.2f} x", value <= wanted)
