"""`twinlog context`: settings files by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from twinlog.config.contexts import CONFIG_VARIABLE, as_json, contexts_path, load_contexts, save_contexts
from twinlog.errors import UsageError
from twinlog.surface.cli.completion import COMPLETING, complete_contexts
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.noun import Noun
from twinlog.surface.cli.output import Form, Output, print_error, print_facts

app = typer.Typer(
    cls=Noun,
    help="Settings files by name, so that commands need no --config. TWINLOG_CONFIG and TWINLOG_CONTEXT are stronger.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="What the file is called here.", autocompletion=complete_contexts)]


@app.command()
def add(
    name: Name,
    config: Annotated[Path, typer.Option("--config", "-c", help="The file that `twinlog run` uses.")],
    dry_run: DryRun = False,
) -> None:
    """Name a file. It must be valid; the first one named is in use at once."""
    from twinlog.config.resolve import load_file

    load_file(config)
    path = contexts_path()
    contexts = load_contexts(path).add(name, config)
    told = f"{contexts.files[name]}{' (in use)' if contexts.used == name else ''}"
    if dry_run:
        would(f"{name}: would be {told}, noted in {path}")
        return
    save_contexts(path, contexts)
    typer.echo(f"{name}: {told}", err=True)


@app.command()
def use(name: Name, dry_run: DryRun = False) -> None:
    """Let commands without --config be about this one."""
    path = contexts_path()
    contexts = load_contexts(path).use(name)
    if dry_run:
        would(f"{name}: would be in use ({contexts.files[name]})")
        return
    save_contexts(path, contexts)
    typer.echo(f"{name}: in use ({contexts.files[name]})", err=True)


@app.command()
def remove(name: Name, dry_run: DryRun = False) -> None:
    """Forget a name. The file stays."""
    path = contexts_path()
    contexts = load_contexts(path).remove(name)
    if dry_run:
        would(f"{name}: would be forgotten")
        return
    save_contexts(path, contexts)
    typer.echo(f"{name}: forgotten", err=True)


@app.command("list")
def list_contexts(
    output: Form = Output.TABLE,
) -> None:
    """Show all names; the one in use has a star."""
    contexts = load_contexts(contexts_path())
    if output.for_programs:
        print_facts(as_json(contexts), output)
        return
    for name, file in sorted(contexts.files.items()):
        typer.echo(f"{'*' if name == contexts.used else ' '} {name}\t{file}")
    if not contexts.files:
        typer.echo("There are none; add one with `twinlog context add NAME --config FILE`.", err=True)


def choose_file(arguments: list[str]) -> None:
    """Let TWINLOG_CONFIG be the file of the chosen context, for commands that are given no --config.

    A context that cannot be had is told and is no reason to stop: the command may need no file, or asks for it itself.
    """
    if arguments[:1] == ["context"] or any(one in {"-c", "--config", "--help"} for one in arguments):
        return
    try:
        file = load_contexts(contexts_path()).chosen(os.environ)
    except UsageError as error:
        if COMPLETING not in os.environ:
            print_error(error)
        return
    if file is not None:
        os.environ[CONFIG_VARIABLE] = file
