"""The way out when a command names a link that a file does not have. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Final

_CHECK: Final = "Check the name. `twinlog validate` lists the links of a file."
_SIMILAR: Final = 0.5


def way_to_link(name: str, links: Collection[str], aliases: Collection[str] = ()) -> str:
    """Say how to get the link that was meant: the nearest name, or the setting that enables a known pair."""
    known = {*aliases, *(alias for link in links for alias in link.split("->"))}
    source, arrow, target = name.partition("->")
    if arrow and {source, target} <= known and source != target:
        return f"The file does not enable it; to mirror it, set `{name}.enabled = true`."
    if not arrow and name in known:
        own = [link for link in links if name in link.split("->")]
        return f"A link has two clusters; did you mean '{own[0]}'?" if own else "A link is written 'SOURCE->TARGET'."
    near = difflib.get_close_matches(name, list(links), n=1, cutoff=_SIMILAR)
    return f"Did you mean '{near[0]}'?" if near else _CHECK
