"""`twinlog failover`, `twinlog failback` and `twinlog switch`: the switch between the two sides of a link."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from twinlog.errors import SwitchRefused, SwitchRunning, UsageError
from twinlog.surface.cli.effects import DryRun, Yes, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output
from twinlog.surface.cli.switch_course import Course
from twinlog.surface.cli.switch_view import name_of, print_plan, print_report, print_standing

if TYPE_CHECKING:
    from twinlog.model.switch.log import Command
    from twinlog.recovery.report import Report
    from twinlog.recovery.switching import Switching

T = TypeVar("T")

Folder = Annotated[Path, typer.Option(help="Where the local journal, exports and reports go.")]
Master = Annotated[str | None, typer.Option(help="Spark master for copying back. Default: on this machine.")]
FOLDER = Path("twinlog-switch")

app = Commands("State of a switch; resume or abort an interrupted one.")


def failover(
    link: LinkArgument,
    config: ConfigFile,
    *,
    planned: Annotated[bool, typer.Option("--planned", help="The source lives: drain it first, lose nothing.")] = False,
    unplanned: Annotated[
        bool, typer.Option("--unplanned", help="The source is lost: continue with what was copied.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    folder: Folder = FOLDER,
    output: Form = Output.TABLE,
) -> None:
    """Make the target of a link the active side.

    Each step is written to a journal on the target (topic __twinlog-switch) and to a file. After a crash the
    same command, or `twinlog switch resume`, continues where it stopped.
    """
    if planned == unplanned:
        raise UsageError("failover: say either --planned (the source lives) or --unplanned (it is lost)")
    command: Command = "failover-planned" if planned else "failover-unplanned"
    _switch(link, config, command, folder, output, dry_run=dry_run, yes=yes)


def failback(
    link: LinkArgument,
    config: ConfigFile,
    *,
    delta: Annotated[bool, typer.Option("--delta", help="Its data survived: copy only what is new.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Its data is lost: delete the rest, copy everything.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    folder: Folder = FOLDER,
    master: Master = None,
    output: Form = Output.TABLE,
) -> None:
    """Make the source of a link the active side again, after a failover.

    With --delta records that the old primary has and the other side never got are found, exported and, by
    `switch.tail`, appended or left. With --full the mirrored topics of the source are deleted and copied again.
    """
    if delta == full:
        raise UsageError("failback: say either --delta (the data of the source survived) or --full (it is lost)")
    command: Command = "failback-delta" if delta else "failback-full"
    _switch(link, config, command, folder, output, dry_run=dry_run, yes=yes, master=master)


@app.command()
def status(link: LinkArgument, config: ConfigFile, output: Form = Output.TABLE) -> None:
    """Show which side is active, what each link may do, and all switches. Exit code 1 while one is open."""
    standing = _within(link, config, FOLDER, lambda switch: switch.standing())
    print_standing(link, standing, output)
    if standing.open is not None:
        raise typer.Exit(1)


@app.command()
def resume(
    link: LinkArgument,
    config: ConfigFile,
    *,
    dry_run: DryRun = False,
    folder: Folder = FOLDER,
    master: Master = None,
    output: Form = Output.TABLE,
) -> None:
    """Continue an interrupted switch at the step where it stopped."""
    if dry_run:
        _preview(link, config, folder, output, "would continue")
        return
    report = _within(link, config, folder, lambda switch: switch.resume(), Course("resume", output), master=master)
    print_report(report, output, str(folder))


@app.command()
def abort(
    link: LinkArgument,
    config: ConfigFile,
    *,
    dry_run: DryRun = False,
    folder: Folder = FOLDER,
    output: Form = Output.TABLE,
) -> None:
    """Abort an open switch: producers may write again and the link continues. Refused once a side was made active."""
    if dry_run:
        _preview(link, config, folder, output, "would be given up")
        return
    report = _within(link, config, folder, lambda switch: switch.abort(), Course("abort", output))
    print_report(report, output, str(folder))


@app.command()
def sign(
    link: LinkArgument,
    config: ConfigFile,
    *,
    dry_run: DryRun = False,
    yes: Yes = False,
    folder: Folder = FOLDER,
) -> None:
    """Sign the decision that holds with switch.secret, on both clusters. From then on only signed ones count."""

    async def work(switching: Switching) -> None:
        entry = await switching.sign(dry_run=True)
        held = [name for name, mode in entry.links.items() if mode != "copying"]
        what = f"{entry.active} is the active side" + (f", {', '.join(held)} held" if held else "")
        if dry_run:
            would(f"sign on both clusters: {what}")
            return
        typer.echo(f"The decision that holds: {what}.")
        if not yes:
            _confirm(link, "signature")
        await switching.sign()
        typer.echo("It is signed. Start every service of the pair with the same switch.secret.")

    _within(link, config, folder, work, Course("sign", Output.TABLE))


def _switch(
    link: str,
    config: Path,
    command: Command,
    folder: Path,
    output: Output,
    *,
    dry_run: bool,
    yes: bool,
    master: str | None = None,
) -> None:
    async def work(switching: Switching) -> Report | None:
        try:
            facts, plan = await switching.plan(command)
        except SwitchRunning:
            standing = await switching.standing()
            if dry_run or standing.open is None or standing.open.claim.command != command:
                raise
            return await switching.resume()
        if dry_run or not (yes and output.for_programs):
            print_plan(facts, plan, output)
        if dry_run:
            return None
        if not yes:
            _confirm(link, name_of(command))
        return await switching.execute(plan)

    report = _within(link, config, folder, work, Course(name_of(command), output), master=master)
    if report is not None:
        print_report(report, output, str(folder))


def _preview(link: str, config: Path, folder: Path, output: Output, what: str) -> None:
    """Show the open switch, and what would become of it."""
    standing = _within(link, config, folder, lambda switch: switch.standing())
    if standing.open is None:
        raise SwitchRefused(link, "no switch is open", f"`twinlog switch status {link}` shows the last one.")
    steps = standing.open.claim.options.get("steps", ())
    left = [step for step in steps if not standing.open.is_done(step)]
    print_standing(link, standing, output)
    name = f"{name_of(standing.open.claim.command)} {standing.open.id}"
    would(f"{link}: {name} {what}; steps not done: {', '.join(left) or 'none'}")


def _confirm(link: str, action: str) -> None:
    """Typed, not clicked: the name of the link is what makes a hand stop."""
    said = typer.prompt(f"Type {link} to begin the {action}", default="", show_default=False, err=True)
    if not sys.stdin.isatty():
        typer.echo(err=True)  # nobody pressed Enter, so the line has not ended
    if said.strip() != link:
        raise UsageError(f"{link}: not confirmed, nothing was changed; type the name, or give --yes")


def _within(
    link: str,
    config: Path,
    folder: Path,
    work: Callable[[Switching], Coroutine[Any, Any, T]],
    course: Course | None = None,
    *,
    master: str | None = None,
) -> T:
    from twinlog.config.pair import load_pair
    from twinlog.service import SparkPlace, scratch_folder, switching

    pair = load_pair(config, link)
    scratch = scratch_folder()
    try:
        with (
            course or Course("switch", Output.TABLE) as on_event,
            switching(pair, SparkPlace(master), folder.absolute(), scratch, on_event) as switch,
        ):
            return asyncio.run(work(switch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
