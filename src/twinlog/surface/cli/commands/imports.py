"""`twinlog import`: what other mirrors left, and where Twinlog would continue. Needs no engine and changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.commands.import_files import brooklin, mirus, mm1, strimzi, ureplicator
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, painted, print_facts, screen

if TYPE_CHECKING:
    from twinlog.sync.answers.takeover_preview import TakeoverRow

app = Commands("Take links over from other mirrors.")
_COLOURS = {"compared": "green", "mirrored": "dim", "begins": "", "not compared": "yellow"}


for _command in (strimzi, mm1, brooklin, mirus, ureplicator):
    app.command()(_command)


@app.command()
def mm2(
    *,
    link: LinkArgument,
    config: ConfigFile,
    dry_run: Annotated[  # noqa: ARG001  the habit of operators; there is no other kind of run
        bool, typer.Option("--dry-run", help="Only show; this command never writes.")
    ] = True,
    offsets_topic: Annotated[
        str | None, typer.Option(help="Where a Connect cluster keeps its source offsets, on the target.")
    ] = None,
    connector: Annotated[str | None, typer.Option(help="The name of the source connector there.")] = None,
    output: Form = Output.TABLE,
) -> None:
    """Show where Twinlog continues behind MirrorMaker 2, partition by partition.

    compared: the end of the target's log was found in the source, so nothing is lost or copied twice. not compared:
    there was nothing left to compare, so MirrorMaker 2's noted offset is used. begins: by
    `start.from`, at the offset that is shown. refused: note and data
    disagree; the topic is not touched until that is settled.

    Nothing is written. Stop MirrorMaker 2, look here, start `twinlog run` with the same file: it decides in the same
    way when it starts. Without any trace of MirrorMaker 2 a warning says so: the alias may be wrong. For a Connect
    cluster put the two options into the file as well: mm2.takeover.offsets.topic and mm2.takeover.connector. Exit code
    1 when a partition is refused or MirrorMaker 2 still runs.
    """
    from twinlog.service import takeover_preview

    preview = asyncio.run(takeover_preview(chosen_link(link, config), offsets_topic=offsets_topic, connector=connector))
    rows = preview.rows
    if output.for_programs:
        print_facts([_as_json(row) for row in rows], output)
    else:
        _print(link, rows, output)
    if preview.no_trace is not None:
        typer.echo(painted("warning ", "yellow") + preview.no_trace, err=True)
    if any(row.how in {"refused", "postponed"} for row in rows):
        raise typer.Exit(1)


def _as_json(row: TakeoverRow) -> dict[str, object]:
    return {
        "topic": row.partition.topic,
        "partition": row.partition.partition,
        "remote": row.remote,
        "mirrormaker_noted": row.noted,
        "starts_at": row.starts_at,
        "how": row.how,
        "why": row.why,
    }


def _print(link: str, rows: Sequence[TakeoverRow], output: Output) -> None:
    console = screen(output)
    table = Table(title=link, title_justify="left", title_style="bold")
    for title in ("partition", "into", "noted", "starts at", "how", "why"):
        table.add_column(title, justify="right" if title in {"noted", "starts at"} else "left", overflow="fold")
    for row in rows:
        noted = "-" if row.noted is None else str(row.noted)
        starts = {"begins": "unknown"}.get(row.how, "-") if row.starts_at is None else str(row.starts_at)
        how = Text(row.how, _COLOURS.get(row.how, "red"))
        table.add_row(Text(str(row.partition)), Text(row.remote), noted, starts, how, Text(row.why))
    console.print(table)
    console.print("Nothing was written: `twinlog run` decides in the same way when it starts.", highlight=False)
