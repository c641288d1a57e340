"""Asking a worker over Kafka Connect's REST interface, for the commands of `twinlog pipeline`."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from twinlog.config.contexts import ServiceAddress
from twinlog.errors import UsageError
from twinlog.surface.cli.service_client import opened

Url = Annotated[str, typer.Option("--url", help="Address of a worker's REST interface.", envvar="TWINLOG_CONNECT_URL")]
DEFAULT_URL: Final = "http://127.0.0.1:8083"


def ask(url: str, method: str, *path: str, query: str = "", body: object | None = None) -> Any:
    """Ask a worker, as the user who runs it where no login is set."""
    if not url.startswith(("http://", "https://", "unix:")):
        raise UsageError(f"--url: {url} does not start with http://, https:// or unix:")
    return opened(ServiceAddress(url=url)).send(method, *path, query=query, body=body)
