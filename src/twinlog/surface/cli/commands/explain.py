"""`twinlog explain`: whether and why something is mirrored, link by link."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from twinlog.errors import ClusterError
from twinlog.surface.answers.explanations import explanation_of
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.options import ConfigFile, GroupArgument, LinkOption, TopicArgument
from twinlog.surface.cli.output import Form, Output, print_facts, screen

if TYPE_CHECKING:
    from twinlog.config.settings import LinkSettings
    from twinlog.model.topics.configs import ConfigVerdict
    from twinlog.sync.answers.explain import GroupExplanation, TopicExplanation
    from twinlog.sync.answers.explain_map import MapListing

app = Commands("Whether and why a topic or a group is mirrored, and where its records lie.")

T = TypeVar("T")
E = TypeVar("E", "TopicExplanation", "GroupExplanation")


@app.command("topic")
def explain_topic(
    topic: TopicArgument,
    config: ConfigFile,
    link: LinkOption = None,
    output: Form = Output.TABLE,
) -> None:
    """Say of each link whether it mirrors a topic, by which pattern or rule, into what, and which configs it copies.

    Exit code 1 when no link mirrors it, or no cluster has it.
    """
    from twinlog.service import topic_explanation

    answers = asyncio.run(_ask(_links(link, config), lambda settings: topic_explanation(settings, topic)))
    _tell(answers, output, partial(_print_topic, wide=output is Output.WIDE))
    if not any(not isinstance(answer, ClusterError) and answer.mirrored for _, answer in answers):
        raise typer.Exit(1)


@app.command("group")
def explain_group(
    group: GroupArgument,
    config: ConfigFile,
    link: LinkOption = None,
    output: Form = Output.TABLE,
) -> None:
    """Say of each link whether it translates a group's positions, by which pattern, and what prevents it.

    Exit code 1 when no link translates them, or no cluster has the group.
    """
    from twinlog.service import group_explanation

    answers = asyncio.run(_ask(_links(link, config), lambda settings: group_explanation(settings, group)))
    _tell(answers, output, _print_group)
    if not any(not isinstance(answer, ClusterError) and answer.translated for _, answer in answers):
        raise typer.Exit(1)


@app.command("map")
def explain_map(
    topic: TopicArgument,
    *,
    config: ConfigFile,
    partition: Annotated[int, typer.Option(help="Its partition.", min=0)] = 0,
    link: LinkOption = None,
    first: Annotated[int, typer.Option(help="The first source offset to print.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="How many rows to print.", min=1)] = 100,
    output: Form = Output.TABLE,
) -> None:
    """Print the offset map of a partition as the ledger holds it: which offsets of the source lie where on the target.

    A row stands for `times` runs of `length` records, each one step behind the one before. Offsets between rows were
    not copied: markers, aborted or compacted records. Exit code 1 when no link has copied anything of the partition.
    """
    from twinlog.model.names import TopicPartition
    from twinlog.service import map_listing

    asked = TopicPartition(topic, partition)
    answers = asyncio.run(_ask(_links(link, config), lambda settings: map_listing(settings, asked, first, limit)))
    if output.for_programs:
        print_facts([explanation_of(name, answer) for name, answer in answers], output)
    else:
        console = screen(output)
        for name, answer in answers:
            if isinstance(answer, ClusterError):
                _print_trouble(console, name, answer)
            else:
                _print_map(console, answer)
    if not any(not isinstance(answer, ClusterError) and answer.rows for _, answer in answers):
        raise typer.Exit(1)


def _links(name: str | None, config: Path) -> Sequence[LinkSettings]:
    from twinlog.config.resolve import load_file

    return load_file(config).links if name is None else [chosen_link(name, config)]


async def _ask(
    links: Sequence[LinkSettings], question: Callable[[LinkSettings], Coroutine[Any, Any, T]]
) -> list[tuple[str, T | ClusterError]]:
    """Ask all links side by side; a cluster that does not answer is an answer (R8)."""

    async def one(link: LinkSettings) -> tuple[str, T | ClusterError]:
        try:
            return link.name, await question(link)
        except ClusterError as error:
            return link.name, error

    return list(await asyncio.gather(*(one(link) for link in links)))


def _tell(answers: Sequence[tuple[str, E | ClusterError]], output: Output, draw: Callable[[Console, E], None]) -> None:
    if output.for_programs:
        print_facts([explanation_of(name, answer) for name, answer in answers], output)
        return
    console = screen(output)
    for name, answer in answers:
        if isinstance(answer, ClusterError):
            _print_trouble(console, name, answer)
        else:
            draw(console, answer)


def _print_trouble(console: Console, link: str, error: ClusterError) -> None:
    console.print(Text(f"{link}  ", "bold").append(str(error), "red"), soft_wrap=True)
    console.print(Text(f"  try: {error.remedy_text()}"), soft_wrap=True)


def _print_topic(console: Console, answer: TopicExplanation, *, wide: bool) -> None:
    from twinlog.model.topics.configs import Fate
    from twinlog.model.topics.link_diff import shown

    verdict = Text(f"mirrored into {answer.remote}", "green") if answer.mirrored else Text("not mirrored", "red")
    _print_facts(console, answer, verdict)
    rows = [config for config in answer.configs if wide or _worth_showing(config)]
    if rows:
        table = Table()
        for title in ("config", "source", "target", "what becomes of it"):
            table.add_column(title, overflow="fold")
        for config in rows:
            told = f"not copied: {config.why}" if config.fate is Fate.NOT_COPIED else config.fate.value
            source = config.in_force if config.fate is Fate.NOT_COPIED else config.wish
            table.add_row(Text(config.name), Text(shown(source)), Text(shown(config.have)), Text(told))
        console.print(table)
        if not wide:
            console.print(Text("  all other configs are at their defaults on both ends", "dim"))


def _worth_showing(config: ConfigVerdict) -> bool:
    """All that somebody set, or that a rule keeps back; not the dozens that nobody ever touched."""
    from twinlog.model.topics.configs import Fate

    if config.fate is Fate.NOT_COPIED:
        return bool(config.in_force or config.have)
    return config.fate is not Fate.IN_STEP or config.wish is not None


def _print_map(console: Console, answer: MapListing) -> None:
    console.print(Text(f"{answer.link}  ", "bold").append(answer.says), soft_wrap=True)
    if answer.rows:
        table = Table()
        for title in ("source", "target", "length", "source step", "target step", "times"):
            table.add_column(title, justify="right")
        for row in answer.rows:
            table.add_row(*(str(number) for number in row))
        console.print(table)
    if answer.more:
        console.print(Text("  there is more: give --first or --limit"), soft_wrap=True)


def _print_group(console: Console, answer: GroupExplanation) -> None:
    verdict = Text("translated", "green") if answer.translated else Text("not translated", "red")
    _print_facts(console, answer, verdict)


def _print_facts(console: Console, answer: TopicExplanation | GroupExplanation, verdict: Text) -> None:
    first, *others = [answer.why, *answer.facts]
    if not answer.exists and others:
        # That nobody knows it comes before the question whether it would be selected.
        first, others = others[0], [*others[1:], f"by its name: {first}"]
    console.print(Text(f"{answer.link}  ", "bold").append_text(verdict).append(f": {first}"), soft_wrap=True)
    for fact in others:
        console.print(Text(f"  {fact}"), soft_wrap=True)
