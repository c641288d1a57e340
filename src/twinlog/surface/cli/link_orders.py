"""Orders to a running service about one link: make, pause, resume, stop, restart, delete it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.effects import DryRun, Yes, would
from twinlog.surface.cli.options import LinkArgument
from twinlog.surface.cli.service_client import ServiceClient
from twinlog.surface.cli.service_links import chosen_row, service_links
from twinlog.surface.cli.service_options import with_client


@dataclass(frozen=True)
class Order:
    """One verb: what it is in Connect's interface, and what is said of it."""

    verb: str
    method: str
    done: str
    teaches: str
    way: tuple[str, ...] = ()
    asks: str = ""


ORDERS: Final = (
    Order(
        "pause", "PUT", "paused", "Copy nothing until the link is resumed. Its settings and positions stay.", ("pause",)
    ),
    Order("resume", "PUT", "resumed", "Continue a paused or stopped link where it was.", ("resume",)),
    Order("stop", "PUT", "stopped", "Pause the link; its positions may be changed meanwhile.", ("stop",)),
    Order("restart", "POST", "restarted", "Restart a link's engine; nothing is lost or copied twice.", ("restart",)),
    Order(
        "delete",
        "DELETE",
        "deleted",
        "End a link that was made over HTTP. What it copied, and its ledger, stay.",
        asks="end this link for good? What it copied stays",
    ),
)


class InitialState(StrEnum):
    """How a new link begins."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@with_client
def create(
    *,
    client: ServiceClient | None,
    file: Annotated[Path, typer.Option("--file", "-f", help="A connector as JSON, as for Connect; `-` reads stdin.")],
    state: Annotated[InitialState, typer.Option(help="How it begins.")] = InitialState.RUNNING,
    dry_run: DryRun = False,
) -> None:
    """Make a link in a running service from a connector file: {"name": ..., "config": {...}}.

    MirrorSourceConnector and ReplicatorSourceConnector are links; the connectors for checkpoints and heartbeats switch
    on what belongs to the link of the same pair. With --dry-run the service only checks the settings.
    """
    service = _needed(client)
    name, config = _connector(file)
    if dry_run:
        _check(service, name, config)
        would(f"{name}: would be made at {service.address.url}, {state.value}")
        return
    service.send("POST", "connectors", body={"name": name, "config": config, "initial_state": state.value.upper()})
    typer.echo(f"{name}: made at {service.address.url}, {state.value}")


def command_of(order: Order) -> Callable[..., None]:
    """The command of a verb: all take the same options and differ in what they send."""

    def give(link: LinkArgument, *, client: ServiceClient | None, dry_run: DryRun = False, yes: Yes = False) -> None:
        service = _needed(client)
        if order.asks and not yes and not dry_run and not typer.confirm(f"{link}: {order.asks}", err=True):
            raise UsageError(f"{link}: not confirmed, nothing was changed; say yes, or give --yes")
        _give(order, link, service, dry_run=dry_run)

    give.__doc__ = order.teaches
    return with_client(give)


def _give(order: Order, link: str, client: ServiceClient, *, dry_run: bool) -> None:
    row = chosen_row(service_links(client), link, client)
    if dry_run:
        would(f"{row['link']}: would be {order.done} at {client.address.url}; it is {row['state']} now")
        return
    client.send(order.method, "connectors", row["connector"], *order.way)
    typer.echo(f"{row['link']}: {order.done}")


def _needed(client: ServiceClient | None) -> ServiceClient:
    if client is None:
        raise UsageError(
            "link: this is done by a running service; name it with --service URL, TWINLOG_SERVICE or "
            "`twinlog context add NAME --service URL`. Without one, set `LINK.enabled = false` in the file"
        )
    return client


def _connector(file: Path) -> tuple[str, dict[str, Any]]:
    """Its name and config: as Connect's REST interface takes it, or the config alone with a name in it."""
    try:
        document = json.loads(sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: it cannot be read ({error.strerror}); name a file with --file") from None
    except ValueError as error:
        raise UsageError(f"{file}: it is no JSON ({error}); see docs/connect-api.md for an example") from None
    config = document.get("config", document) if isinstance(document, dict) else None
    name = document.get("name") if isinstance(document, dict) else None
    if not isinstance(config, dict) or not isinstance(name, str) or not name:
        raise UsageError(f'{file}: a connector is {{"name": "...", "config": {{...}}}}; see docs/connect-api.md')
    return name, config


def _check(client: ServiceClient, name: str, config: dict[str, Any]) -> None:
    kind = str(config.get("connector.class", ""))
    body = {**config, "name": name}
    answer = client.send("PUT", "connector-plugins", kind or "none", "config", "validate", body=body)
    wrong = [
        f"{setting['value']['name']}: {error}" for setting in answer["configs"] for error in setting["value"]["errors"]
    ]
    if wrong:
        raise UsageError(f"{name}: {'; '.join(wrong)}")
