"""The file of a Connect worker, read as the settings of a service. Its own keys are Connect's; http.* are Twinlog's."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from twinlog.config.resolve import Draft, Resolved, read_file
from twinlog.config.service_settings import resolve_service
from twinlog.config.text import service_keys as keys
from twinlog.config.text.lookup import Lookup
from twinlog.config.text.properties import Entry, parse_properties
from twinlog.config.text.providers import expand, references_of_file
from twinlog.errors import SettingsInvalid, UsageError
from twinlog.pipelines.settings import SettingsRefused
from twinlog.pipelines.worker_settings import Worker, read_worker


def load_worker(path: Path) -> tuple[Resolved, Worker]:
    """Read a worker's file. Raises SettingsInvalid, UsageError."""
    entries, findings = parse_properties(read_file(path), str(path))
    expanded = expand(entries, str(path), references_of_file(entries, str(path), os.environ))
    try:
        worker = read_worker({key: entry.value.strip() for key, entry in expanded.entries.items()})
    except SettingsRefused as error:
        raise UsageError(f"{path}: {expanded.provided.masked(str(error))}") from None
    # A service without links needs a store; here it is the worker's own cluster.
    store = Entry(f"{keys.STORE}.bootstrap.servers", 0, worker.keys.bootstrap, worker.keys.bootstrap)
    lookup = Lookup(str(path), {**expanded.entries, store.key: store})
    service = resolve_service(lookup)
    told = tuple(expanded.provided.findings([*findings, *expanded.findings, *lookup.findings]))
    if errors := [str(finding) for finding in told if finding.level == "error"]:
        raise SettingsInvalid("\n  ".join([f"{path}: {len(errors)} settings are wrong", *errors]), told)
    rules = service.connectors
    if lookup.find((keys.CONNECTOR_PATHS.name,)) is None:
        rules = rules.model_copy(update={"allowed_paths": None})
    service = service.model_copy(update={"group_id": worker.group_id, "store": worker.cluster, "connectors": rules})
    draft = Draft(lookup, (), None, (), expanded.provided)
    return Resolved((), (), told, {}, service, draft), worker


def listens_at(worker: Worker, file: Resolved) -> str:
    """HOST:PORT of the REST service. Raises UsageError."""
    first = worker.keys.listeners.split(",")[0].strip()
    if not first:
        return f"{worker.keys.host or '127.0.0.1'}:{worker.keys.port}"
    parts = urlsplit(first if "://" in first else f"http://{first}")
    if parts.scheme.lower() == "https" and file.service.http.certificate is None:
        raise UsageError(f"listeners: {first} needs {keys.HTTP_CERTIFICATE.name} and {keys.HTTP_KEY.name}, PEM files")
    host = parts.hostname or "0.0.0.0"  # noqa: S104  Connect's meaning of no host
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or worker.keys.port}"
