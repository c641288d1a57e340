"""What connectors are read by: the limits of the service's file, and the environment of its process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from twinlog.config.resolve import Resolved
from twinlog.config.security.connector_rules import ConnectorRules
from twinlog.config.text.providers import UNFOLLOWED, References, references_of_connectors


@dataclass(frozen=True)
class Grounds:
    """Limits and environment."""

    rules: ConnectorRules = field(default_factory=ConnectorRules)
    environment: Mapping[str, str] = field(default_factory=dict)
    # Off: no reference is followed and no key store opened, as for somebody who may not make connectors.
    looks_inside: bool = True

    def references(self) -> References:
        """How references of a connector are followed."""
        return references_of_connectors(self.rules.providers, self.environment) if self.looks_inside else UNFOLLOWED


def grounds_of(file: Resolved | None, environment: Mapping[str, str]) -> Grounds:
    """The grounds of a service with this file; without one nothing is allowed that needs a declaration."""
    return Grounds(ConnectorRules() if file is None else file.service.connectors, environment)
