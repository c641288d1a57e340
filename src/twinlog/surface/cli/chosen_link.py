"""The links that a command is about: the one that is named, or those of the file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from twinlog.errors import LinkUnknown
from twinlog.surface.cli.output import chosen_clusters

if TYPE_CHECKING:
    from twinlog.config.settings import LinkSettings


def links_to_show(name: str | None, config: Path, clusters: Iterable[str] | None) -> tuple[LinkSettings, ...]:
    """Return the link of this name, or, without a name, those that run with these clusters."""
    if name is not None:
        return (chosen_link(name, config),)
    from twinlog.config.resolve import load_file

    return load_file(config, chosen_clusters(clusters)).links


def chosen_link(name: str, config: Path) -> LinkSettings:
    """Find it in the file, by `source->target`."""
    from twinlog.config.resolve import load_file
    from twinlog.config.telling.link_way import way_to_link

    resolved = load_file(config)
    links = {link.name: link for link in resolved.links}
    if name not in links:
        aliases = {alias for pair in resolved.heartbeats for alias in pair.name.split("->")}
        raise LinkUnknown(name, str(config), ", ".join(links) or "none", way_to_link(name, links, aliases))
    return links[name]
