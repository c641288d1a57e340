"""`twinlog pipeline dlq`: parked records of a pipeline: list, show, replay after repair, drop."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.commands.connect_rest import DEFAULT_URL, Url, ask
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import Form, Output, print_facts

if TYPE_CHECKING:
    from twinlog.pipelines.parked import Parked, Place
    from twinlog.pipelines.worker_settings import Worker

app = Commands("Parked records: those that a pipeline could not handle.")

Name = Annotated[str, typer.Argument(help="Name of a pipeline.")]
WorkerFile = Annotated[Path, typer.Option("--config", "-c", help="File of a Connect worker: says where Kafka is.")]
Topic = Annotated[
    str | None, typer.Option("--topic", help="Topic of the dead letters; otherwise the worker is asked for it.")
]
At = Annotated[
    list[str] | None, typer.Option("--at", help="Only this one, as PARTITION:OFFSET of the topic; may be repeated.")
]
Reason = Annotated[str | None, typer.Option("--reason", help="Only those whose reason contains this text.")]


def _worker(config: Path) -> Worker:
    from twinlog.pipelines.files import read_properties
    from twinlog.pipelines.settings import SettingsRefused
    from twinlog.pipelines.worker_settings import read_worker

    try:
        return read_worker(read_properties(config))
    except SettingsRefused as error:
        raise UsageError(str(error)) from error


def _topic(name: str, topic: str | None, url: str) -> str:
    if topic is not None:
        return topic
    config = ask(url, "GET", "connectors", name, "config")
    found = config.get("errors.deadletterqueue.topic.name", "")
    if not found:
        raise UsageError(f"{name}: it parks no records; errors.deadletterqueue.topic.name is not set")
    return str(found)


def _chosen(found: list[Parked], at: list[str] | None, reason: str | None, *, closed: bool = False) -> list[Parked]:
    from twinlog.pipelines.parked import Place

    try:
        places = {Place.parse(one) for one in at or ()}
    except ValueError as error:
        raise UsageError("--at: PARTITION:OFFSET is two numbers, such as 0:17") from error
    missing = places - {one.place for one in found}
    if missing:
        raise UsageError(f"--at: there is no dead letter at {min(missing)}")
    return [
        one
        for one in found
        if (closed or places or one.action == "open")
        and (not places or one.place in places)
        and (reason is None or reason in one.reason)
    ]


def _facts(parked: Parked) -> dict[str, Any]:
    return {
        "at": str(parked.place), "state": parked.action, "from": parked.origin or "unknown", "reason": parked.reason,
        "key": _text(parked.key), "value": _text(parked.value),
    }  # fmt: skip


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


@app.command("list")
def list_all(
    name: Name, *, config: WorkerFile, topic: Topic = None, url: Url = DEFAULT_URL, reason: Reason = None,
    closed: Annotated[bool, typer.Option("--all", help="Also those that were replayed or dropped.")] = False,
    output: Form = Output.TABLE,
) -> None:  # fmt: skip
    """Parked records with their reasons; those that are still open."""
    from twinlog.pipelines.parked import read_parked

    cluster, its = _worker(config).cluster, _topic(name, topic, url)
    found = read_parked(cluster, its)
    rows = [_facts(one) for one in _chosen(found, None, reason, closed=closed)]
    if output is not Output.TABLE:
        print_facts(rows, output)
        return
    states = Counter(one.action for one in found)
    typer.echo(f"{its}: {states['open']} open, {states['replayed']} replayed, {states['dropped']} dropped")
    for row in rows:
        typer.echo(f"{row['at']:<10} {row['state']:<9} {row['from']:<32} {row['reason']}")


@app.command()
def show(
    name: Name, *, config: WorkerFile, topic: Topic = None, url: Url = DEFAULT_URL, at: At = None,
    raw: Annotated[bool, typer.Option("--raw", help="Only the bytes of the value, to repair them in a file.")] = False,
    output: Form = Output.YAML,
) -> None:  # fmt: skip
    """Parked records with their bytes and all their headers."""
    from twinlog.pipelines.parked import read_parked

    found = _chosen(read_parked(_worker(config).cluster, _topic(name, topic, url)), at, None)
    if raw:
        if len(found) != 1:
            raise UsageError(f"--raw shows one record, and {len(found)} are chosen; choose one with --at")
        typer.echo(found[0].value or b"", nl=False)
        return
    print_facts(
        [
            _facts(one) | {"told": dict(one.told), "headers": {key: _text(data) for key, data in one.headers}}
            for one in found
        ],
        output,
    )


@app.command()
def replay(
    name: Name, *, config: WorkerFile, topic: Topic = None, url: Url = DEFAULT_URL, at: At = None,
    reason: Reason = None,
    value: Annotated[Path | None, typer.Option("--value", help="File with the repaired value.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Topic to write to; otherwise the one it came from.")] = None,
    dry_run: DryRun = False,
) -> None:  # fmt: skip
    """Write open records back to the topic they came from. All of them, or those that are chosen. Each once."""
    from twinlog.pipelines.parked import read_parked, replay

    cluster, its = _worker(config).cluster, _topic(name, topic, url)
    chosen = _some(_chosen(read_parked(cluster, its), at, reason), its)
    repaired: dict[Place, bytes] = {}
    if value is not None:
        if len(chosen) != 1:
            raise UsageError(f"--value repairs one record, and {len(chosen)} are chosen; choose one with --at")
        try:
            repaired[chosen[0].place] = value.read_bytes()
        except OSError as error:
            raise UsageError(f"--value: {value}: {error.strerror}") from error
    if dry_run:
        for one in chosen:
            would(f"write {one.place} back to {to or one.told.get('topic', 'a topic that --to must name')}")
        return
    typer.echo(f"{its}: {replay(cluster, its, chosen, repaired, to)} written back")


@app.command()
def drop(
    name: Name, *, config: WorkerFile, topic: Topic = None, url: Url = DEFAULT_URL, at: At = None,
    reason: Reason = None, dry_run: DryRun = False,
) -> None:  # fmt: skip
    """Mark open records as dropped. Their bytes stay in the topic for as long as the topic keeps them."""
    from twinlog.pipelines.parked import drop, read_parked

    if not at and reason is None:
        raise UsageError("choose records with --at or --reason; `--reason ''` chooses all")
    cluster, its = _worker(config).cluster, _topic(name, topic, url)
    chosen = _some(_chosen(read_parked(cluster, its), at, reason), its)
    if dry_run:
        for one in chosen:
            would(f"drop {one.place}: {one.reason}")
        return
    typer.echo(f"{its}: {drop(cluster, its, chosen)} dropped")


def _some(chosen: list[Parked], topic: str) -> list[Parked]:
    if not chosen:
        raise UsageError(f"{topic}: no open record is chosen")
    return chosen
