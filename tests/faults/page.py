"""bench/results/DATE-faults.md, written anew after every fault from the rows beside it (DATE-faults.jsonl).

The last row of a fault counts. A run that was stopped goes on where it was: faults with a row of the same commit are
not repeated. The first row of a day brings those of the newest earlier page with it, each with its day and commit: the
page shows the whole matrix, and says how old each row is.
"""

from __future__ import annotations

import functools
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
        return list({row.key: row for row in self._all()}.values())

    def beside(self) -> list[Row]:
        """The newest row of each fault with MirrorMaker 2 beside Twinlog; later ones may be without it."""
        return list({row.key: row for row in self._all() if row.peer is not None}.values())

    def _all(self) -> list[Row]:
        days = sorted(file.name.removesuffix(_ENDING) for file in self._folder.glob(f"*{_ENDING}"))
        newest = max((day for day in days if day <= self.day), default=None)
        if newest is None:
            return []
        lines = (self._folder / f"{newest}{_ENDING}").read_text(encoding="utf-8").splitlines()
        return [Row.from_json({"day": newest, **json.loads(line)}) for line in lines if line.endswith("}")]

    def add(self, row: Row, order: Sequence[str]) -> None:
        """Keep a row and write the page anew."""
        rows = self.rows()
        # In this order: the newest row of a fault is the last one.
        kept = [] if self._rows_file.exists() else [*(one for one in self.beside() if one not in rows), *rows]
        with self._rows_file.open("a", encoding="utf-8") as file:
            for one in (*kept, replace(row, day=self.day)):
                file.write(json.dumps(one.to_json()) + "\n")
        self.write(order)

    def write(self, order: Sequence[str]) -> None:
        places = {key: number for number, key in enumerate(order)}
        rows, beside = (
            sorted(found, key=lambda row: places.get(row.key, len(places))) for found in (self.rows(), self.beside())
        )
        run = {row.key for row in rows}
        left = [key for key in order if key not in run]
        self.file.write_text(page(self.day, rows, beside, left), encoding="utf-8")


def commit() -> str:
    """The commit that is under test; a star says that the tree differs from it."""
    head = _git("rev-parse", "--short", "HEAD")
    return head + ("*" if _git("status", "--porcelain", "--", "src", "tests/faults") else "") if head else "unknown"


def page(day: str, rows: Sequence[Row], beside: Sequence[Row] = (), left: Sequence[str] = ()) -> str:
    """The whole page. Rows `beside` are those with MirrorMaker 2; faults that are `left` have no row."""
    red = [row for row in rows if not row.green]
    parts = [
        f"# Faults, {day}",
        _INTRODUCTION,
        listed(_facts(rows)),
        _summary(rows, red, beside),
        _from(rows, day),
        _main_table(rows),
    ]
    if left:
        parts += [f"**{len(left)} faults of the matrix were never run**: {', '.join(left)}."]
    if red:
        parts += ["## Goals that were missed", "\n".join(_truth(row) for row in red)]
    if beside:
        parts += [
            "## MirrorMaker 2 beside it",
            _BESIDE,
            _peer_table(beside),
        ]
    parts += ["## How to read it", _LEGEND]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
Written by `make faults`; the raw rows are in the file of the same name that ends in `.jsonl`. Each fault is injected
under load into real clusters. A checker that knows nothing of Twinlog then reads both clusters completely and compares
them record by record."""

_BESIDE = """\
The same fault at the same time on the same clusters and records, with MirrorMaker 2's defaults. Where the row above is
newer, it was made without MirrorMaker 2; *Twinlog's* is the figure of the run with it."""

_LEGEND = """\
- *stood still*: the longest time that any partition got no record on the target, from the injection until all flowed
  again. *beside*: the same for a topic that the fault was not aimed at.
- *goes on after*: seconds from the end of the fault until a record produced after that end had arrived in every
  partition.
- *named after*: seconds from the moment at which the fault was there until answers of `twinlog status -o json` had
  told the true cause: the state or the code of the fault, and the broker, topic or partition by name. Wanted within
  10 s for every fault; “-” is a fault of which nobody must be told, and no record may stand still for 10 s then.
- *Seen*: what showed that the fault was really there. A fault without effect is a goal that was missed.
- *other load*: so many of the machine's cores other programs used meanwhile, on average. Times of a row with much of
  it are not the mirror's alone; “?”: it was not measured.
- *#n* is the number of a fault in the plan of faults, *Bn* that of a recipe in the review of correctness.
- Goals: 0 lost, 0 doubled, 0 out of order, 0 changed; named in time; goes on without hands; status is healthy again."""


