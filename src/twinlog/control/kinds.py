"""The list of all kinds of connectors. A new kind is one entry here; everything else finds it by this list."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from twinlog.config.resolve import Resolved
from twinlog.control.grounds import Grounds
from twinlog.control.kind import Family, Kind, OtherPlugin, Part
from twinlog.control.link_kinds import LinkFamily
from twinlog.control.pipeline_kinds import PipelineFamily
from twinlog.model.connectors import Connector, TargetState

FAMILIES: Final[tuple[Family, ...]] = (LinkFamily(), PipelineFamily())
"""Links come first: whoever asks about a link alone does not load what pipelines need."""


@functools.cache
def all_kinds() -> tuple[Kind, ...]:
    """Every kind there is."""
    return tuple(kind for family in FAMILIES for kind in family.kinds())


def kind_named(class_name: str) -> Kind | None:
    """Find a kind by its class: in full, without the package, or without the word Connector, as Connect takes it."""
    return next((kind for family in FAMILIES for kind in family.kinds() if kind.is_called(class_name)), None)


def other_plugins() -> list[OtherPlugin]:
    """Plugins that are no connectors."""
    return [plugin for family in FAMILIES for plugin in family.other_plugins()]


def kind_of(connector: Connector) -> Kind | None:
    """The kind of a connector; None for a class that this version does not have."""
    return kind_named(connector.class_name)


def unknown_class(name: str) -> str:
    """What is said about a class that nobody has."""
    if not name.strip():
        return "Connector config contains no connector type: connector.class is missing"
    known = [kind.class_name.rpartition(".")[2] for kind in all_kinds()]
    listed = f"{', '.join(known[:-1])} and {known[-1]}"
    return f"Failed to find any class that implements Connector and which name matches {name}; available are {listed}"


def plan_all(
    file: Resolved | None, stored: Sequence[Connector], state_of: Callable[[str], TargetState], grounds: Grounds
) -> list[Part]:
    """Plan each family with its connectors. Blocking."""
    parts, others = [], list(stored)
    for family in FAMILIES:
        # A family is asked for its kinds only while connectors are left: those of pipelines take a second to load.
        own = [other for other in others if any(kind.is_called(other.class_name) for kind in family.kinds())]
        parts.append(family.plan(file, own, state_of, grounds))
        others = [other for other in others if other not in own]
    strangers = {other.name: unknown_class(other.class_name) for other in others}
    return [*parts, Part(troubles=strangers)]


def in_file(file: Resolved | None, states: Mapping[str, TargetState]) -> list[Connector]:
    """What the settings file has, shown as connectors, with the states that were asked for them."""
    connectors = [] if file is None else [connector for family in FAMILIES for connector in family.in_file(file)]
    return [connector.wanted(states.get(connector.name, connector.state)) for connector in connectors]
