"""The token of the user who runs a service without a login: only this user can read it, and it gives the role admin.

    twinlog run --listen 127.0.0.1:8083      writes access/8083.token (0600) and prints a link to the page
    twinlog link pause ...                   of the same user finds the token by itself

Everybody else on the machine reaches the same port and may look. A token lasts as long as its process: one that is left
behind by a crash opens nothing.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from twinlog.machine.folders import state_folder, write_atomically


@dataclass(frozen=True)
class LocalToken:
    """What opens a service; it never shows by itself (R12)."""

    value: str = field(repr=False)
    path: Path | None = None

    def fits(self, shown: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(shown.encode(), self.value.encode())

    def withdraw(self) -> None:
        """Take the file away, unless a later service on this port has written its own."""
        if self.path is not None and _read(self.path) == self.value:
            self.path.unlink(missing_ok=True)


def offer(port: int) -> LocalToken:
    """Make a token and write it where the commands of this user look for it."""
    token = LocalToken(secrets.token_urlsafe(32), _file(port))
    assert token.path is not None  # noqa: S101  given above
    token.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(token.path, f"{token.value}\n", mode=0o600)
    return token


def token_for(url: str) -> str | None:
    """Return this user's token for a service on this machine; None for any other service."""
    parts = urlsplit(url)
    if not is_loopback(parts.hostname or "") or parts.port is None:
        return None
    return _read(_file(parts.port))


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    name = host.strip("[]")
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _file(port: int) -> Path:
    return state_folder() / "access" / f"{port}.token"


def _read(path: Path) -> str | None:
    try:
        status = path.stat()
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            return None  # somebody else could have written or read it
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None
