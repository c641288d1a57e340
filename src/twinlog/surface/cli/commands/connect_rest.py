"""Asking a worker over Kafka Connect's REST interface, for the commands of `twinlog pipeline`."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from twinlog.config.contexts import ServiceAddress
from twinlog.errors import ServiceRefused, UsageError
from twinlog.surface.cli.service_client import opened

Url = Annotated[str, typer.Option("--url", help="Address of a worker's REST interface.", envvar="TWINLOG_CONNECT_URL")]
DEFAULT_URL: Final = "http://127.0.0.1:8083"
_WAYS: Final = {
    403: "Ask as somebody who may: set TWINLOG_TOKEN to a token of `twinlog user add --role operator`.",
    404: "`twinlog pipeline list` shows the pipelines of this service.",
}


def ask(url: str, method: str, *path: str, query: str = "", body: object | None = None) -> Any:
    """Ask a worker, as the user who runs it where no login is set."""
    if not url.startswith(("http://", "https://", "unix:")):
        raise UsageError(f"--url: {url} does not start with http://, https:// or unix:")
    try:
        return opened(ServiceAddress(url=url)).send(method, *path, query=query, body=body)
    except ServiceRefused as error:
        # The words that fit links lead nowhere here.
        way = _WAYS.get(error.status, error.way)
        raise ServiceRefused(error.url, error.problem, error.status, way) from None
