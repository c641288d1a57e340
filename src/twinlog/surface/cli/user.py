"""`twinlog user`: who may ask a service over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import Form, Output, print_facts

app = Commands("Who may ask a service over HTTP (`twinlog run --listen`).")

File = Annotated[Path, typer.Option("--file", "-f", help="The file that http.users.file names.")]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="How they are called in the audit.")],
    file: File,
    role: Annotated[
        str,
        typer.Option(
            help="viewer reads; operator pauses, restarts, switches; admin changes links; or the NAME of a "
            "role.NAME.may of the settings file."
        ),
    ] = "viewer",
    token: Annotated[bool, typer.Option("--token", help="Make a token for a program; it is shown once.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Add somebody, or give them a new password, token or role. A running service notices within a second.

    The password is asked for, or read from standard input when that is no terminal. Only its hash is kept.
    """
    from twinlog.config.users import load_users, save_user, with_password, with_token

    if dry_run:
        with_token(name, role)
        known = file.exists() and any(one.name == name for one in load_users(file))
        change = "get a new secret and the role" if known else "be added with the role"
        would(f"{name}: would {change} {role} in {file}, logging in by {'token' if token else 'password'}")
        return
    if token:
        user, secret = with_token(name, role)
        save_user(file, user)
        typer.echo(f"{name}: {role}; send this as `Authorization: Bearer`, it is shown only now:", err=True)
        typer.echo(secret)
        return
    if sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        password = sys.stdin.readline().rstrip("\n")
    if not password:
        raise UsageError(f"{name}: an empty password opens nothing, nothing was changed; give one, or take --token")
    save_user(file, with_password(name, role, password))
    typer.echo(f"{name}: {role}", err=True)


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Who may ask no longer.")], file: File, dry_run: DryRun = False
) -> None:
    """Take somebody out. A running service notices within a second."""
    from twinlog.config.users import load_users, remove_user

    if dry_run and any(one.name == name for one in load_users(file)):
        would(f"{name}: would be removed from {file}")
        return
    remove_user(file, name)
    typer.echo(f"{name}: removed", err=True)


@app.command("list")
def list_users(file: File, output: Form = Output.TABLE) -> None:
    """Show names, roles and how they log in; never what with."""
    from twinlog.config.users import load_users

    users = [
        {"name": user.name, "role": user.role, "login": "token" if user.scheme == "token" else "password"}
        for user in load_users(file)
    ]
    if output.for_programs:
        print_facts(users, output)
        return
    for user in users:
        typer.echo("\t".join(user.values()))
