"""`twinlog init`: a settings file to begin with, from a template or by asking."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from twinlog.config.telling.samples import DEFAULT_TOPICS, TOPOLOGIES, default_servers, sample
from twinlog.errors import UsageError
from twinlog.machine.folders import open_private
from twinlog.surface.cli.effects import DryRun, would


class Template(StrEnum):
    """The topologies that there are templates of."""

    ACTIVE_PASSIVE = "active-passive"
    ACTIVE_ACTIVE = "active-active"
    HUB = "hub"
    FAN_OUT = "fan-out"
    CHAIN = "chain"
    MESH = "mesh"
    RING = "ring"


def init(
    file: Annotated[Path, typer.Argument(help="The file to write; `-` is standard output.")] = Path(
        "twinlog.properties"
    ),
    template: Annotated[
        Template | None, typer.Option("--template", "-t", help="Do not ask; take names and addresses of an example.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Write a commented settings file that is valid as it is.

    Without --template it asks for the topology, the clusters and the topics. Passwords are not asked for: the file
    shows how to refer to them. Next: `twinlog validate -c FILE`.
    """
    screen = str(file) == "-"
    if not screen and file.exists() and not force:
        raise UsageError(f"{file}: it exists and was not changed; name another file, or replace it with --force")
    if template is not None:
        text = sample(template.value)
    elif _at_terminal():
        text = _ask()
    else:
        raise UsageError(f"init: there is no terminal to ask at; choose with --template {' | '.join(TOPOLOGIES)}")
    from twinlog.config.resolve import resolve

    # What was typed may be no name of a cluster or no pattern: better said now than by `twinlog run`.
    resolve(text.encode(), str(file), (), {})
    if screen:
        typer.echo(text, nl=False)
        return
    if dry_run:
        typer.echo(text, nl=False)
        would(f"{file}: the lines above would be {'written over what is there' if file.exists() else 'written'}")
        return
    try:
        with open_private(file, "w") as out:  # passwords are often written into it later
            out.write(text)
    except OSError as error:
        raise UsageError(f"{file}: it cannot be written ({error.strerror}); name another file") from error
    typer.echo(f"{file}: written; look it through, then run `twinlog validate -c {file}`", err=True)


def _at_terminal() -> bool:
    return sys.stdin.isatty()


def _ask() -> str:
    for name, topology in TOPOLOGIES.items():
        typer.echo(f"  {name:15} {topology.title}", err=True)
    chosen = typer.prompt("Topology", default="active-passive", type=Template, err=True).value
    aliases: dict[str, str] = {}
    servers: dict[str, str] = {}
    for alias in TOPOLOGIES[chosen].clusters:
        aliases[alias] = typer.prompt("Name of a cluster", default=alias, err=True)
        servers[alias] = typer.prompt(
            f"Bootstrap servers of {aliases[alias]}", default=default_servers(aliases[alias]), err=True
        )
    if len(set(aliases.values())) < len(aliases):
        raise UsageError("init: two clusters have the same name; nothing was written")
    return sample(chosen, aliases, servers, typer.prompt("Topics", default=DEFAULT_TOPICS, err=True))
