"""`twinlog doctor`: is a link fit for a disaster? Many checks, each with the command that repairs what it finds."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from twinlog.errors import UsageError
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.options import ConfigFile, OptionalLink
from twinlog.surface.cli.output import Form, Output, print_facts, screen

if TYPE_CHECKING:
    from twinlog.doctor.answers import Diagnosis

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "unknown": "magenta"}


def doctor(
    *,
    link: OptionalLink = None,
    config: ConfigFile,
    stretch: Annotated[
        str | None, typer.Option("--stretch", metavar="CLUSTER", help="Judge one cluster over several racks instead.")
    ] = None,
    trip_ms: Annotated[
        float | None, typer.Option("--trip-ms", min=0, help="With --stretch: the round trip between racks.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="One by one, also what is in order.")] = False,
    output: Form = Output.TABLE,
) -> None:
    """Check everything that a disaster would test: rights, limits, retention, replicas, clocks, groups, names, health.

    Nothing is changed on either cluster. Each finding says what was seen, why it matters and a command that repairs it;
    what could not be checked says why. Exit code 1 when a check fails.

    With --stretch a cluster of the file is judged that is stretched over datacenters (racks): replicas and in-sync
    replicas over racks, min.insync.replicas, controllers, follower fetching, and what is lost with each rack.
    """
    from twinlog.config.resolve import load_file
    from twinlog.service import examine_link

    if stretch is not None:
        _stretch(config, stretch, trip_ms, output)
        return
    if link is None:
        raise UsageError("twinlog doctor: name a link, for example 'east->west', or give --stretch CLUSTER")

    of_file = load_file(config).links
    diagnoses = asyncio.run(examine_link(chosen_link(link, config), of_file=of_file))
    if output.for_programs:
        print_facts({"link": link, "checks": [asdict(diagnosis) for diagnosis in diagnoses]}, output)
    else:
        print_diagnoses(link, diagnoses, everything=everything or output is Output.WIDE)
    if any(diagnosis.verdict == "fail" for diagnosis in diagnoses):
        raise typer.Exit(1)


def _stretch(config: Path, cluster: str, trip_ms: float | None, output: Output) -> None:
    from twinlog.config.resolve import load_file
    from twinlog.doctor.stretch import look_at_stretch
    from twinlog.model.topics.stretch import judge_stretch

    links = load_file(config).links
    admins = {link.target: link.clients.target_admin for link in links} | {
        link.source: link.clients.source_admin for link in links
    }
    if cluster not in admins:
        raise UsageError(f"{cluster}: no enabled link has that cluster; there are {', '.join(sorted(admins))}")
    diagnoses = judge_stretch(look_at_stretch(admins[cluster], trip_ms))
    if output.for_programs:
        print_facts({"cluster": cluster, "checks": [diagnosis._asdict() for diagnosis in diagnoses]}, output)
    else:
        console = screen(output)
        for diagnosis in diagnoses:
            line = (
                Text(f"{diagnosis.verdict:7} ", _COLOURS[diagnosis.verdict])
                .append(f"{diagnosis.name}: ", "bold")
                .append(diagnosis.seen)
            )
            console.print(line, soft_wrap=True)
            if diagnosis.way:
                console.print(Text(f"        try: {diagnosis.way}", "dim"), soft_wrap=True)
    if any(diagnosis.verdict == "fail" for diagnosis in diagnoses):
        raise typer.Exit(1)


def print_diagnoses(link: str, diagnoses: list[Diagnosis], *, everything: bool) -> None:
    """For people: the worst first, what is in order only when asked for."""
    from twinlog.doctor.answers import WORST_FIRST

    console = screen()
    for verdict in WORST_FIRST:
        if verdict == "ok" and not everything:
            continue
        chosen = [diagnosis for diagnosis in diagnoses if diagnosis.verdict == verdict]
        if verdict == "unknown" and not everything:
            _print_causes(console, chosen)
            continue
        for diagnosis in chosen:
            _print_diagnosis(console, diagnosis)
    counts = Counter(diagnosis.verdict for diagnosis in diagnoses)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in WORST_FIRST if counts[verdict])
    console.print(Text(f"{link}: {len(diagnoses)} checks: {told}", "bold"))


def _print_causes(console: Console, unknown: list[Diagnosis]) -> None:
    """A cluster that is away leaves dozens of checks open: one line for each cause."""
    causes: dict[str, list[str]] = {}
    for diagnosis in unknown:
        causes.setdefault(diagnosis.seen, []).append(diagnosis.name)
    for cause, names in causes.items():
        line = Text("unknown ", _COLOURS["unknown"]).append(f"{', '.join(names)}: ", "bold").append(cause)
        console.print(line, soft_wrap=True)


def _print_diagnosis(console: Console, diagnosis: Diagnosis) -> None:
    line = (
        Text(f"{diagnosis.verdict:7} ", _COLOURS[diagnosis.verdict])
        .append(f"{diagnosis.name}: ", "bold")
        .append(diagnosis.seen)
    )
    console.print(line, soft_wrap=True)
    if diagnosis.verdict != "ok":
        console.print(Text(f"        {diagnosis.why}", "dim"), soft_wrap=True)
    if diagnosis.remedy:
        console.print(Text("        try: ", "cyan").append(diagnosis.remedy), soft_wrap=True)
