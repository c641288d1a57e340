"""`twinlog groups`: positions of every consumer group on both sides of a link. Needs no running engine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final, assert_never

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from twinlog.errors import GroupUnknown
from twinlog.model.groups.positions import continues
from twinlog.model.wanted import Wanted
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.completion import complete_groups
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, print_facts, screen

if TYPE_CHECKING:
    from twinlog.model.groups.positions import Standing
    from twinlog.model.ledger.translation import Translation
    from twinlog.sync.answers.group_report import GroupReport

UNKNOWN: Final = "unknown"
_NUMBERS: Final = ("source", "target", "committed", "re-read")


def groups(
    link: LinkArgument,
    config: ConfigFile,
    group: Annotated[
        str | None,
        typer.Option("--group", "-g", help="Only groups that this expression matches.", autocompletion=complete_groups),
    ] = None,
    partitions: Annotated[bool, typer.Option("--partitions", "-p", help="Every position, not only groups.")] = False,
    output: Form = Output.TABLE,
) -> None:
    """Show where each group would continue if it switched to the target now, and how many records it would read again.

    One row per group; with --partitions or -o wide every position: SOURCE is what the group committed, TARGET the same
    place in the copy, COMMITTED what the group has on the target.
    Exit code 1 when a position of a mirrored topic has no place on the target.
    """
    from twinlog.model.groups.positions import Remark
    from twinlog.service import group_report

    settings = chosen_link(link, config)
    wanted = Wanted("--group", group)
    report = asyncio.run(group_report(settings, wanted))
    if group is not None:
        wanted.among(report.known, f"the groups that {link} selects on {settings.source}")
        if not report.standings and not report.findings:
            raise GroupUnknown(group, settings.source)
    if output.for_programs:
        print_facts(_as_json(report), output)
    else:
        _print(report, output, partitions=partitions or output is Output.WIDE)
    if any(standing.remark is Remark.UNTRANSLATED for standing in report.standings):
        raise typer.Exit(1)


def kind_of(translation: Translation) -> str:
    """One word for what a translation is."""
    from twinlog.model.ledger.translation import AtOrBefore, Exact, Untranslatable

    match translation:
        case Exact():
            return "exact"
        case AtOrBefore():
            return "at-or-before"
        case Untranslatable():
            return "untranslatable"
        case _:
            assert_never(translation)


def _as_json(report: GroupReport) -> dict[str, Any]:
    from twinlog.model.groups.summary import summaries
    from twinlog.surface.answers.rows import group_of

    return {
        "groups": [{**summary._asdict(), "state": summary.state} for summary in summaries(report.standings)],
        "positions": [group_of(standing, None).model_dump() for standing in report.standings],
        "findings": list(report.findings),
        "source_trouble": report.source_trouble,
        "read_again_at_most": dict(report.read_again) if report.source_trouble else None,
    }


def _summary(report: GroupReport) -> Table:
    """One row per group."""
    from twinlog.model.groups.summary import summaries

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    numbers = ("topics", "positions", "in sync", "no place", "read again")
    for title in ("group", "state", *numbers):
        table.add_column(title, justify="right" if title in numbers else "left", overflow="fold")
    for summary in summaries(report.standings):
        colour = {"NO PLACE": "red", "IN SYNC": "green", "AHEAD": "green"}.get(summary.state, "yellow")
        counts = (summary.topics, summary.positions, summary.in_sync, summary.without_place)
        table.add_row(
            Text(summary.group), Text(summary.state, colour), *map(str, counts), _cell(summary.re_read, UNKNOWN)
        )
    return table


def _positions(report: GroupReport, *, wide: bool) -> Table:
    """One row per position."""
    from twinlog.model.groups.positions import Remark

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    more = ("into", "translation", "active on target")
    for title in ("group", "partition", *(more if wide else ()), *_NUMBERS, "remark"):
        table.add_column(title, justify="right" if title in _NUMBERS else "left")
    for standing in report.standings:
        into = str(standing.remote) if standing.remote else "none"
        beside = (Text(into), kind_of(standing.translation), "yes" if standing.active else "no")
        table.add_row(
            Text(standing.group),
            Text(str(standing.source)),
            *(beside if wide else ()),
            str(standing.committed.offset),
            _cell(standing.position, "none"),
            _cell(standing.on_target, "none"),
            _cell(standing.re_read, UNKNOWN),
            Text(_remark(standing), "red" if standing.remark is Remark.UNTRANSLATED else "dim"),
        )
    return table


def _print(report: GroupReport, output: Output, *, partitions: bool) -> None:
    console = screen(output)
    if report.source_trouble is not None:
        said = "Positions are those of the last checkpoints; a group may have read further before the source was lost."
        console.print(Text(report.source_trouble, "red").append(f"\n{said}", ""), soft_wrap=True)
    if report.standings:
        console.print(_positions(report, wide=output is Output.WIDE) if partitions else _summary(report))
    elif not report.findings:
        console.print("no group has a position in a mirrored topic")
    for group, records in sorted(report.read_again.items()):
        console.print(f"{group} {continues(records)}", soft_wrap=True)
    for finding in report.findings:
        console.print(Text(finding, "yellow"), soft_wrap=True)


def _cell(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else str(value)


def _remark(standing: Standing) -> str:
    from twinlog.model.ledger.translation import AtOrBefore

    if standing.why:
        return standing.why
    return "ahead of the copy" if isinstance(standing.translation, AtOrBefore) else ""
