"""`twinlog pipeline dlq`: parked records of a pipeline: list, show, replay after repair, drop."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Final

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.commands.connect_rest import DEFAULT_URL, Url
from twinlog.surface.cli.commands.pipeline_letters import Letter, letters_of
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import Form, Output, print_facts

app = Commands("Parked records: those that a pipeline could not handle.")

Name = Annotated[str, typer.Argument(help="Name of a pipeline.")]
WorkerFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="File of a Connect worker: asks Kafka itself, not the service; not audited."),
]
Topic = Annotated[
    str | None,
    typer.Option("--topic", help="Topic of the dead letters, with --config; the service knows it."),
]
At = Annotated[
    list[str] | None, typer.Option("--at", help="Only this one, as PARTITION:OFFSET of the topic; may be repeated.")
]
Reason = Annotated[str | None, typer.Option("--reason", help="Only those whose reason contains this text.")]
_LISTED: Final = ("at", "state", "from", "reason", "key", "value")
_PLACE: Final = re.compile(r"\d+:\d+")


def _chosen(letters: list[Letter], at: list[str] | None, reason: str | None, *, closed: bool = False) -> list[Letter]:
    for place in at or ():
        if not _PLACE.fullmatch(place):
            raise UsageError(f"--at: {place}: PARTITION:OFFSET is two numbers, such as 0:17")
    missing = set(at or ()) - {letter.at for letter in letters}
    if missing:
        raise UsageError(f"--at: there is no dead letter at {min(missing)}")
    return [
        letter
        for letter in letters
        if (closed or at or letter.is_open)
        and (not at or letter.at in at)
        and (reason is None or reason in letter.facts["reason"])
    ]


@app.command("list")
def list_all(
    name: Name, *, config: WorkerFile = None, topic: Topic = None, url: Url = DEFAULT_URL, reason: Reason = None,
    closed: Annotated[bool, typer.Option("--all", help="Also those that were replayed or dropped.")] = False,
    output: Form = Output.TABLE,
) -> None:  # fmt: skip
    """Parked records with their reasons; those that are still open."""
    letters = letters_of(name, config, topic, url)
    all_letters = letters.read()
    rows = [letter.facts for letter in _chosen(all_letters, None, reason, closed=closed)]
    if output.for_programs:
        print_facts([{key: row[key] for key in _LISTED} for row in rows], output)
        return
    states = Counter(letter.facts["state"] for letter in all_letters)
    typer.echo(f"{letters.topic}: {states['open']} open, {states['replayed']} replayed, {states['dropped']} dropped")
    for row in rows:
        typer.echo(f"{row['at']:<10} {row['state']:<9} {row['from']:<32} {row['reason']}")


@app.command()
def show(
    name: Name, *, config: WorkerFile = None, topic: Topic = None, url: Url = DEFAULT_URL, at: At = None,
    raw: Annotated[bool, typer.Option("--raw", help="Only the bytes of the value, to repair them in a file.")] = False,
    output: Form = Output.YAML,
) -> None:  # fmt: skip
    """Parked records with their bytes; with --config also with all their headers."""
    letters = letters_of(name, config, topic, url)
    chosen = _some(_chosen(letters.read(), at, None), letters.topic)
    if not raw:
        print_facts([letter.facts for letter in chosen], output)
        return
    if len(chosen) != 1:
        raise UsageError(f"--raw shows one record, and {len(chosen)} are chosen; choose one with --at")
    if not chosen[0].whole:
        raise UsageError(f"--raw: {chosen[0].at}: its value is no text; give --config to read the bytes")
    typer.echo(chosen[0].raw or b"", nl=False)


@app.command()
def replay(
    name: Name, *, config: WorkerFile = None, topic: Topic = None, url: Url = DEFAULT_URL, at: At = None,
    reason: Reason = None,
    value: Annotated[Path | None, typer.Option("--value", help="File with the repaired value.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Topic to write to; otherwise the one it came from.")] = None,
    dry_run: DryRun = False,
) -> None:  # fmt: skip
    """Write open records back to the topic they came from. All of them, or those that are chosen. Each once."""
    letters = letters_of(name, config, topic, url)
    chosen = _some(_chosen(letters.read(), at, reason), letters.topic)
    repaired: dict[str, bytes] = {}
    if value is not None:
        if len(chosen) != 1:
            raise UsageError(f"--value repairs one record, and {len(chosen)} are chosen; choose one with --at")
        try:
            repaired[chosen[0].at] = value.read_bytes()
        except OSError as error:
            raise UsageError(f"--value: {value}: {error.strerror}") from error
    if dry_run:
        for letter in chosen:
            would(f"write {letter.at} back to {to or 'the topic of ' + letter.facts['from']}")
        return
    typer.echo(f"{letters.topic}: {letters.replay([letter.at for letter in chosen], repaired, to)} written back")


@app.command()
def drop(
    name: Name, *, config: WorkerFile = None, topic: Topic = None, url: Url = DEFAULT_URL, at: At = None,
    reason: Reason = None, dry_run: DryRun = False,
) -> None:  # fmt: skip
    """Mark open records as dropped. Their bytes stay in the topic for as long as the topic keeps them."""
    if not at and reason is None:
        raise UsageError("choose records with --at or --reason; `--reason ''` chooses all")
    letters = letters_of(name, config, topic, url)
    chosen = _some(_chosen(letters.read(), at, reason), letters.topic)
    if dry_run:
        for letter in chosen:
            would(f"drop {letter.at}: {letter.facts['reason']}")
        return
    typer.echo(f"{letters.topic}: {letters.drop([letter.at for letter in chosen])} dropped")


def _some(chosen: list[Letter], topic: str) -> list[Letter]:
    if not chosen:
        raise UsageError(f"{topic}: no open record is chosen")
    return chosen
