"""`twinlog-registry`: the schema registry alone, from a wheel without Spark and without the other commands."""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from twinlog.config.foreign.schema_registry import load_registry_file
from twinlog.errors import TwinlogError
from twinlog.surface.registry.server import serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop. Exit code 2 for a file that is wrong."""
    parser = argparse.ArgumentParser("twinlog-registry", description="A drop-in for Confluent Schema Registry.")
    parser.add_argument("-c", "--config", type=Path, required=True, help="schema-registry.properties, as it is")
    parser.add_argument("--dry-run", action="store_true", help="only check the file")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=os.environ.get("TWINLOG_LOG", "INFO"), format="%(asctime)s %(levelname)s %(message)s")
    try:
        settings, findings = load_registry_file(given.config)
        for finding in findings:
            sys.stderr.write(f"{finding}\n")
        if given.dry_run:
            listeners = ", ".join(listener.url for listener in settings.listeners)
            servers = ", ".join(settings.kafka.bootstrap_servers)
            sys.stdout.write(f"would serve {settings.topic} of {servers} at {listeners}\n")
            return 0
        serve(settings)
    except TwinlogError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0
