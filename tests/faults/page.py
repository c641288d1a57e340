"""bench/results/DATE-faults.md, written anew after every fault from the rows beside it (DATE-faults.jsonl).

The last row of a fault counts. A run that was stopped goes on where it was: faults with a row of the same commit are
not repeated. The first row of a day brings those of the newest earlier page with it, each with its day and commit: the
page shows the whole matrix, and says how old each row is.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil
from bench.report import RESULTS, listed
from tests.faults.row import NOT_NAMED, Cost, Row

from twinlog.local.jars import KAFKA_VERSION
from twinlog.machine.java import find_java

_SHOWN = 170


_ENDING = "-faults.jsonl"


class Page:
    """The rows of one day, and what is kept of earlier ones."""

    def __init__(self, folder: Path = RESULTS, day: str | None = None) -> None:
        self.day = day or time.strftime("%Y-%m-%d")
        self._folder = folder
        self._rows_file = folder / f"{self.day}{_ENDING}"
        self.file = folder / f"{self.day}-faults.md"

    def rows(self) -> list[Row]:
        """The newest row of each fault, in the order in which they were first run."""
        days = sorted(file.name.removesuffix(_ENDING) for file in self._folder.glob(f"*{_ENDING}"))
        newest = max((day for day in days if day <= self.day), default=None)
        if newest is None:
            return []
        lines = (self._folder / f"{newest}{_ENDING}").read_text(encoding="utf-8").splitlines()
        found = [Row.from_json({"day": newest, **json.loads(line)}) for line in lines if line.endswith("}")]
        return list({row.key: row for row in found}.values())

    def add(self, row: Row, order: Sequence[str]) -> None:
        """Keep a row and write the page anew."""
        kept = [] if self._rows_file.exists() else self.rows()
        with self._rows_file.open("a", encoding="utf-8") as file:
            for one in (*kept, replace(row, day=self.day)):
                file.write(json.dumps(one.to_json()) + "\n")
        self.write(order)

    def write(self, order: Sequence[str]) -> None:
        places = {key: number for number, key in enumerate(order)}
        rows = sorted(self.rows(), key=lambda row: places.get(row.key, len(places)))
        run = {row.key for row in rows}
        left = [key for key in order if key not in run]
        self.file.write_text(page(self.day, rows, left), encoding="utf-8")


def commit() -> str:
    """The commit that is under test; a star says that the tree differs from it."""
    head = _git("rev-parse", "--short", "HEAD")
    return head + ("*" if _git("status", "--porcelain", "--", "src", "tests/faults") else "") if head else "unknown"


def page(day: str, rows: Sequence[Row], left: Sequence[str] = ()) -> str:
    """The whole page. Faults that are `left` have no row."""
    red = [row for row in rows if not row.green]
    beside = [row for row in rows if row.peer is not None]
    parts = [
        f"# Faults, {day}",
        _INTRODUCTION,
        listed(_facts(rows)),
        _summary(rows, red, beside),
        *([kept] if (kept := _kept(rows, day)) else []),
        _main_table(rows, day),
    ]
    if left:
        parts += [f"**{len(left)} faults of the matrix were never run**: {', '.join(left)}."]
    if red:
        parts += ["## Goals that were missed", "\n".join(_truth(row) for row in red)]
    if beside:
        parts += [
            "## MirrorMaker 2 beside it",
            "The same fault at the same time on the same clusters and records, with MirrorMaker 2's defaults.",
            _peer_table(beside),
        ]
    parts += ["## How to read it", _LEGEND]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
Written by `make faults`; the raw rows are in the file of the same name that ends in `.jsonl`. Each fault is injected
under load into real clusters. A checker that knows nothing of Twinlog then reads both clusters completely and compares
them record by record."""

_LEGEND = """\
- *stood still*: the longest time that any partition got no record on the target, from the injection until all flowed
  again. *beside*: the same for a topic that the fault was not aimed at.
- *goes on after*: seconds from the end of the fault until a record produced after that end had arrived in every
  partition.
- *named after*: seconds from the injection until an answer of `twinlog status -o json` told the true cause. It is
  wanted within 10 s when records stood still for longer than 10 s; “-” means that nobody had to be told.
- *beside other load*: other programs used that many of the machine's cores meanwhile, on average. Times of such a row
  are not the mirror's alone.
- Goals: 0 lost, 0 doubled, 0 out of order, 0 changed; named in time; goes on without hands; status is healthy again."""


