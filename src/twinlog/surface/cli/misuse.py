"""Errors about wrongly typed commands: the word, what is wrong with it, the remedy."""

from __future__ import annotations

from typing import Any

import typer
from typer.exceptions import TyperException

from twinlog.surface.cli.output import Output, painted, print_problem

NO_FILE_GIVEN = "no settings file was given; give --config FILE, or name one with `twinlog context add`"
_NO_FILE = "Give --config FILE, name one for good with `twinlog context add`, or begin with `twinlog init`."


def print_misuse(error: TyperException, output: Output = Output.TABLE) -> None:
    """One sentence and the way out; a group without a command shows its help."""
    shown: Any = error
    context = getattr(shown, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        shown.show()
        return
    path = context.command_path if context is not None else "twinlog"
    # The library that checks values says first that it found one to be wrong.
    problem = error.format_message().replace("Value error, ", "").rstrip(".")
    param = getattr(shown, "param", None)
    no_file = param is not None and param.name == "config" and problem.startswith("Missing")
    _say(f"{path}: {problem[:1].lower()}{problem[1:]}", _NO_FILE if no_file else f"`{path} --help` shows how.", output)


def print_abort(output: Output = Output.TABLE) -> None:
    """Somebody was asked and gave no answer; the question has no end of line."""
    if not output.for_programs:
        typer.echo(err=True)
    _say("twinlog: no answer to the question; nothing was changed", "Answer it, or give --yes.", output)


def _say(sentence: str, way: str, output: Output) -> None:
    if output.for_programs:
        print_problem("USAGE", sentence, way, output)
        return
    typer.echo(painted("error: ", "red", bold=True) + sentence, err=True)
    typer.echo(painted("  try: ", "cyan") + way, err=True)
