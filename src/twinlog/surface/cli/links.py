"""The link that a command names."""

from __future__ import annotations

from pathlib import Path

from twinlog.config.resolve import load_file
from twinlog.config.settings import LinkSettings
from twinlog.errors import LinkUnknown


def chosen_link(name: str, config: Path) -> LinkSettings:
    """Find one enabled link in a settings file."""
    links = {link.name: link for link in load_file(config).links}
    if name not in links:
        raise LinkUnknown(name, str(config), ", ".join(links) or "none")
    return links[name]
