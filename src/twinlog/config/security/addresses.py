"""Addresses of HTTP services: which travel in clear text, and which a list allows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS: Final = {"http": 80, "https": 443}


def is_clear_text(url: str) -> bool:
    """Whether an address beyond this machine is spoken to without TLS."""
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() == "http" and parts.hostname not in _HERE
    except ValueError:
        return False


def is_listed(url: str, allowed: Iterable[str]) -> bool:
    """Whether an address is one of a list, or below one of it: the same scheme, host and port, and the same folder."""
    wanted = _place(url)
    return wanted is not None and any(_is_below(wanted, place) for place in map(_place, allowed) if place is not None)


_Place = tuple[str, str, int | None, str]


def _place(url: str) -> _Place | None:
    try:
        parts = urlsplit(url.strip())
        scheme = parts.scheme.lower()
        return scheme, parts.hostname or "", parts.port or _PORTS.get(scheme), parts.path.rstrip("/")
    except ValueError:
        return None


def _is_below(wanted: _Place, place: _Place) -> bool:
    path = wanted[3]
    climbs = any(part in {".", ".."} for part in path.replace("%2e", ".").replace("%2E", ".").split("/"))
    return wanted[:3] == place[:3] and not climbs and (path == place[3] or path.startswith(f"{place[3]}/"))
