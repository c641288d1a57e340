"""`twinlog registry`: the schema registry."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from twinlog.surface.cli.effects import DryRun, would
from twinlog.surface.cli.grammar import Commands
from twinlog.surface.cli.output import print_findings

app = Commands("The schema registry: a drop-in for Confluent Schema Registry.")

File = Annotated[Path, typer.Option("--config", "-c", help="Confluent's schema-registry.properties, as it is.")]


@app.command()
def run(config: File, dry_run: DryRun = False) -> None:
    """Serve schemas until told to stop. Several instances with one group elect a leader among them."""
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
