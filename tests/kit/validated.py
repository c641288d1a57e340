"""Runs `twinlog validate` in this process."""

from __future__ import annotations

import typer
from typer.testing import CliRunner

from twinlog.surface.cli.commands.validate import validate

_APP = typer.Typer()
_APP.command()(validate)


def run(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    result = CliRunner().invoke(_APP, list(arguments), env={"COLUMNS": "160"})
    return result.exit_code, result.output
