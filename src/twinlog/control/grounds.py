"""What connectors are read by: the limits of the service's file, and the environment of its process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinlog.config.resolve import Resolved
from twinlog.config.security.connector_rules import ConnectorRules
from twinlog.config.text.properties import Entry
from twinlog.config.text.providers import UNFOLLOWED, References, references_of_connectors
from twinlog.pipelines.worker_settings import Worker


@dataclass(frozen=True)
class Grounds:
    """Limits, environment, and the worker whose cluster and defaults pipelines use (None: no pipeline can run)."""

    rules: ConnectorRules = field(default_factory=ConnectorRules)
    environment: Mapping[str, str] = field(default_factory=dict)
    # Off: no reference is followed and no key store opened, as for somebody who may not make connectors.
    looks_inside: bool = True
    worker: Worker | None = None

    def references(self) -> References:
        """How references of a connector are followed."""
        return references_of_connectors(self.rules.providers, self.environment) if self.looks_inside else UNFOLLOWED


def grounds_of(file: Resolved | None, environment: Mapping[str, str], worker: Worker | None = None) -> Grounds:
    """The grounds of a service with this file; without one nothing is allowed that needs a declaration."""
    return Grounds(ConnectorRules() if file is None else file.service.connectors, environment, worker=worker)


def entries_of(config: Mapping[str, str]) -> dict[str, Entry]:
    """A connector's config as the entries of a file."""
    return {key: Entry(key, 1, value, value) for key, value in config.items()}
