"""What the operating system lets one TCP connection hold: on a long line that limits how fast it can be."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_SETTINGS = Path("/proc/sys/net/ipv4")


class SocketBuffers(NamedTuple):
    """Most bytes that a connection may have received and not read, or sent and not yet acknowledged."""

    receive: int
    send: int


def read_socket_buffers(folder: Path = _SETTINGS) -> SocketBuffers | None:
    """What Linux says; None elsewhere."""
    try:
        receive, send = ((folder / name).read_text(encoding="ascii").split() for name in ("tcp_rmem", "tcp_wmem"))
        return SocketBuffers(int(receive[2]), int(send[2]))
    except (OSError, ValueError, IndexError):
        return None
