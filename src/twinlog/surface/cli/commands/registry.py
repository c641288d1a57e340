"""`twinlog registry`: the schema registry."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twinlog.errors import UsageError
from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.options import ConfigFile, LinkArgument
from twinlog.surface.cli.output import Form, Output, print_facts, print_findings

if TYPE_CHECKING:
    from twinlog.registry.inventory import Inventory

app = Commands("The schema registry: a drop-in for Confluent Schema Registry.")

File = Annotated[Path, typer.Option("--config", "-c", help="Confluent's schema-registry.properties, as it is.")]


@app.command()
def run(config: File, dry_run: DryRun = False) -> None:
    """Serve schemas until Ctrl-C or SIGTERM. Several instances with one group elect a leader among them."""
    from twinlog.config.foreign.schema_registry import load_registry_file
    from twinlog.surface.registry.server import serve

    settings, findings = load_registry_file(config)
    print_findings(findings)
    if dry_run:
        listeners = ", ".join(listener.url for listener in settings.listeners)
        would(f"would serve {settings.topic} of {', '.join(settings.kafka.bootstrap_servers)} at {listeners}")
        return
    logging.getLogger("twinlog.registry").setLevel(min(logging.INFO, logging.getLogger().getEffectiveLevel()))
    serve(settings)


Url = Annotated[str, typer.Argument(help="Address of a registry, such as http://127.0.0.1:8081.")]


@app.command()
def status(url: Url = "http://127.0.0.1:8081", output: Form = Output.TABLE) -> None:
    """Show who leads, how far the topic was read, and what is wrong. Exit code 1 when no instance leads."""
    from twinlog.surface.registry.remote import RemoteRegistry

    facts = RemoteRegistry(url).want("GET", "/twinlog/registry")
    if output.for_programs:
        print_facts(facts, output)
    else:
        typer.echo("\n".join(_told(facts)))
    if facts["leader"] is None:
        raise typer.Exit(1)


def _told(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['url']}  {facts['role']}, leader {facts['leader'] or 'unknown'}"
    loading = facts["loading"]
    read = "read to its end" if facts["loaded"] else f"loading {loading['read']} of {loading['of'] or 'unknown'}"
    yield f"  topic {facts['topic']}: {read}, next offset {facts['offset']}"
    yield f"  {facts['subjects']} subjects, {facts['versions']} versions, {facts['schemas']} schemas"
    yield "  highest ids: " + ", ".join(f"{context} {number}" for context, number in facts["last_id"].items())
    if facts["copy_of"]:
        yield f"  a copy: the schemas belong to Kafka cluster {facts['copy_of']} (term {facts['term']}); read-only"
    if facts["snapshot_of"]:
        yield f"  Kafka cannot be read; what was written down at {_clock(facts['snapshot_of'])} is served"
    for fault in facts["faults"]:
        yield f"  record at offset {fault['offset']} was left out: {fault['record']}: {fault['reason']}"
    for error in facts["errors"]:
        yield f"  {error}"


def _clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@app.command()
def export(
    url: Url,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Where to write; absent: standard output.")] = None,
) -> None:
    """Write all schemas with their ids, and all settings, as one JSON object per line. Works with any registry."""
    from twinlog.surface.registry.remote import RemoteRegistry

    inventory = RemoteRegistry(url).inventory()
    text = "".join(f"{line}\n" for line in inventory.lines())
    if file is None:
        typer.echo(text, nl=False)
        return
    file.write_text(text, encoding="utf-8")
    typer.echo(f"{file}: {len(inventory.versions)} versions", err=True)


@app.command(name="import")
def import_(
    url: Url,
    file: Annotated[Path, typer.Option("--file", "-f", help="What `twinlog registry export` wrote.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Import beside schemas that are there already.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Put exported schemas into a registry under their own ids. Can be repeated. Exit code 1 on conflicts."""
    from twinlog.registry.inventory import differences
    from twinlog.surface.registry.remote import RemoteRegistry, put_inventory

    wanted, target = _exported(file), RemoteRegistry(url)
    if dry_run:
        differing = differences(wanted, target.inventory())
        would(
            *(
                f"{difference.what}: {difference.there} becomes {difference.here}"
                for difference in differing
                if difference.here != "missing"
            )
        )
        return
    outcome = put_inventory(target, wanted, force=force)
    typer.echo(f"{outcome.written} written, {outcome.known} there already, {outcome.deleted} soft-deleted")
    for conflict in outcome.conflicts:
        typer.echo(conflict, err=True)
    if outcome.conflicts:
        raise typer.Exit(1)


