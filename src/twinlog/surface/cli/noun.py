"""A group of commands: `twinlog` itself, and each noun of it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class Noun(TyperGroup):
    """A group whose help costs nothing until somebody asks for it."""

    def get_help_option(self, ctx: Any) -> Any:
        """Let `--help` be False when not given: for a missing value typer loads pydantic, before every command."""
        option = super().get_help_option(ctx)
        if option is not None and option.default is None:
            option.default = False
        return option
