"""`twinlog local produce | consume`: records and a consumer group on a local cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from twinlog.errors import UsageError
from twinlog.machine.folders import state_folder
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.output import Form, Output, print_facts

if TYPE_CHECKING:
    from twinlog.local.cluster import LocalCluster
    from twinlog.local.traffic import Read

Folder = Annotated[Path | None, typer.Option("--dir", help="Where they live.", show_default="$TWINLOG_HOME/clusters")]
Seconds = Annotated[float, typer.Option("--seconds", min=0.1, help="How long.")]


def produce(
    *,
    cluster: Annotated[str, typer.Argument(help="The local cluster, e.g. `east`.")],
    topic: Annotated[str, typer.Argument(help="Made, unless it exists.")],
    rate: Annotated[int, typer.Option("--rate", min=1, max=1_000_000, help="Records per second.")] = 100,
    seconds: Seconds = 10,
    partitions: Annotated[int, typer.Option("--partitions", min=1, max=1000, help="Of a topic that is made.")] = 3,
    folder: Folder = None,
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Write records to a topic of a local cluster at a steady rate; each carries its number and a checksum.

    Says how many the cluster acknowledged. A topic that does not exist is made first.
    """
    from twinlog.local.traffic import produce as send

    running = _running(cluster, folder)
    if dry_run:
        would(f"{cluster}: would get about {int(rate * seconds):,} records in {topic}")
        return
    shown = None if output.for_programs else _progress
    sent = send(
        running, topic, partitions=partitions, rate=rate, seconds=seconds,
        tell=(lambda count: shown(f"{count:,} records")) if shown else _silent,
    )  # fmt: skip
    if output.for_programs:
        print_facts({"cluster": cluster, "topic": topic, "acknowledged": sent}, output)
    else:
        typer.echo(f"{topic}: {sent:,} records acknowledged by {cluster}")


def consume(
    *,
    cluster: Annotated[str, typer.Argument(help="The local cluster, e.g. `west`.")],
    topics: Annotated[list[str], typer.Argument(help="One or more topics.")],
    group: Annotated[str, typer.Option("--group", "-g", help="The consumer group.")] = "tour",
    seconds: Seconds = 10,
    most: Annotated[
        int | None, typer.Option("--records", min=1, help="End after so many.", show_default="no limit")
    ] = None,
    folder: Folder = None,
    dry_run: DryRun = False,
    output: Form = Output.TABLE,
) -> None:
    """Read topics of a local cluster as a consumer group, and commit what was read.

    Says how many records came, how many twice, and how many whose checksum is wrong. Exit code 1 when nothing came.
    """
    from twinlog.local.traffic import consume as read_as

    running = _running(cluster, folder)
    if dry_run:
        would(f"{cluster}: {group} would read {', '.join(topics)} and commit its position")
        return
    tell = _silent if output.for_programs else lambda read: _progress(f"{read.records:,} records")
    read: Read = read_as(running, topics, group=group, seconds=seconds, most=most, tell=tell)
    if output.for_programs:
        facts = {"records": read.records, "again": read.again, "unsound": read.unsound, "topics": dict(read.by_topic)}
        print_facts({"cluster": cluster, "group": group, **facts}, output)
    else:
        each = ", ".join(f"{topic} {count:,}" for topic, count in sorted(read.by_topic.items())) or "nothing"
        typer.echo(
            f"{group} on {cluster}: {read.records:,} records ({each}), {read.again:,} again, {read.unsound:,} damaged"
        )
    if not read.records:
        raise typer.Exit(1)


def _running(name: str, folder: Path | None) -> LocalCluster:
    from twinlog.local.cluster import LocalCluster

    home = folder.absolute() if folder else state_folder() / "clusters"
    known = sorted(file.parent.name for file in home.glob("*/cluster.json"))
    if name not in known:
        raise UsageError(f"{name}: no such local cluster; there are: {', '.join(known) or 'none'}")
    cluster = LocalCluster.load(home / name)
    if not cluster.running:
        raise UsageError(f"{name}: the cluster is stopped; `twinlog local up {name}` starts it")
    return cluster


def _progress(text: str) -> None:
    typer.echo(text, err=True)


def _silent(_: object) -> None:
    """Print nothing while it runs: programs read the result at the end only."""
