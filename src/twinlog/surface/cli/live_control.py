"""`twinlog link limit | pause-topic | resume-topic`: orders to a link while it runs, which survive restarts."""

from __future__ import annotations

import asyncio
import getpass
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from twinlog.errors import SelectionEmpty, UsageError
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.names import TopicPartition
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, print_facts
from twinlog.surface.cli.words import size

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinlog.ledger.view import LedgerView
    from twinlog.model.ledger.control import Control

_Chosen: TypeAlias = tuple[list[str], list[TopicPartition]]
Topics = Annotated[list[str], typer.Argument(help="Names of topics of the source.")]
Partitions = Annotated[list[int] | None, typer.Option("--partition", "-p", min=0, help="Only these; repeat it.")]


def limit(
    *,
    link: LinkArgument,
    rate: Annotated[str, typer.Argument(help="Bytes a second, `none`, or `file` for what the settings file says.")],
    config: ConfigFile,
    schedule: Annotated[
        str, typer.Option("--schedule", help="By time of day (UTC), e.g. '08:00-18:00=5000000; 18:00-22:00=0'.")
    ] = "",
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Limit how many bytes a second a running link reads from the source. It takes effect within a second.

    The order is kept in the ledger on the target, so it holds after a restart. Outside of the windows of --schedule the
    plain limit holds.
    """
    from twinlog.model.ledger.control import parse_schedule

    words = {"none": 0, "file": None}
    if rate not in words and not rate.isdecimal():
        raise UsageError(f"{rate}: allowed is a number of bytes, none, or file")
    try:
        windows = parse_schedule(schedule)
    except ValueError as error:
        raise UsageError(f"--schedule: {error}") from None
    wanted = words[rate] if rate in words else int(rate)
    _order(link, config, lambda now, _: replace(now, bytes_per_second=wanted, schedule=windows), dry_run, output)


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

    def change(now: Control, view: LedgerView) -> Control:
        return now.with_paused(*_chosen(link, view, topics, partition))

    _order(link, config, change, dry_run, output)


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

    def change(now: Control, view: LedgerView) -> Control:
        return now.with_resumed(*_chosen(link, view, topics, partition))

    _order(link, config, change, dry_run, output)


def _chosen(link: str, view: LedgerView, topics: list[str], numbers: list[int] | None) -> _Chosen:
    for topic in topics:
        known = view.roster.get(topic)
        if known is None:
            near = f"it mirrors: {', '.join(sorted(view.roster)[:10]) or 'none yet'}"
            raise SelectionEmpty(topic, f"the topics that {link} mirrors", near)
        if missing := [number for number in numbers or () if number >= known.partitions]:
            raise UsageError(f"{topic}: it has {known.partitions} partitions; there is no {missing[0]}")
    if not numbers:
        return topics, []
    return [], [TopicPartition(topic, number) for topic in topics for number in numbers]


def _order(
    link: str, config: Path, change: Callable[[Control, LedgerView], Control], dry_run: bool, output: Output
) -> None:
    from twinlog.service.actions import order_control

    def signed(now: Control, view: LedgerView) -> Control:
        return replace(change(now, view), by=getpass.getuser(), at_ms=SYSTEM_CLOCK.now_ms())

    before, after = asyncio.run(order_control(chosen_link(link, config), signed, dry_run=dry_run))
    if output.for_programs:
        print_facts({"link": link, "before": before.body(), "after": after.body(), "changed": after != before}, output)
    elif dry_run:
        would(f"{link}: would be: {told(after)}")
    else:
        note = "" if after != before else " (as before)"
        typer.echo(f"{link}: {told(after)}{note}; a running engine follows within seconds.")


def told(control: Control) -> str:
    """Say an order in one line."""
    if control.bytes_per_second is None:
        said = "limit as in the settings file"
    else:
        said = "no limit" if not control.bytes_per_second else f"at most {size(control.bytes_per_second)}/s"
    if control.schedule:
        said += f", by time of day (UTC) {'; '.join(map(str, control.schedule))}"
    return said + (f"; paused: {', '.join(control.held)}" if control.held else "; nothing is paused")
