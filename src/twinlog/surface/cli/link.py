"""`twinlog link`: interventions on one link."""

from __future__ import annotations

import asyncio

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.effects import DryRun, Yes, would
from twinlog.surface.cli.noun import Noun
from twinlog.surface.cli.options import ConfigFile, LinkArgument, TopicArgument

app = typer.Typer(cls=Noun, help="Interventions on one link.", no_args_is_help=True)


@app.callback()
def _noun() -> None:
    """Keep `link` a noun even while it has a single verb."""


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

    found = chosen_link(link, config)
    if dry_run:
        remote = asyncio.run(check_forgettable(found, topic))
        would(f"{link}: {topic} would be forgotten and mirrored again from its first record, into a new {remote}")
        return
    if not yes and not typer.confirm(f"{link}: forget everything about {topic} and mirror it again from the start?"):
        raise UsageError("nothing was changed")
    asyncio.run(forget_topic(found, topic))
    typer.echo(f"{link}: {topic} begins anew; a running engine picks it up within its refresh interval.")