@app.command()
def verify(
    url: Url,
    against: Annotated[str, typer.Option("--against", help="Another registry, or the file of an export.")],
    output: Form = Output.TABLE,
) -> None:
    """Compare ids, versions, texts and settings of two registries. Exit code 1 when they differ."""
    from twinlog.registry.inventory import differences
    from twinlog.surface.registry.remote import RemoteRegistry

    here = RemoteRegistry(url).inventory()
    there = RemoteRegistry(against).inventory() if "://" in against else _exported(Path(against))
    differing = differences(here, there)
    if output.for_programs:
        print_facts(
            {"versions": len(here.versions), "differences": [asdict(difference) for difference in differing]}, output
        )
    else:
        for difference in differing:
            typer.echo(f"{difference.what}: {difference.here} here, {difference.there} there")
        typer.echo(f"{len(here.versions)} versions compared, {len(differing)} differences")
    if differing:
        raise typer.Exit(1)
    if not here.versions:
        raise UsageError(f"{url}: there are no schemas, so nothing was compared")


@app.command()
def promote(link: LinkArgument, config: ConfigFile, *, dry_run: DryRun = False) -> None:
    """Let the registry of a link's target take new schemas, although records are not switched. `failover` does it too.

    Ids of the target begin behind all that the source may give, so nothing collides. `twinlog failback` writes the
    new schemas into the source's registry.
    """
    import asyncio

    from twinlog.recovery.promotion import promotion_of
    from twinlog.surface.cli.chosen_link import chosen_link

    chosen = chosen_link(link, config)
    if not chosen.registry.mirrored:
        raise UsageError(f"{chosen.name}: the link mirrors no registry (registry.mirror)")
    home, versions = asyncio.run(promotion_of(chosen, dry_run=dry_run))
    said = f"gives ids above {home.floor('.')} (term {home.term}); it has {versions} versions"
    if dry_run:
        would(f"{chosen.target}: the registry would be promoted and {said}")
    else:
        typer.echo(f"{chosen.target}: the registry is promoted and {said}")


@app.command()
def repair(config: File, *, dry_run: DryRun = False, output: Form = Output.TABLE) -> None:
    """Look through the topic of schemas and repair what can be repaired. Exit code 1 when something is left."""
    import asyncio

    from twinlog.config.foreign.schema_registry import load_registry_file
    from twinlog.registry.repairing import repair_topic

    settings, _ = load_registry_file(config)
    fence = f"{settings.group_id}-{settings.topic}"
    repaired = asyncio.run(repair_topic(settings.kafka, settings.topic, fence, dry_run=dry_run))
    left = [defect.what for defect in repaired.defects if not defect.records]
    if output.for_programs:
        rows = [{"what": defect.what, "records": len(defect.records)} for defect in repaired.defects]
        print_facts({"defects": rows, "written": repaired.written}, output)
    else:
        for defect in repaired.defects:
            way = f"{len(defect.records)} records repair it" if defect.records else "only a person can decide"
            typer.echo(f"{defect.what}: {way}")
        typer.echo(f"{settings.topic}: {len(repaired.defects)} defects, {repaired.written} records written")
    if dry_run:
        would()
    if left:
        raise typer.Exit(1)


def _exported(file: Path) -> Inventory:
    from twinlog.registry.inventory import read_lines

    try:
        return read_lines(file.read_text(encoding="utf-8").split("\n"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: {error}") from None
