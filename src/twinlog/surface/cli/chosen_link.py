"""The one link that a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from twinlog.errors import LinkUnknown

if TYPE_CHECKING:
    from twinlog.config.settings import LinkSettings


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
