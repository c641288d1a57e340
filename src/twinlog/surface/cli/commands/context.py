"""`twinlog context`: settings files and services by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from twinlog.config.contexts import (
    CONFIG_VARIABLE,
    Contexts,
    ServiceAddress,
    as_json,
    contexts_path,
    load_contexts,
    save_contexts,
)
from twinlog.errors import UsageError
from twinlog.surface.cli.completion import COMPLETING, complete_contexts
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import Form, Output, print_error, print_facts
from twinlog.surface.cli.service_client import SERVICE_VARIABLE
from twinlog.surface.cli.service_options import chosen_by, with_address

app = Commands(
    "Files and services by name, so that no --config is needed. TWINLOG_CONFIG and TWINLOG_CONTEXT are stronger."
)

_OWN_CHOICE: Final = ("--config", "--service", "--help")
Name = Annotated[str, typer.Argument(help="The name.", autocompletion=complete_contexts)]


@app.command()
@with_address
def add(
    name: Name,
    *,
    address: ServiceAddress | None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="The file that `twinlog run` uses.")] = None,
    dry_run: DryRun = False,
) -> None:
    """Name a file, a running service, or both. A file must be valid; the first one named is in use at once.

    Commands about a link take the file; `twinlog link` talks to the service where there is one. Of passwords and
    tokens only the names of their files are kept.
    """
    if config is None and address is None:
        raise UsageError(f"{name}: name a file with --config, a running service with --service, or both")
    if config is not None:
        from twinlog.config.resolve import load_file

        load_file(config)
    contexts = load_contexts(contexts_path()).add(name, config, address)
    told = f"{_told(contexts, name)}{' (in use)' if contexts.used == name else ''}"
    _keep(contexts, f"{name}: {told}", f"{name}: would be {told}, noted in {contexts_path()}", dry_run=dry_run)


@app.command()
def use(name: Name, dry_run: DryRun = False) -> None:
    """Use this one for commands without --config."""
    contexts = load_contexts(contexts_path()).use(name)
    told = f"in use ({_told(contexts, name)})"
    _keep(contexts, f"{name}: {told}", f"{name}: would be {told}", dry_run=dry_run)


@app.command()
def remove(name: Name, dry_run: DryRun = False) -> None:
    """Forget a name. The file stays."""
    contexts = load_contexts(contexts_path()).remove(name)
    _keep(contexts, f"{name}: forgotten", f"{name}: would be forgotten", dry_run=dry_run)


@app.command("list")
def list_contexts(
    output: Form = Output.TABLE,
) -> None:
    """Show all names; the one in use has a star."""
    contexts = load_contexts(contexts_path())
    if output.for_programs:
        print_facts(as_json(contexts), output)
        return
    for name in contexts.names:
        typer.echo(f"{'*' if name == contexts.used else ' '} {name}\t{_told(contexts, name)}")
    if not contexts.names:
        typer.echo("There are none; add one with `twinlog context add NAME --config FILE`.", err=True)


def _keep(contexts: Contexts, done: str, undone: str, *, dry_run: bool) -> None:
    if dry_run:
        would(undone)
        return
    save_contexts(contexts_path(), contexts)
    typer.echo(done, err=True)


def _told(contexts: Contexts, name: str) -> str:
    service = contexts.services.get(name)
    at = None if service is None else service.url + (f" as {service.user}" if service.user else "")
    return ", ".join(filter(None, (contexts.files.get(name), at)))


def _chooses(argument: str) -> bool:
    return argument.startswith(_OWN_CHOICE) or argument[:2] in {"-c", "-s"}


def choose_context(arguments: list[str]) -> None:
    """Let TWINLOG_CONFIG and TWINLOG_SERVICE be those of the chosen context, for commands that are given none.

    A context that cannot be had is told and is no reason to stop: the command may need no file, or asks for it itself.
    """
    if arguments[:1] == ["context"] or any(map(_chooses, arguments)):
        return
    if os.environ.get(CONFIG_VARIABLE) or os.environ.get(SERVICE_VARIABLE):
        return
    try:
        contexts = load_contexts(contexts_path())
        file, service = contexts.chosen(os.environ), contexts.service(os.environ)
    except UsageError as error:
        if COMPLETING not in os.environ:
            print_error(error)
        return
    told = {CONFIG_VARIABLE: file} | (chosen_by(os.environ, service) if service is not None else {})
    os.environ.update({name: value for name, value in told.items() if value is not None})
