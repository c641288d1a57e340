"""`twinlog diff`: what is not the same on both ends of a link, asked of the clusters themselves."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from twinlog.model.wanted import Wanted
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, print_facts, screen

if TYPE_CHECKING:
    from twinlog.model.topics.link_diff import LinkDiff


def diff(
    link: LinkArgument,
    config: ConfigFile,
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", help="Only source topics whose whole name this expression matches.")
    ] = None,
    output: Form = Output.TABLE,
) -> None:
    """Show what differs between both ends, and why: topics, partitions, configs, ACLs, deletions.

    Nothing is changed. The answer distinguishes a config that an operator changed on the target from one that has not
    arrived yet. Records are not compared; see `twinlog status` for those. Exit code 1 when something differs.
    """
    from twinlog.service import link_differences

    wanted = Wanted("--topic", topic)
    differing = asyncio.run(link_differences(chosen_link(link, config), wanted))
    if output.for_programs:
        print_facts(dataclasses.asdict(differing), output)
    else:
        _print(differing, output)
    if differing.differences:
        raise typer.Exit(1)


def _print(link_diff: LinkDiff, output: Output) -> None:
    console = screen(output)
    if link_diff.differences:
        table = Table()
        for title in ("kind", "topic", "what", "source", "target", "why"):
            table.add_column(title, overflow="fold")
        for difference in link_diff.differences:
            cells = (
                difference.kind,
                difference.thing,
                difference.what,
                difference.source,
                difference.target,
                difference.why,
            )
            table.add_row(*(Text(cell) for cell in cells))
        console.print(table)
    else:
        count = f"{len(link_diff.topics)} topic{'' if len(link_diff.topics) == 1 else 's'} compared"
        console.print(Text(f"{link_diff.link}: both ends are the same ({count})"))
    for remark in link_diff.remarks:
        console.print(Text(remark, "yellow"), soft_wrap=True)
