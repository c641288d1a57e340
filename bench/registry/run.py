"""Asks how fast the schema registry answers, writes and starts, and what its gate costs a link."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.goals import Goal
from bench.options import Options
from bench.registry import far, gate, rates, starts
from bench.report import table

from twinlog.local.cluster import LocalCluster


def answer(options: Options) -> str:
    """Run it all, or the parts that are named with `--set`; return the page's section."""
    goals, parts = list[Goal](), list[str]()

    def add(found: tuple[list[Goal], str]) -> None:
        goals.extend(found[0])
        parts.append(found[1])

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.wants_set("rates") or options.wants_set("starts"):
            with LocalCluster("bench", folder / "kafka") as cluster:
                if options.wants_set("rates"):
                    add(rates.answer(options, folder, cluster))
                if options.wants_set("starts"):
                    add(starts.answer(options, folder, cluster))
        if options.wants_set("far"):
            add(far.answer(options, folder))
        if options.wants_set("gate"):
            add(gate.answer(options, folder))
    reached = table(("goal", "wanted", "got", ""), [goal.row for goal in goals])
    return "\n\n".join((reached, *parts))
