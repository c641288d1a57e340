"""`twinlog user`: users of a service over HTTP."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import Form, Output, print_facts

app = Commands("Users of a service over HTTP (`twinlog run --listen`).")

File = Annotated[Path, typer.Option("--file", "-f", help="The file that http.users.file names.")]


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="The user's name, as the audit shows it.")],
    *,
    file: File,
    role: Annotated[
        str,
        typer.Option(
            help="viewer reads; operator pauses, restarts, switches; admin changes links; or the NAME of a "
            "role.NAME.may of the settings file."
        ),
    ] = "viewer",
    token: Annotated[bool, typer.Option("--token", help="Make a token for a program; it is shown once.")] = False,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", help="A program that shows this certificate (PEM) to a service with mTLS."),
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=3650, help="With --token: it ends after so many days.")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Add a user, or set a new password, token or role. A running service notices within a second.

    The password is asked for, or read from standard input when that is no terminal; it has at least 12 characters. Only
    its hash is kept.
    """
    from twinlog.config.security.users import load_users, save_user, with_certificate, with_password, with_token

    if days is not None and not token:
        raise UsageError("--days: only a token ends; give --token too")
    if dry_run:
        with_token(name, role)
        known = file.exists() and any(user.name == name for user in load_users(file))
        change = "get a new secret and the role" if known else "be added with the role"
        would(f"{name}: would {change} {role} in {file}, logging in by {'token' if token else 'password'}")
        return
    if token:
        user, secret = with_token(name, role, days)
        save_user(file, user)
        typer.echo(f"{name}: {role}; send this as `Authorization: Bearer`, it is shown only now:", err=True)
        typer.echo(secret)
        return
    if certificate is not None:
        user = with_certificate(name, role, _bytes(certificate))
        save_user(file, user)
        typer.echo(f"{name}: {role}, by the certificate of {user.secret}", err=True)
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
    name: Annotated[str, typer.Argument(help="The user to remove.")], file: File, dry_run: DryRun = False
) -> None:
    """Remove a user. A running service notices within a second."""
    from twinlog.config.security.users import load_users, remove_user

    if dry_run and any(user.name == name for user in load_users(file)):
        would(f"{name}: would be removed from {file}")
        return
    remove_user(file, name)
    typer.echo(f"{name}: removed", err=True)


@app.command("list")
def list_users(file: File, output: Form = Output.TABLE) -> None:
    """Show names, roles, how they log in, when that ends and when it was last used; never a secret."""
    from twinlog.config.security.users import load_users
    from twinlog.surface.http.last_used import last_used_file, read_last_used

    used = read_last_used(last_used_file())
    users = [
        {
            "name": user.name,
            "role": user.role,
            "login": "password" if user.scheme == "scrypt" else user.scheme,
            "expires": _moment(user.expires),
            "last_used": _moment(used.get(user.name)),
        }
        for user in load_users(file)
    ]
    if output.for_programs:
        print_facts(users, output)
        return
    for user in users:
        end, seen = user["expires"] or "never", user["last_used"] or "never on this machine"
        typer.echo(f"{user['name']}\t{user['role']}\t{user['login']}\texpires {end}\tlast used {seen}")


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: the certificate cannot be read ({error.strerror}); nothing was changed") from None


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
