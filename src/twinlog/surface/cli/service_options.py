"""Which running service a command asks, and as whom: the same options for all of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from twinlog.config.contexts import ServiceAddress
from twinlog.errors import UsageError
from twinlog.surface.cli.service_client import SERVICE_VARIABLE, TOKEN_VARIABLE, UNIX, opened

VARIABLES: Final = {
    "service": SERVICE_VARIABLE,
    "token_file": "TWINLOG_TOKEN_FILE",
    "ca": "TWINLOG_CA",
    "certificate": "TWINLOG_CERTIFICATE",
    "user": "TWINLOG_USER",
    "password_file": "TWINLOG_PASSWORD_FILE",
}
"""What stands for an option that was not given."""


def address_of(
    *,
    service: Annotated[
        str | None,
        typer.Option(
            "--service",
            "-s",
            metavar="URL",
            envvar=VARIABLES["service"],
            help="A running service. Default: of the context.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", envvar=VARIABLES["token_file"], help=f"Holds a token; or set {TOKEN_VARIABLE}."),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user", metavar="NAME", envvar=VARIABLES["user"], help="The user, with a password in place of a token."
        ),
    ] = None,
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            envvar=VARIABLES["password_file"],
            help="Holds the password; or set TWINLOG_PASSWORD, or be asked.",
        ),
    ] = None,
    ca: Annotated[
        Path | None, typer.Option("--ca", envvar=VARIABLES["ca"], help="With https: certificates to trust, PEM.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            envvar=VARIABLES["certificate"],
            help="With https: the client's certificate, PEM with its key.",
        ),
    ] = None,
) -> ServiceAddress | None:
    """What was given on the command line or in a context; None without a service. Raises UsageError."""
    if service is None:
        return None
    parts = urlsplit(service)
    if service.startswith(f"{UNIX}/"):
        return ServiceAddress(service)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.username or parts.password:
        raise UsageError(
            f"{service}: it is no address of a service; write https://HOST:PORT, http://HOST:PORT or unix:/PATH"
        )
    if user is not None and token_file is not None:
        raise UsageError(f"{service}: either --user or --token-file says who asks, not both")
    token, own_ca, own, password = (
        None if path is None else str(path.absolute()) for path in (token_file, ca, certificate, password_file)
    )
    return ServiceAddress(service, token, own_ca, own, user, password)


_OPTIONS: Final = inspect.signature(address_of, eval_str=True).parameters


def with_address(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all of these options; what they say is its `address`."""
    own = inspect.signature(command, eval_str=True).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        command(address=address_of(**{name: given.pop(name) for name in _OPTIONS}), **given)

    mine = [parameter for parameter in own.values() if parameter.name not in {"address", "output"}]
    last = [parameter for parameter in own.values() if parameter.name == "output"]
    whole = inspect.Signature([*mine, *_OPTIONS.values(), *last])
    run.__signature__ = whole  # type: ignore[attr-defined]  # typer makes the options of it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in whole.parameters.values()}
    return run


def with_client(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; what they lead to is its `client`, None without a service."""

    @wraps(command)
    def run(*, address: ServiceAddress | None, **given: Any) -> None:
        command(client=None if address is None else opened(address), **given)

    own = [
        parameter
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.name != "client"
    ]
    run.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]  # as above
    return with_address(run)


def chosen_by(environment: Mapping[str, str], service: ServiceAddress) -> dict[str, str | None]:
    """Return the variables that stand for a service of a context, and leave those that say otherwise who asks."""
    told = {variable: getattr(service, "url" if name == "service" else name) for name, variable in VARIABLES.items()}
    if environment.get(TOKEN_VARIABLE) or environment.get(VARIABLES["token_file"]):
        told |= {VARIABLES["user"]: None, VARIABLES["password_file"]: None}
    if environment.get(VARIABLES["user"]):
        told |= {VARIABLES["token_file"]: None}
    return {variable: value for variable, value in told.items() if not environment.get(variable)}


def address_behind_tab(given: Mapping[str, Any]) -> ServiceAddress | None:
    """The same while a line is being typed: options that are there already, else variables. Raises UsageError."""
    values = {name: given.get(name) or os.environ.get(variable) for name, variable in VARIABLES.items()}
    files = {name: Path(value) for name, value in values.items() if value and name not in {"service", "user"}}
    return address_of(service=values["service"] or None, user=values["user"] or None, **files)
