"""How commands answer: the choice of form, findings of a settings file, errors with their way out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import typer

from twinlog.errors import Finding, TwinlogError

_COLOURS = {"info": "cyan", "warning": "yellow", "error": "red"}


class Output(StrEnum):
    """For people, or for programs."""

    TABLE = "table"
    JSON = "json"


def chosen_clusters(clusters: Iterable[str] | None) -> tuple[str, ...]:
    """Return the aliases that `--clusters` names; given several times, or with commas."""
    return tuple(alias.strip() for part in clusters or () for alias in part.split(",") if alias.strip())


def print_findings(findings: Iterable[Finding], output: Output = Output.TABLE) -> None:
    """Say what is remarkable about a settings file: to stderr, so that answers stay clean."""
    for finding in findings:
        level = f"{finding.level:7} "
        if output is Output.TABLE:
            level = typer.style(level, fg=_COLOURS[finding.level])
        typer.echo(level + str(finding), err=True)


def print_error(error: TwinlogError) -> None:
    """One sentence that starts with the thing, and the way out."""
    typer.echo(typer.style("error: ", fg="red", bold=True) + str(error), err=True)
    if error.way_out():
        typer.echo(typer.style("  try: ", fg="cyan") + error.way_out(), err=True)
