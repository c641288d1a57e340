"""`twinlog rpo`: what would be lost if the source vanished now, topic by topic. Needs no running engine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from twinlog.model.drills.evidence import CHORE, LAST
from twinlog.model.health.objectives import Objectives, kept
from twinlog.model.wanted import Wanted
from twinlog.surface.cli.chosen_link import chosen_link
from twinlog.surface.cli.commands.status import BETWEEN_LOOKS_S
from twinlog.surface.cli.exposure_view import at_rest, exposure_json, headline
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, print_facts, screen
from twinlog.surface.cli.words import duration, number, size

if TYPE_CHECKING:
    from twinlog.ledger.view import LedgerView
    from twinlog.model.health.exposed import LinkExposure, TopicExposure
    from twinlog.model.health.states import LinkStatus

_COLOURS = {"kept": "green", "broken": "red", "unknown": "red"}


def rpo(
    link: LinkArgument,
    config: ConfigFile,
    topics: Annotated[str | None, typer.Option("--topics", help="Only topics whose whole name matches.")] = None,
    output: Form = Output.TABLE,
) -> None:
    """Show what would be lost if the source vanished now: records, bytes and seconds, for the link and each topic.

    While the source does not answer, the last known numbers are shown with their time, and the seconds grow. Also: when
    the source itself will delete what is not copied yet, how long catching up takes, and whether the objectives of the
    settings (`rpo.seconds`, `rto.seconds`, `objectives`) are kept; recovery times are those of the last drill. Exit
    code 1 when one is not kept, or nobody knows.
    """
    from twinlog.service import observer

    settings = chosen_link(link, config)
    wanted = Wanted("--topics", topics)
    observers = observer(settings)
    status = asyncio.run(_look(observers))
    exposure = status.exposure
    if status.rests or exposure is None:
        # What the side that was left has is copied; that says nothing about what the active side writes now.
        says: dict[str, Any] = {
            "link": link,
            "active": status.active,
            "says": at_rest(settings, status),
            "total": None,
            "topics": [],
        }
        if output.for_programs:
            print_facts(says, output)
        else:
            typer.echo(says["says"])
        raise typer.Exit(1)
    drilled = _last_drill(observers.view, settings.objectives)
    if topics is not None:
        wanted.among((topic.topic for topic in exposure.topics), f"the topics that {link} mirrors")
    shown = [topic for topic in exposure.topics if wanted(topic.topic)]
    if output.for_programs:
        print_facts({**exposure_json(exposure, shown, settings.objectives), "last_drill": drilled}, output)
    else:
        _print(exposure, shown, output)
        _print_drill(drilled, exposure.now_ms)
    if any(topic.kept in {"broken", "unknown"} for topic in shown) or (drilled and drilled["rto_kept"] == "broken"):
        raise typer.Exit(1)


def _last_drill(view: LedgerView, objectives: Objectives) -> dict[str, Any] | None:
    """What the last drill measured, beside what was promised."""
    memo = view.memos.get(CHORE, {}).get(LAST)
    if memo is None:
        return None
    limit = objectives.strictest_rto_seconds
    return {**memo.body, "rto_objective_seconds": limit, "rto_kept": kept(memo.body.get("rto_seconds"), limit)}


def _print_drill(drilled: dict[str, Any] | None, now_ms: int) -> None:
    if drilled is None:
        typer.echo("No drill was ever held: `twinlog drill` measures the recovery time.")
        return
    ago = duration((now_ms - drilled["at_ms"]) / 1000)
    took = f", recovery in {duration(drilled['rto_seconds'])}" if drilled["rto_seconds"] is not None else ""
    limit = drilled["rto_objective_seconds"]
    promised = f" of {duration(limit)}" if limit is not None and took else ""
    typer.echo(f"Last drill: {drilled['kind']}, {ago} ago, {drilled['verdict']}{took}{promised}.")


async def _look(observers: Any) -> LinkStatus:
    """Observe the link twice: rates need two observations."""
    await observers.look()
    await asyncio.sleep(BETWEEN_LOOKS_S)
    status: LinkStatus = await observers.look()
    return status


def _records(topic: TopicExposure) -> str:
    """A number, or a range while the source does not answer."""
    if topic.records is None or not topic.maybe_more:
        return number(topic.records)
    return f"{number(topic.records)}..{number(topic.records + topic.maybe_more)}"


def _print(exposure: LinkExposure, topics: list[TopicExposure], output: Output) -> None:
    console = screen(output)
    console.print(headline(exposure), soft_wrap=True)
    if exposure.falling_behind:
        console.print(Text("More arrives than is copied: the link falls behind.", "red"))
    elif exposure.catch_up_s:
        console.print(f"Caught up in about {duration(exposure.catch_up_s)}.")
    table = Table()
    for title in ("topic", "records", "bytes", "seconds", "source deletes in", "objective", "kept"):
        table.add_column(title, justify="left" if title in {"topic", "objective", "kept"} else "right")
    for topic in topics:
        promised = "" if topic.rpo_seconds is None else f"{topic.objective}: {topic.rpo_seconds} s"
        table.add_row(
            topic.topic,
            _records(topic),
            size(topic.bytes),
            duration(exposure.age_of(topic)),
            duration(topic.time_to_loss_s, unknown="-"),
            promised,
            Text(topic.kept or "", _COLOURS.get(topic.kept or "", "")),
        )
    console.print(table)
