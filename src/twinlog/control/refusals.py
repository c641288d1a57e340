"""Why a connector cannot be created, in Connect's sentences. Blocks: it reads files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twinlog.config.security.masking import left_masked
from twinlog.control.grounds import Grounds
from twinlog.control.kinds import kind_of, unknown_class
from twinlog.errors import ConnectorRefused
from twinlog.model.connectors import Connector


def check_alone(connector: Connector, grounds: Grounds) -> None:
    """Refuse what could not run, whatever runs beside it. Raises ConnectorRefused."""
    kind = kind_of(connector)
    if kind is None:
        raise ConnectorRefused(connector.name, unknown_class(connector.class_name))
    errors = [f"Invalid value for configuration {key}: it is masked" for key in left_masked(connector.config)]
    errors += [
        finding.sentence
        if finding.key is None
        else f"Invalid value for configuration {finding.key}: {finding.sentence}"
        for finding in kind.check(connector, grounds)
        if finding.level == "error"
    ]
    if errors:
        raise ConnectorRefused(connector.name, invalid(errors))


def invalid(errors: Sequence[str]) -> str:
    """Connect's sentence about settings that are wrong."""
    listed = "\n".join(errors)
    return (
        f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n{listed}\n"
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def send_again(kept: Mapping[str, str]) -> str:
    """What is said about secrets that would go elsewhere with what changed."""
    return invalid([
        f"Invalid value for configuration {key}: send this secret again: {changed} changes, and a kept secret would go "
        "elsewhere"
        for key, changed in kept.items()
    ])  # fmt: skip
