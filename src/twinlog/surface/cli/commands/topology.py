"""`twinlog topology`: what the links of a file make together, and what the loss of each cluster costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from twinlog.surface.cli.options import ConfigFile
from twinlog.surface.cli.output import Form, Output, painted, print_facts, screen


def topology(
    config: ConfigFile,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also draw it into this file; `-` is stdout.")] = None,
    output: Form = Output.TABLE,
) -> None:
    """Show what the links of a file form together: shape, routes of records, cost of the loss of each cluster.

    No cluster is asked. A file whose links form a loop is refused; the message shows the route that records would take.
    """
    from twinlog.config.resolve import load_file
    from twinlog.service.link_transforms import check_file
    from twinlog.surface.answers.topology import (
        judgements,
        loss_sentence,
        survey_of,
        topology_json,
        transform_sentences,
    )
    from twinlog.surface.page.topology_svg import svg_of

    links = check_file(load_file(config)).links
    survey = survey_of(links)
    if svg is not None and str(svg) == "-":
        typer.echo(svg_of(survey), nl=False)
        return
    if svg is not None:
        svg.write_text(svg_of(survey))
    if output.for_programs:
        print_facts(topology_json(survey, links), output)
        return
    console = screen(output)
    for shape in survey.shapes:
        typer.echo(painted(shape, bold=True))
    table = _table("link", "topics", "named", "objective (rpo)")
    for link in links:
        limit = link.objectives.otherwise.rpo_seconds
        named = link.naming.remote(link.source, "TOPIC")
        table.add_row(link.name, Text(", ".join(link.topics.include)), named, "none" if limit is None else f"{limit} s")
    console.print(table)
    lost = _table("if this cluster is lost", "then")
    for loss in survey.losses:
        lost.add_row(Text(loss.cluster, "red" if loss.single else ""), Text(loss_sentence(loss)))
    console.print(lost)
    for sentence in (*judgements(survey), *transform_sentences(links)):
        typer.echo(f"- {sentence}")
    if svg is not None:
        typer.echo(f"The picture is in {svg}.")


def _table(*titles: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table
