"""`twinlog link`: links one by one: of a running service, or else of the settings file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli import link_orders
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.effects import DryRun, Yes, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.live_control import control, first, limit, pause_topic, resume_topic
from twinlog.surface.cli.options import ConfigFile, LinkArgument, OptionalConfigFile, TopicArgument
from twinlog.surface.cli.output import Form, Output, print_facts, screen
from twinlog.surface.cli.service_client import ServiceClient
from twinlog.surface.cli.service_links import links_table, print_link, service_link, service_links
from twinlog.surface.cli.service_options import with_client

app = Commands(
    "Links one by one. With --service, or a context that has one, those of a running service; else of the file."
)


@app.command("list")
@with_client
def list_links(*, client: ServiceClient | None, config: OptionalConfigFile = None, output: Form = Output.TABLE) -> None:
    """List all links: those of a service with their state, those of a file with what they copy."""
    rows = _links_of_file(_file(config)) if client is None else service_links(client)
    if output.for_programs:
        print_facts(rows, output)
    elif rows:
        screen(output).print(links_table(rows, wide=output is Output.WIDE))
    else:
        typer.echo("There are no links; make one with `twinlog link create`, or write it into the file.", err=True)


@app.command()
@with_client
def show(
    link: LinkArgument,
    *,
    client: ServiceClient | None,
    config: OptionalConfigFile = None,
    output: Form = Output.TABLE,
) -> None:
    """Show all about one link: state and its cause, numbers, faults, config. Exit code 1 when it is not healthy."""
    if client is None:
        from twinlog.surface.cli.commands.status import show_status

        show_status((chosen_link(link, _file(config)),), output, partitions=output is Output.WIDE)
        return
    row = service_link(client, link)
    if output.for_programs:
        print_facts(row, output)
    else:
        print_link(row, output)
    if row["state"] not in {"RUNNING", "CATCHING_UP", "PAUSED", "STOPPED"}:
        raise typer.Exit(1)


app.command()(link_orders.create)
for order in link_orders.ORDERS:
    app.command(order.verb)(link_orders.command_of(order))


@app.command()
def reset(
    link: LinkArgument,
    topic: TopicArgument,
    config: ConfigFile,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Forget a topic's history on this link: it is mirrored again from its first record, into a new target topic.

    The target topic must be gone (delete it first): copying again into a full one would double every record.
    """
    from twinlog.service.actions import check_forgettable, forget_topic

    settings = chosen_link(link, config)
    if dry_run:
        remote = asyncio.run(check_forgettable(settings, topic))
        would(f"{link}: {topic} would be forgotten and mirrored again from its first record, into a new {remote}")
        return
    if not yes and not typer.confirm(
        f"{link}: forget everything about {topic} and mirror it again from the start?", err=True
    ):
        raise UsageError(f"{link}: not confirmed, nothing was changed; say yes, or give --yes")
    asyncio.run(forget_topic(settings, topic))
    typer.echo(f"{link}: {topic} starts again; a running engine picks it up within its refresh interval.")


@app.command()
def prepare(link: LinkArgument, config: ConfigFile, dry_run: DryRun = False) -> None:
    """Create on the target the topics that producers look for after a failover.

    With prefixed names `orders` is copied into `east.orders`, and a producer that moves to the target finds no `orders`
    there. Each missing topic gets the partitions, the replication and the configs of its copy. Needs no source.
    """
    from twinlog.service import prepare_writers_topics

    settings = chosen_link(link, config)
    orders, refusals = asyncio.run(prepare_writers_topics(settings, dry_run=dry_run))
    if not orders:
        typer.echo(f"{link}: producers find every topic on {settings.target}; nothing to create.")
        return
    made = {
        order.name: f"{order.name} on {settings.target}: {order.partitions} partitions, {len(order.configs)} configs"
        for order in orders
    }
    if dry_run:
        would(*(f"{what} would be created" for what in made.values()))
        return
    for name, what in made.items():
        refused = refusals.get(name)
        typer.echo(f"{what}: created" if refused is None else f"{name}: not created: {refused}")
    if any(refusals.values()):
        raise typer.Exit(1)


for _command in (limit, first, pause_topic, resume_topic, control):
    app.command()(_command)


@app.command()
def accept_truncation(
    link: LinkArgument,
    topic: TopicArgument,
    config: ConfigFile,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Accept that the source lost records that were copied (SOURCE_TRUNCATED), and continue with its new history.

    The copy keeps what the source lost; the records that the source wrote since are copied behind it.
    """
    from twinlog.service.actions import accept_truncation as accept

    settings = chosen_link(link, config)
    for truncation in asyncio.run(accept(settings, topic, dry_run=True)):
        (would if dry_run else typer.echo)(f"{link}: {truncation}")
    if dry_run:
        return
    if not yes and not typer.confirm(f"{link}: continue {topic} with the new history of the source?", err=True):
        raise UsageError(f"{link}: not confirmed, nothing was changed; say yes, or give --yes")
    asyncio.run(accept(settings, topic))
    typer.echo(f"{link}: accepted; a running engine continues within seconds.")


def _file(config: Path | None) -> Path:
    if config is None:
        raise UsageError(
            "link: name a running service with --service URL, or a file with --config; or `twinlog context`"
        )
    return config


def _links_of_file(config: Path) -> list[dict[str, Any]]:
    from twinlog.config.resolve import load_file

    return [
        {
            "link": link.name,
            "connector": None,
            "state": "in file",
            "topics": ", ".join(link.topics.include),
            "from": str(link.copies.start_from),
        }
        for link in load_file(config).links
    ]
