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

    links = {link.name: link for link in load_file(config).links}
    if name not in links:
        raise LinkUnknown(name, str(config), ", ".join(links) or "none")
    return links[name]
