"""The line to a broker as our own end sees it: what waits to be sent, what it carries, how often it breaks.

Whoever waits for an answer only learns that time has passed. The kernel knows more: which bytes the other host has
received. So a line that is too slow, a broker that received a request and is silent, and connections that break again
and again can be told apart.
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import sys
import termios
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

WATCHED_S: Final = 5.0
"""A rate is that of the last seconds."""
_LEAST_S: Final = 2.0
_BREAKS_S: Final = 10.0
_REPEATED: Final = 2
_PROBE_AFTER_S: Final = 3
_PROBE_EVERY_S: Final = 2
_PROBES: Final = 5


class Backlog(NamedTuple):
    """What waits for a line that carries less than it is given, or nothing."""

    bytes_per_s: float
    waiting: int


@dataclass
class Load:
    """What was given to one connection, and how much of it the other host has received."""

    sent: int = 0
    _seen: deque[tuple[float, int, int]] = field(default_factory=deque)  # when, received there, waiting here

    def look(self, waiting: int, now: float) -> None:
        """Keep in mind how it stands now; to be called every second or so."""
        while self._seen and self._seen[0][0] < now - WATCHED_S:
            self._seen.popleft()
        self._seen.append((now, self.sent - waiting, waiting))

    def backlog(self) -> Backlog | None:
        """Bytes waited all the time. If some were received, the line is what holds them up."""
        if not self._seen or not all(waiting for _, _, waiting in self._seen):
            return None
        (began, first, _), (now, last, waiting) = self._seen[0], self._seen[-1]
        return None if now - began < _LEAST_S else Backlog((last - first) / (now - began), waiting)


class _End(NamedTuple):
    at: float
    broker: str
    why: str
    again: bool  # it was opened after another one to the same broker had ended


@dataclass
class Breaks:
    """Connections of a cluster that the other side has ended, or the line."""

    _ended: deque[_End] = field(default_factory=deque)

    def note(self, now: float, broker: str, why: str, opened_at: float) -> None:
        """One has ended, and not by us."""
        again = any(end.broker == broker and end.at < opened_at for end in self._ended)
        self._ended.append(_End(now, broker, why, again))

    def repeated(self, now: float) -> tuple[int, list[str], str] | None:
        """How many in the last seconds, with whom and why; None unless new connections break as well.

        A broker that ends breaks each connection once. It is not told of here.
        """
        while self._ended and self._ended[0].at < now - _BREAKS_S:
            self._ended.popleft()
        if sum(end.again for end in self._ended) < _REPEATED:
            return None
        reasons = [end.why for end in self._ended]
        return len(reasons), sorted({end.broker for end in self._ended}), max(reasons, key=reasons.count)


def waiting_bytes(transport: asyncio.WriteTransport) -> int:
    """Bytes that the other host has not received yet: those in our buffer and those in the kernel's."""
    waiting = transport.get_write_buffer_size()
    if transport.is_closing():
        return waiting
    try:
        kernel = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, b"\x00" * 4)
    except OSError:  # closed, or a system that does not tell
        return waiting
    return waiting + int(struct.unpack("i", kernel)[0])


def keep_alive(transport: asyncio.WriteTransport) -> None:
    """Let the kernel ask the other host whether the connection still exists while we wait for an answer.

    A firewall, or a host that was started again, may have ended it without our hearing of it. Without these questions
    we would wait until the request times out.
    """
    line = transport.get_extra_info("socket")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "darwin":
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPALIVE, _PROBE_AFTER_S)
    else:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_AFTER_S)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_EVERY_S)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