def _facts(rows: Sequence[Row]) -> dict[str, str]:
    return {
        "machine": f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, Java {find_java().version}",
        "clusters": f"two of three brokers each, Kafka {KAFKA_VERSION}, replication factor 3, min.insync.replicas 2, "
        "logs in memory; unless a row says otherwise",
        "mirrors": f"`twinlog run` with real Spark in local mode, MirrorMaker 2 {KAFKA_VERSION} beside it",
        "duration": f"{sum(row.took_s for row in rows) / 60:.0f} minutes for {len(rows)} faults",
    }


def _summary(rows: Sequence[Row], red: Sequence[Row], beside: Sequence[Row]) -> str:
    ours = _sums([row.twinlog for row in rows if not row.proof])
    text = f"**{len(rows) - len(red)} of {len(rows)} faults reached every goal**"
    lax = sum(_lax(row) for row in rows if row.green)
    text += f" ({lax} of them by rules that were lax, see below). Twinlog: {ours}." if lax else f". Twinlog: {ours}."
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


def _from(rows: Sequence[Row], day: str) -> str:
    """How many rows are of this day, and of which commits the others are."""
    today = sum(row.day == day for row in rows)
    gone = sum(not _in_history(row.commit) for row in rows)
    text = f"{today} of {len(rows)} rows are of this day; the column *from* tells of each."
    if gone:
        text += (
            f" {gone} rows are of an earlier state: of commits that are not in the history of this repository, because "
            "they were rebased before they were published."
        )
    lax = sum(_lax(row) for row in rows)
    if lax:
        text += (
            f" {lax} rows are from before every fault had to be named: there a name was asked for only where records "
            "stood still for ten seconds, and any word about brokers was taken. They are marked with “lax”."
        )
    return text


def _main_table(rows: Sequence[Row]) -> str:
    head = (
        "| | fault | what was done | records | lost | doubled | reordered | stood still | beside | goes on after "
        "| what status said | named after | from | other load |\n"
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|--:|---|--:|"
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
            _cell(row.done, _SHOWN) + (f" *Seen: {_cell('; '.join(row.effect), _SHOWN)}.*" if row.effect else ""),
            *(["-"] * len(figures) if row.proof else figures),
            _cell(row.said, _SHOWN),
            _named(row),
            f"{row.day}, {_commit(row)}",
            "?" if row.others is None else f"{row.others:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _peer_table(rows: Sequence[Row]) -> str:
    head = (
        "| fault | records | lost | doubled | reordered | stood still | goes on after | Twinlog's | what happened "
        "| from |\n|---|--:|--:|--:|--:|--:|--:|--:|---|---|"
    )
    lines = [head]
    for row in rows:
        cost = row.peer
        assert cost is not None
        cells = [
            row.title,
            *(f"{count:,}" for count in (cost.records, cost.lost, cost.doubled, cost.reordered)),
            *(_seconds(value) for value in (cost.stood_still_s, cost.goes_on_s, row.twinlog.goes_on_s)),
            _cell(cost.note, _SHOWN),
            f"{row.day}, {_commit(row).removesuffix(', lax')}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _truth(row: Row) -> str:
    notes = f" Notes: {'; '.join(row.notes)}." if row.notes else ""
    run = f"{row.key}, {row.day}, {_commit(row)}{_load(row)}"
    return f"- **{row.title}** ({run}): {'; '.join(row.missed)}. Status: {_cell(row.said, 600)}.{notes}"


def _load(row: Row) -> str:
    return f", beside other load of {row.others} cores" if row.beside_load else ""


def _named(row: Row) -> str:
    if NOT_NAMED in row.missed:
        return "never"
    return "-" if row.named_s is None else _seconds(row.named_s)


def _numbers(row: Row) -> str:
    few = "" if row.brokers == 3 else f" (clusters of {row.brokers})"
    numbers = [f"#{number}" if isinstance(number, int) else number for number in row.matrix]
    return few + (f" ({', '.join(numbers)})" if numbers else "")


def _commit(row: Row) -> str:
    """The commit under test; one that nobody can look up is called what it is."""
    lax = ", lax" if _lax(row) else ""
    return (f"commit {row.commit}" if _in_history(row.commit) else "an earlier state") + lax


def _lax(row: Row) -> bool:
    """Whether a row is from before every fault had to be named and to show its effect."""
    return row.green and not row.proof and not row.effect


@functools.cache
def _in_history(commit_: str) -> bool:
    """Whether a commit is one that leads to the present state. One with changes (a star) is none."""
    return bool(commit_) and _ran("merge-base", "--is-ancestor", commit_, "HEAD").returncode == 0


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f} s"


def _cell(text: str, limit: int) -> str:
    plain = " ".join(text.replace("|", "/").split())
    return plain if len(plain) <= limit else plain[:limit] + "…"


def _git(*arguments: str) -> str:
    return _ran(*arguments).stdout.strip()


def _ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).parent.parent.parent
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=here)
