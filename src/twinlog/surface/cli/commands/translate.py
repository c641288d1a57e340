"""`twinlog translate`: one position of one partition on the other side of a link. Needs no running engine."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from twinlog.errors import PositionUnknown
from twinlog.model.names import TopicPartition
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.commands.groups import kind_of
from twinlog.surface.cli.options import ConfigFile, LinkArgument, TopicOption
from twinlog.surface.cli.output import Form, Output, print_facts


def translate(
    link: LinkArgument,
    *,
    topic: TopicOption,
    partition: Annotated[int, typer.Option(help="Its partition.", min=0)],
    offset: Annotated[int, typer.Option(help="The offset that would be read next.", min=0)],
    config: ConfigFile,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the target back to the source.")] = False,
    output: Form = Output.TABLE,
) -> None:
    """Say where a consumer at this offset continues on the other side.

    exact: the same record; nothing is skipped, nothing read again. at-or-before: the offset is ahead of what is copied;
    the answer is the end of the copy. Exit code 1, with the reason, when there is no such place.
    """
    from twinlog.service import translate_position

    settings = chosen_link(link, config)
    asked = TopicPartition(topic, partition)
    try:
        answer = asyncio.run(translate_position(settings, asked, offset, reverse=reverse))
    except PositionUnknown as unknown:
        if not output.for_programs:
            raise
        told = {"topic": topic, "partition": partition, "offset": offset}
        print_facts({"asked": told, "translation": "untranslatable", "reason": unknown.reason}, output)
        raise typer.Exit(1) from unknown
    translation = answer.translation
    cluster = settings.source if reverse else settings.target
    if output.for_programs:
        facts = {
            "asked": {"topic": topic, "partition": partition, "offset": offset},
            "translation": kind_of(translation),
            "cluster": cluster,
            "topic": answer.place.topic,
            "partition": answer.place.partition,
            "offset": answer.place_offset,
        }
        print_facts(facts, output)
        return
    typer.echo(f"{answer.place} offset {answer.place_offset} on {cluster} ({kind_of(translation)})")
