"""`twinlog link limit | first | pause-topic | resume-topic | control`: orders to a link while it runs.

They are kept in the ledger on the target, so they hold after a restart.
"""

from __future__ import annotations

import asyncio
import getpass
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twinlog.errors import ClusterError, UsageError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, print_facts
from twinlog.surface.cli.words import duration, size

if TYPE_CHECKING:
    from twinlog.config.settings import LinkSettings
    from twinlog.ledger.view import LedgerView
    from twinlog.model.health.states import LinkStatus
    from twinlog.model.ledger.control import Control
    from twinlog.surface.answers.control import ControlAnswer

Topics = Annotated[list[str], typer.Argument(help="Names of topics of the source.")]
Partitions = Annotated[list[int] | None, typer.Option("--partition", "-p", min=0, help="Only these; repeat it.")]
_WORDS = {"none": 0, "file": None}


def limit(
    *,
    link: LinkArgument,
    rate: Annotated[str, typer.Argument(help="Bytes a second, `none`, or `file` for what the settings file says.")],
    config: ConfigFile,
    records: Annotated[str, typer.Option("--records", help="Records a second, `none` or `file`.")] = "file",
    schedule: Annotated[
        str,
        typer.Option("--schedule", help="By time of day (UTC), e.g. '08:00-18:00=5000000; 22:00-06:00=none'."),
    ] = "",
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Limit how many bytes and records a second a running link reads from the source.

    It takes effect within a second, and holds after a restart. The answer says when the link will have caught up.
    Outside of the windows of --schedule the plain limits hold. With --dry-run it only shows the cost.
    """
    wish = {"bytes_per_second": _amount(rate), "records_per_second": _amount(records), "schedule": schedule}
    _order(link, config, wish, dry_run, output)


def first(
    *,
    link: LinkArgument,
    topics: Annotated[
        list[str], typer.Argument(help="Expressions over topics, `none`, or `file` for what the settings file says.")
    ],
    config: ConfigFile,
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Copy some topics before all others while they are behind.

    They have connections of their own. The other topics are read slowly until these have caught up.
    """
    words: dict[str, list[str] | None] = {"none": [], "file": None}
    wanted = words[topics[0]] if len(topics) == 1 and topics[0] in words else topics
    _order(link, config, {"first": wanted}, dry_run, output)


def pause_topic(
    *,
    link: LinkArgument,
    topics: Topics,
    config: ConfigFile,
    partition: Partitions = None,
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Stop copying topics, or partitions of them, while the rest of the link continues. It survives restarts.

    What is paused is not on the target: a failover would lose it, and `twinlog doctor` fails while anything is paused.
    """
    _order(link, config, {"pause": _places(topics, partition)}, dry_run, output)


def resume_topic(
    *,
    link: LinkArgument,
    topics: Topics,
    config: ConfigFile,
    partition: Partitions = None,
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Copy paused topics, or partitions of them, again: from where they stopped."""
    _order(link, config, {"resume": _places(topics, partition)}, dry_run, output)


def control(*, link: LinkArgument, config: ConfigFile, output: Form = Output.TABLE) -> None:
    """Show what was ordered for a running link, the limits of this moment, and when it will have caught up."""
    chosen = chosen_link(link, config)
    status = asyncio.run(_look(chosen))
    _tell(chosen, status.control, status, output)


def _amount(text: str) -> int | None:
    if text not in _WORDS and not text.isdecimal():
        raise UsageError(f"{text}: allowed is a number a second, none, or file")
    return _WORDS[text] if text in _WORDS else int(text)


def _places(topics: list[str], numbers: list[int] | None) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": number} for topic in topics for number in numbers or (None,)]


async def _look(link: LinkSettings) -> LinkStatus:
    from twinlog.service.questions import observer

    observing = observer(link)
    await observing.look()
    await asyncio.sleep(1.0)  # the speed is the difference of two looks
    return await observing.look()


def _order(link: str, config: Path, wish: dict[str, Any], dry_run: bool, output: Output) -> None:
    from twinlog.service.actions import order_control
    from twinlog.surface.answers.control import ControlWish

    chosen, wanted = chosen_link(link, config), ControlWish.model_validate(wish)

    def change(now: Control, view: LedgerView) -> Control:
        return replace(wanted.applied(link, now, view), by=getpass.getuser(), at_ms=SYSTEM_CLOCK.now_ms())

    before, after = asyncio.run(order_control(chosen, change, dry_run=dry_run))
    try:
        status = asyncio.run(_look(chosen))
    except ClusterError as error:  # what was ordered holds; only its cost cannot be told
        typer.echo(f"{link}: {told(after)}. What it costs is unknown: {error}", err=True)
        return
    _tell(chosen, after, status, output, changed=after != before, dry_run=dry_run)


def _tell(
    link: LinkSettings,
    control: Control,
    status: LinkStatus,
    output: Output,
    *,
    changed: bool | None = None,
    dry_run: bool = False,
) -> None:
    from twinlog.surface.answers.control import control_answer

    answer = control_answer(link, control, status, changed=bool(changed) and not dry_run)
    if output.for_programs:
        print_facts(answer.model_dump(), output)
        return
    line = f"{link.name}: {told(control)}"
    if dry_run:
        would(f"{link.name}: would be: {told(control)}")
    elif changed is None:
        typer.echo(line)
    else:
        typer.echo(f"{line}{'' if changed else ' (as before)'}; a running engine follows within seconds.")
    typer.echo(cost_line(answer))


def cost_line(answer: ControlAnswer) -> str:
    """Say in one line what an order costs."""
    cost, now = answer.cost, answer.now
    rates = [f"{size(now.bytes_per_second)}/s"] if now.bytes_per_second else []
    rates += [f"{now.records_per_second:,.0f} records/s"] if now.records_per_second else []
    said = f"limit now: {' and '.join(rates) or 'none'}; {cost.says}"
    if cost.caught_up_seconds:
        said += f": in about {duration(cost.caught_up_seconds)}"
    if cost.left_records is not None:
        said += f" ({cost.left_records:,} records are left"
        if cost.arriving_records_per_second is not None:
            said += f", {cost.arriving_records_per_second:,.0f} arrive a second"
        said += ")"
    return said + "."


def told(control: Control) -> str:
    """Say an order in one line."""
    limits = [f"at most {size(control.bytes_per_second)}/s"] if control.bytes_per_second else []
    limits += [f"at most {control.records_per_second:,} records/s"] if control.records_per_second else []
    if (control.bytes_per_second, control.records_per_second) == (None, None):
        said = "limits as in the settings file"
    else:
        said = " and ".join(limits) or "no limit"
    if control.schedule:
        said += f", by time of day (UTC) {'; '.join(map(str, control.schedule))}"
    if control.first is not None:
        said += f"; first: {', '.join(control.first) or 'no topic'}"
    return said + (f"; paused: {', '.join(control.held)}" if control.held else "; nothing is paused")