def _facts(rows: Sequence[Row]) -> dict[str, str]:
    commits = sorted({row.commit for row in rows})
    return {
        "machine": f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, Java {find_java().version}",
        "clusters": f"two of three brokers each, Kafka {KAFKA_VERSION}, replication factor 3, min.insync.replicas 2, "
        "logs in memory; unless a row says otherwise",
        "mirrors": f"`twinlog run` with real Spark in local mode, MirrorMaker 2 {KAFKA_VERSION} beside it",
        "commits": ", ".join(commits) + " (a star: with changes that were not committed)",
        "duration": f"{sum(row.took_s for row in rows) / 60:.0f} minutes for {len(rows)} faults",
    }


def _summary(rows: Sequence[Row], red: Sequence[Row], beside: Sequence[Row]) -> str:
    ours = _sums([row.twinlog for row in rows if not row.proof])
    text = f"**{len(rows) - len(red)} of {len(rows)} faults reached every goal.** Twinlog: {ours}."
    if beside:
        theirs = _sums([row.peer for row in beside if row.peer is not None])
        text += f" MirrorMaker 2, in the {len(beside)} faults that it can run beside: {theirs}."
    return text


def _sums(costs: Sequence[Cost]) -> str:
    records = sum(cost.records for cost in costs)
    counts = (sum(getattr(cost, what) for cost in costs) for what in ("lost", "doubled", "reordered", "changed"))
    lost, doubled, reordered, changed = counts
    never = sum(cost.goes_on_s is None for cost in costs)
    text = f"{records:,} records, {lost:,} lost, {doubled:,} doubled, {reordered:,} out of order, {changed:,} changed"
    return text + (f"; did not go on {never} times" if never else "")


def _kept(rows: Sequence[Row], day: str) -> str:
    """How many rows are not of this day."""
    older = [row for row in rows if row.day != day]
    if not older:
        return ""
    return (
        f"{len(rows) - len(older)} rows are of this day. {len(older)} rows were not repeated: they are of "
        f"{min(row.day for row in older)} or later, with the commit of that time, as their last column says."
    )


def _main_table(rows: Sequence[Row], day: str) -> str:
    head = (
        "| | fault | what was done | records | lost | doubled | reordered | stood still | beside | goes on after "
        "| what status said | named after | commit |\n|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|--:|---|"
    )
    lines = [head]
    for row in rows:
        cost = row.twinlog
        figures = [
            *(f"{count:,}" for count in (cost.records, cost.lost, cost.doubled, cost.reordered)),
            *(_seconds(value) for value in (cost.stood_still_s, cost.beside_still_s, cost.goes_on_s)),
        ]
        cells = [
            "ok" if row.green else "**MISSED**",
            _cell(f"{row.title}{_numbers(row)}", _SHOWN),
            _cell(row.done, _SHOWN),
            *(["-"] * len(figures) if row.proof else figures),
            _cell(row.said, _SHOWN),
            _named(row),
            row.commit if row.day == day else f"{row.commit}, {row.day}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _peer_table(rows: Sequence[Row]) -> str:
    head = "| fault | records | lost | doubled | reordered | stood still | goes on after | Twinlog's | what happened |"
    lines = [f"{head}\n|---|--:|--:|--:|--:|--:|--:|--:|---|"]
    for row in rows:
        cost = row.peer
        assert cost is not None
        cells = [
            row.title,
            *(f"{count:,}" for count in (cost.records, cost.lost, cost.doubled, cost.reordered)),
            *(_seconds(value) for value in (cost.stood_still_s, cost.goes_on_s, row.twinlog.goes_on_s)),
            _cell(cost.note, _SHOWN),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _truth(row: Row) -> str:
    notes = f" Notes: {'; '.join(row.notes)}." if row.notes else ""
    run = f"{row.key}, {row.commit}{_load(row)}"
    return f"- **{row.title}** ({run}): {'; '.join(row.missed)}. Status: {_cell(row.said, 600)}.{notes}"


def _load(row: Row) -> str:
    return f", beside other load of {row.others} cores" if row.beside_load else ""


def _named(row: Row) -> str:
    if NOT_NAMED in row.missed:
        return "never"
    return "-" if row.named_s is None else _seconds(row.named_s)


def _numbers(row: Row) -> str:
    few = "" if row.brokers == 3 else f" (clusters of {row.brokers})"
    few += f" (beside other load: {row.others} cores)" if row.beside_load else ""
    few += " (other load was not measured)" if row.others is None else ""
    return few + (f" ({', '.join(f'#{number}' for number in row.matrix)})" if row.matrix else "")


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f} s"


def _cell(text: str, limit: int) -> str:
    plain = " ".join(text.replace("|", "/").split())
    return plain if len(plain) <= limit else plain[:limit] + "…"


def _git(*arguments: str) -> str:
    ran = subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent.parent
    )
    return ran.stdout.strip()
