"""A listening socket that takes only so many connections from one address. Runs in the service's loop, when it accepts.

It counts before TLS and before the first byte: whoever opens connections and says nothing must not take them all from
the others (R8). A connection is given back when its socket is closed, however it ended.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from twinlog.surface.http.login_limits import network_of

log = logging.getLogger("twinlog.rest")

_TELL_AGAIN_S: Final = 60.0


class _Guest(socket.socket):
    """An accepted connection that says when it is closed."""

    on_close: Callable[[], None] | None = None

    def close(self) -> None:
        """Close, and say so once."""
        super().close()
        told, self.on_close = self.on_close, None
        if told is not None:
            told()


class Listener(socket.socket):
    """Accepts at most `most` connections of one address, or of one /64. Proxies that are trusted bring many people."""

    most: int = 0
    _trusted: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = ()
    _told: float = -_TELL_AGAIN_S

    @classmethod
    def over(cls, sock: socket.socket, most: int, trusted: Sequence[str] = ()) -> Listener:
        """The same socket with a limit."""
        listener = cls(fileno=sock.detach())
        listener.most = most
        listener._trusted = [ipaddress.ip_network(network) for network in trusted]
        listener._open = Counter()
        return listener

    _open: Counter[str]

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept the next connection that is not one too many. Raises BlockingIOError when there is none."""
        while True:
            accepted, address = super().accept()
            place = network_of(address[0]) if isinstance(address, tuple) else ""
            guest = _Guest(fileno=accepted.detach())
            if self._open[place] < self.most or self._is_trusted(place):
                self._open[place] += 1
                guest.on_close = partial(self._release, place)
                return guest, address
            guest.close()
            self._tell(place)

    def _is_trusted(self, place: str) -> bool:
        try:
            address = ipaddress.ip_network(place).network_address
        except ValueError:
            return False
        return any(address in network for network in self._trusted)

    def _release(self, place: str) -> None:
        self._open[place] -= 1
        if self._open[place] <= 0:
            del self._open[place]

    def _tell(self, place: str) -> None:
        now = time.monotonic()
        if now - self._told >= _TELL_AGAIN_S:
            self._told = now
            log.warning("%s has %d connections; more are closed (http.max.connections.per.address)", place, self.most)
