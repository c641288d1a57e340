"""`twinlog drill`: rehearse a disaster without touching production, and keep the report as evidence."""

from __future__ import annotations

import asyncio
import re
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from twinlog.drill.reports import Reports
from twinlog.errors import UsageError
from twinlog.machine.folders import state_folder
from twinlog.model.wanted import Wanted
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.options import OptionalConfigFile, OptionalLink
from twinlog.surface.cli.output import Form, Output, print_facts, screen
from twinlog.surface.cli.words import duration, number

if TYPE_CHECKING:
    from twinlog.drill.outcome import Kind

_CRON_FIELD: Final = re.compile(r"[0-9A-Za-z*/,-]+")
_COLOURS = {"passed": "green", "passed with remarks": "yellow", "failed": "red"}
_SHOWN: Final = 20
_DOES: Final = {
    "paper": "the plans of a failover would be made and the doctor asked; nothing is written to either cluster",
    "shadow": "throw-away groups would read on the target from the translated positions, be compared and deleted",
    "canary": "a topic and a group of the drill's own would be made, failed over and back, and deleted on both sides",
}


def drill(
    link: OptionalLink = None,
    *,
    config: OptionalConfigFile = None,
    paper: Annotated[bool, typer.Option("--paper", help="The plan of a switch, its risks, readiness checks.")] = False,
    shadow: Annotated[bool, typer.Option("--shadow", help="A copy of each group starts on the target.")] = False,
    canary: Annotated[bool, typer.Option("--canary", help="A topic of the drill's own fails over and back.")] = False,
    groups: Annotated[
        str | None, typer.Option("--groups", help="With --shadow: groups whose whole name matches. Default: all.")
    ] = None,
    records: Annotated[
        int, typer.Option("--records", min=1, help="With --shadow: offsets to compare per partition.")
    ] = 200,
    report: Annotated[
        Path | None, typer.Option("--report", help="The chained reports; default: drills.jsonl in Twinlog's state.")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option("--schedule", metavar="CRON", help="Print the crontab line that repeats this drill.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Only verify the chain of reports.")] = False,
    master: Annotated[str | None, typer.Option("--master", help="With --canary: Spark master. Default: local.")] = None,
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Rehearse a disaster. Production topics, groups and clients are not touched.

    --paper changes nothing at all: it makes the plan of a failover, names what is at risk and asks the doctor.
    --shadow lets a throw-away copy of each group start on the target from its translated position, and compares what it
    reads with the source: would it skip a record, or read one twice? --canary takes a topic of its own over and back
    with the real steps and measures the recovery time.

    Every drill adds one line to a file of reports; each holds the hash of the one before, so `--check` (with a link:
    also against the hash in its ledger) proves that none was changed or left out. Exit code 1 when the drill failed or
    the chain is broken.
    """
    path = report or state_folder() / "drills.jsonl"
    if check:
        _check(path, link, config, output)
        return
    if link is None or config is None:
        raise UsageError("drill: name the link and its file: twinlog drill LINK -c FILE --paper | --shadow | --canary")
    kind = _kind(paper, shadow, canary)
    if schedule is not None:
        typer.echo(_crontab(schedule, link, config, kind, path))
        return
    from twinlog.config.pair import load_pair
    from twinlog.service import SparkPlace, drills, scratch_folder
    from twinlog.surface.cli.progress import bars

    wanted = Wanted("--groups", groups)
    pair = load_pair(config, link)
    if dry_run:
        would(f"{link}: {_DOES[kind]}", f"{path}: would get one more report")
        return
    with bars() as progress:
        progress.add_task(f"{kind} drill of {link}", total=None, detail="")
        say = partial(progress.console.print, markup=False, soft_wrap=True)
        with drills(pair, SparkPlace(master), path, scratch_folder(), say) as room:
            outcome = asyncio.run(room.run(kind, wanted, records))
    if output.for_programs:
        print_facts(outcome, output)
    else:
        _print(outcome, path, output)
    if outcome["verdict"] == "failed":
        raise typer.Exit(1)


def _kind(paper: bool, shadow: bool, canary: bool) -> Kind:
    chosen: list[Kind] = []
    chosen += ["paper"] if paper else []
    chosen += ["shadow"] if shadow else []
    chosen += ["canary"] if canary else []
    if len(chosen) != 1:
        raise UsageError("drill: say which: --paper, --shadow or --canary")
    return chosen[0]


def _crontab(schedule: str, link: str, config: Path, kind: Kind, path: Path) -> str:
    """The line for crontab: the machine's own scheduler is the one that people watch."""
    fields = schedule.split()
    known = schedule.strip() in {"@hourly", "@daily", "@weekly", "@monthly", "@yearly"}
    if not known and (len(fields) != 5 or not all(_CRON_FIELD.fullmatch(field) for field in fields)):
        raise UsageError(f"--schedule: `{schedule}` is no crontab schedule; five fields, e.g. `0 4 * * 1`, or @daily")
    words = ["twinlog", "drill", link, "-c", str(config.absolute()), f"--{kind}", "--report", str(path.absolute())]
    # In a crontab a percent sign ends the command.
    return f"{schedule.strip()} {shlex.join(words)}".replace("%", r"\%")


def _check(path: Path, link: str | None, config: Path | None, output: Output) -> None:
    reports, last = Reports(path), None
    if link is not None and config is not None:
        from twinlog.config.pair import load_pair
        from twinlog.service import SparkPlace, drills, scratch_folder

        with drills(load_pair(config, link), SparkPlace(), path, scratch_folder()) as room:
            last = asyncio.run(room.last_hash())
    lines, broken = reports.read(), reports.breaks(last)
    if output.for_programs:
        answer = {"file": str(path), "reports": len(lines), "breaks": [vars(fault) for fault in broken], "ledger": last}
        print_facts(answer, output)
    elif not lines and not broken:
        typer.echo(f"{path}: there are no reports; `twinlog drill LINK --paper` makes the first", err=True)
    elif broken:
        for fault in broken:
            typer.echo(f"{path}: {fault}")
    else:
        typer.echo(f"{path}: {len(lines)} reports, an unbroken chain" + (", and the ledger agrees" if last else ""))
    if broken or not lines:
        raise typer.Exit(1)


def _print(report: dict[str, Any], path: Path, output: Output) -> None:
    console = screen(output)
    most = None if output is Output.WIDE else _SHOWN
    console.print(
        Text(f"{report['link']}: {report['kind']} drill: ", "bold").append(
            report["verdict"], _COLOURS[report["verdict"]]
        )
    )
    rpo = report["rpo"]
    console.print(f"  at risk now: {number(rpo['records'])} records, {duration(rpo['seconds'])}", highlight=False)
    if report["rto_seconds"] is not None:
        kept = f", objective {report['rto_kept']}" if report["rto_kept"] else ""
        console.print(
            f"  recovery time: {duration(report['rto_seconds'])}{kept} ({report['rto_covers']})", highlight=False
        )
    for step in report["steps"]:
        console.print(Text(f"  {step['seconds']:8.2f} s  {step['step']}  ").append(step["says"], "dim"), soft_wrap=True)
    _print_plan(console, report)
    for title, colour in (("failures", "red"), ("remarks", "yellow")):
        for line in report[title][:most]:
            console.print(Text(f"  {title[:-1]}: {line}", colour), soft_wrap=True)
        if most is not None and len(report[title]) > most:
            console.print(Text(f"  and {len(report[title]) - most} more {title} in the report", colour))
    console.print(Text(f"  report {report['number']} in {path}, hash {report['hash'][:16]}…", "dim"), soft_wrap=True)


def _print_plan(console: Console, report: dict[str, Any]) -> None:
    for command in ("failover-planned", "failover-unplanned"):
        plan = report["facts"].get(command)
        if plan is None:
            continue
        console.print(Text(f"  {command}", "bold"))
        for count, step in enumerate(plan["steps"], 1):
            console.print(Text(f"    {count}. {step['title']}"), soft_wrap=True)
    if (readiness := report["facts"].get("readiness")) is not None:
        checks = report["facts"]["checks"]
        good = sum(verdict == "ok" for verdict in checks.values())
        console.print(f"  readiness: {readiness}% ({good} of {len(checks)} checks are in order)", highlight=False)
    # A drill that could not begin has compared nothing.
    if report["kind"] == "shadow" and (facts := report["facts"]):
        console.print(
            f"  {facts['groups']} groups, {facts['partitions']} partitions, "
            f"{facts['records_compared']:,} records compared",
            highlight=False,
        )
