"""`twinlog --version`: which one this is, for reports of trouble."""

from __future__ import annotations

import typer


def print_version(asked: bool) -> None:
    """Say it and end."""
    if asked:
        from importlib.metadata import version

        typer.echo(f"twinlog {version('twinlog')}")
        raise typer.Exit
