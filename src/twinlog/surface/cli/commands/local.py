"""`twinlog local`: real Kafka clusters on this machine, to try things on. They continue until `twinlog local down`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from twinlog.errors import UsageError
from twinlog.machine.folders import state_folder
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.local_traffic import consume, produce
from twinlog.surface.cli.output import Form, Output, print_facts, screen

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from twinlog.local.cluster import LocalCluster
    from twinlog.local.jars import JarProgress

app = Commands("Run real Kafka clusters on this machine.")

for _command in (produce, consume):
    app.command()(_command)

Folder = Annotated[Path | None, typer.Option("--dir", help="Where they live.", show_default="$TWINLOG_HOME/clusters")]


@app.command()
def up(
    names: Annotated[list[str], typer.Argument(help="One or more clusters, e.g. `east west`.")],
    brokers: Annotated[int | None, typer.Option(min=1, max=9, help="Brokers of a new one.", show_default="1")] = None,
    secure: Annotated[bool | None, typer.Option(help="TLS, users and ACLs, or plain text.")] = None,
    folder: Folder = None,
    dry_run: DryRun = False,
) -> None:
    """Start clusters, new ones or those that were there before, and print how to reach them."""
    from twinlog.local.links import links_properties

    home = _home(folder)
    clusters = [_cluster(name, home / name, brokers, secure) for name in dict.fromkeys(names)]
    if dry_run:
        would(*(_start_of(cluster) for cluster in clusters))
        return
    start_clusters(clusters)
    Console(stderr=True).print(_table([describe(cluster) for cluster in clusters]))
    typer.echo(links_properties(clusters, same_names=True), nl=False)


@app.command()
def status(
    output: Form = Output.TABLE,
    folder: Folder = None,
) -> None:
    """List the clusters of this machine and what runs of them."""
    described = [describe(cluster) for cluster in _clusters(_home(folder), ())]
    if output.for_programs:
        print_facts(described, output)
    elif described:
        screen(output).print(_table(described, wide=output is Output.WIDE))
    else:
        typer.echo("no local clusters; `twinlog local up east west` makes two")


@app.command()
def down(
    names: Annotated[list[str] | None, typer.Argument(help="Clusters to stop.", show_default="all")] = None,
    wipe: Annotated[bool, typer.Option("--wipe", help="Delete their data, too.")] = False,
    folder: Folder = None,
    dry_run: DryRun = False,
) -> None:
    """Stop clusters. Their data stays, unless it is wiped, and so do their ports."""
    clusters = _clusters(_home(folder), names or ())
    if dry_run:
        data = "its data deleted" if wipe else "its data kept"
        would(*(f"{cluster.name}: would be stopped, {data} ({cluster.folder})" for cluster in clusters))
        return
    console = Console(stderr=True)
    for cluster in clusters:
        with console.status(f"stopping {cluster.name}"):
            if wipe:
                cluster.wipe()
            else:
                cluster.stop()
        typer.echo(f"{cluster.name}: {'wiped' if wipe else 'stopped'}")


def _start_of(cluster: LocalCluster) -> str:
    made = "started again" if (cluster.folder / "cluster.json").exists() else "made and started"
    state = "runs already" if cluster.running else f"would be {made}, brokers: {len(cluster.brokers)}"
    return f"{cluster.name}: {state} ({cluster.folder})"


def start_clusters(clusters: Sequence[LocalCluster]) -> None:
    """Start all side by side with progress on stderr; if one does not come up, the new ones are stopped again."""
    from twinlog.local.jars import kafka_jars, resolve
    from twinlog.surface.cli.progress import bars

    idle = [cluster for cluster in clusters if not cluster.running]
    with bars(stay=True) as progress:
        for version in sorted({broker.kafka for cluster in clusters for broker in cluster.brokers}):
            jars = progress.add_task(f"Kafka {version}", total=1, detail="")
            resolve(kafka_jars(version), partial(_show_jars, progress, jars))
            progress.update(jars, total=1, completed=1, detail="ready")
        tasks = {c.name: progress.add_task(c.name, total=len(c.brokers), detail="starting") for c in clusters}
        try:
            for cluster in idle:
                cluster.launch()
            for cluster in clusters:
                task = tasks[cluster.name]
                cluster.await_ready(on_ready=lambda _, task=task: progress.advance(task))  # type: ignore[misc]
                progress.update(task, detail=cluster.bootstrap_servers)
        except BaseException:
            for cluster in idle:
                cluster.stop()
            raise


def describe(cluster: LocalCluster) -> dict[str, Any]:
    """Return what `status` shows of one cluster."""
    living = sum(broker.running for broker in cluster.brokers)
    state = "running" if living == len(cluster.brokers) else "partly running" if living else "stopped"
    return {
        "name": cluster.name,
        "state": state,
        "secure": cluster.secure,
        "bootstrap_servers": cluster.bootstrap_servers,
        "cluster_id": cluster.cluster_id,
        "folder": str(cluster.folder),
        "brokers": [
            {"node_id": broker.node_id, "port": broker.port, "pid": broker.pid, "answers": broker.answers}
            for broker in cluster.brokers
        ],
    }


def _home(folder: Path | None) -> Path:
    return folder.absolute() if folder else state_folder() / "clusters"


def _cluster(name: str, folder: Path, brokers: int | None, secure: bool | None) -> LocalCluster:
    from twinlog.local.cluster import LocalCluster

    # The name becomes a folder and the first part of keys such as `east->west.topics`.
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise UsageError(problem=f"{name}: a cluster's name has letters, digits, `-` and `_` only")
    if (folder / "cluster.json").exists():
        known = LocalCluster.load(folder)
        wanted = (len(known.brokers) if brokers is None else brokers, known.secure if secure is None else secure)
        if wanted == (len(known.brokers), known.secure):
            return known
    return LocalCluster(name, folder, brokers or 1, bool(secure), detached=True)


def _clusters(home: Path, names: Sequence[str]) -> list[LocalCluster]:
    from twinlog.local.cluster import LocalCluster

    if names:
        return [LocalCluster.load(home / name) for name in names]
    return [LocalCluster.load(file.parent) for file in sorted(home.glob("*/cluster.json"))]


def _show_jars(progress: Progress, task: TaskID, step: JarProgress) -> None:
    progress.update(task, total=step.total, completed=step.done, detail=f"{step.phase} {step.what}")


def _table(described: Sequence[dict[str, Any]], *, wide: bool = False) -> Table:
    table = Table()
    for title in ("cluster", "state", "security", "bootstrap servers", "pids", *(("id", "folder") if wide else ())):
        table.add_column(title, overflow="fold")  # half an address is none
    for row in described:
        pids = " ".join(str(broker["pid"] or "-") for broker in row["brokers"])
        security = "SASL_SSL" if row["secure"] else "none"
        more = (row["cluster_id"], row["folder"]) if wide else ()
        table.add_row(row["name"], row["state"], security, row["bootstrap_servers"], pids, *more)
    return table
