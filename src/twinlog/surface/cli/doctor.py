"""`twinlog doctor`: is a link fit for a disaster? Many checks, each with the command that mends what it finds."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from twinlog.doctor.answers import WORST_FIRST, Diagnosis
from twinlog.service import examine_link
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Output

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "unknown": "magenta"}


def doctor(
    link: LinkArgument,
    config: ConfigFile,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also show what is in order, one by one.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="table or json")] = Output.TABLE,
) -> None:
    """Check everything that a disaster would test: rights, limits, retention, replicas, clocks, groups, names, health.

    Nothing is changed on either cluster. Each finding says what was seen, why it matters and the command that mends it;
    what could not be checked says why. Exit code 1 when a check fails.
    """
    found = asyncio.run(examine_link(chosen_link(link, config)))
    if output is Output.JSON:
        typer.echo(json.dumps({"link": link, "checks": [asdict(one) for one in found]}, indent=2))
    else:
        _print(link, found, everything)
    if any(one.verdict == "fail" for one in found):
        raise typer.Exit(1)


def _print(link: str, found: list[Diagnosis], everything: bool) -> None:
    console = Console()
    for verdict in WORST_FIRST:
        if verdict == "ok" and not everything:
            continue
        for one in found:
            if one.verdict == verdict:
                _print_one(console, one)
    counts = Counter(one.verdict for one in found)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in WORST_FIRST if counts[verdict])
    console.print(Text(f"{link}: {len(found)} checks: {told}", "bold"))


def _print_one(console: Console, one: Diagnosis) -> None:
    line = Text(f"{one.verdict:7} ", _COLOURS[one.verdict]).append(f"{one.name}: ", "bold").append(one.seen)
    console.print(line, soft_wrap=True)
    if one.verdict != "ok":
        console.print(Text(f"        {one.why}", "dim"), soft_wrap=True)
    if one.mend:
        console.print(Text("        try: ", "cyan").append(one.mend), soft_wrap=True)
