"""`twinlog conflicts`: keys that were written on both sides of a pair, close in time."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated

import typer

from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.wanted import Wanted
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, print_facts, screen

if TYPE_CHECKING:
    from twinlog.model.verify.conflicts import ConflictReport


def conflicts(
    link: LinkArgument,
    *,
    config: ConfigFile,
    topics: Annotated[str | None, typer.Option(help="Only topics that match this regex as a whole.")] = None,
    window: Annotated[float, typer.Option(help="Two records within so many seconds are a conflict.", min=0.001)] = 10.0,
    since: Annotated[float, typer.Option(help="Read the last so many seconds.", min=1.0)] = 3600.0,
    listed: Annotated[int, typer.Option("--keys", help="List so many keys, the worst first.", min=0, max=10_000)] = 20,
    hide_keys: Annotated[bool, typer.Option("--hide-keys", help="Show hashes in place of keys.")] = False,
    master: Annotated[
        str | None, typer.Option(help="Spark master, e.g. spark://host:7077. Default: on this machine.")
    ] = None,
    spark_conf: Annotated[list[str] | None, typer.Option("--spark-conf", help="KEY=VALUE for Spark.")] = None,
    output: Form = Output.TABLE,
) -> None:
    """Search clusters that are written on both sides for keys that got records on both, close in time.

    Topics with the same name on both clusters are read; what a link copied does not count. A key that is written on one
    side only is sticky: the share of keys that are not tells how well users stay on their side. Times are those of the
    records. Exit code 1 when there is a conflict, or when something could not be read.
    """
    from twinlog.service import SparkPlace, scratch_folder
    from twinlog.service.actions import find_conflicts
    from twinlog.verify.conflicts import ConflictWish

    settings = chosen_link(link, config)
    since_ms = SYSTEM_CLOCK.now_ms() - int(since * 1000)
    wish = ConflictWish(Wanted("--topics", topics), int(window * 1000), since_ms, listed, not hide_keys)
    options = tuple((key, value) for key, _, value in (item.partition("=") for item in spark_conf or ()))
    scratch = scratch_folder()
    try:
        report = find_conflicts(settings, wish, SparkPlace(master, options), scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if output.for_programs:
        print_facts(report.as_json(), output)
    else:
        _print(report, output)
    if report.conflicts or report.troubles:
        raise typer.Exit(1)


def _print(report: ConflictReport, output: Output) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    console = screen(output)
    if report.topics:
        records = (f"records on {side}" for side in report.sides)
        table = Table(
            "topic", *records, "keys", "not sticky", "keys in conflict", "conflicts", box=SIMPLE_HEAD, pad_edge=False
        )
        for seen in report.topics:
            share = "" if seen.not_sticky is None else f" ({seen.not_sticky:.1%})"
            table.add_row(
                seen.topic, *(f"{seen.records[side]:,}" for side in report.sides), f"{seen.keys:,}",
                f"{seen.both_sides:,}{share}", f"{seen.conflicting:,}", f"{seen.conflicts:,}",
            )  # fmt: skip
        console.print(table)
    if report.keys:
        columns = ("key", "topic", "conflicts", "closest", "earlier record", "later record")
        table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
        for key in report.keys:
            places = (f"{w.side}, partition {w.partition}, offset {w.offset}" for w in (key.earlier, key.later))
            table.add_row(key.key, key.topic, f"{key.conflicts:,}", f"{key.gap_ms:,} ms", *places)
        console.print(table)
    console.soft_wrap = True
    for trouble in report.troubles[:20]:
        console.print(f"could not be read: {trouble}", style="red", markup=False)
    unkeyed = sum(topic.without_key for topic in report.topics)
    if unkeyed:
        console.print(f"{unkeyed:,} records without a key were left out", markup=False)
    if report.one_side:
        names = ", ".join(report.one_side[:5]) + (" …" if len(report.one_side) > 5 else "")
        console.print(f"on one side only, not searched: {names}", markup=False)
    if report.not_sticky is not None:
        console.print(
            f"{report.not_sticky:.1%} of all keys are not sticky: they were written on both sides", markup=False
        )
    style = "bold red" if report.conflicts or report.troubles else "bold green"
    console.print(report.verdict(), style=style, markup=False)
