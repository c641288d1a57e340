"""Messages to systemd (`Type=notify`): ready, what the service does, alive, reading its file again.

Runs in the loop of `twinlog run`. Without NOTIFY_SOCKET nothing is said. The loop says that it is alive itself, so one
that hangs is started anew.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

_LOOK_SECONDS: Final = 0.5
Phases = Callable[[], Sequence[str] | None]
"""The phase of each link; None while it is not known yet which there are."""
_STANDS_BY_SECONDS: Final = 15.0
"""Longer than it takes to be given the links of a service that is gone."""


def known_phases(phases: Sequence[str], to_run: Sequence[str] | None, waited_s: float) -> list[str] | None:
    """Return the phases, or None while some are to come. `to_run`: the links that are ours, None while that is open.

    Whoever waited in vain is a standby, or waits for the store, and that is in order.
    """
    if phases:
        return list(phases)
    nothing_to_run = waited_s > _STANDS_BY_SECONDS if to_run is None else not to_run
    return [] if nothing_to_run else None


@dataclass
class Supervisor:
    """The socket of the one who started us, and how often it wants to hear of us."""

    address: str
    watchdog_seconds: float | None = None
    _ready: bool = field(default=False, init=False)
    _said: str = field(default="", init=False)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Supervisor | None:
        """Find it; None when nobody wants to be told."""
        address = environment.get("NOTIFY_SOCKET", "")
        if not address.startswith(("/", "@")):
            return None
        # WATCHDOG_PID names whom the watchdog is for: a child inherits the variables, not the duty.
        for_me = environment.get("WATCHDOG_PID") in {None, str(os.getpid())}
        usec = environment.get("WATCHDOG_USEC", "")
        return cls(address, int(usec) / 1e6 if for_me and usec.isdigit() and int(usec) else None)

    async def follow(self, phases: Phases) -> None:
        """Tell how the links stand until cancelled, then that the end has begun."""
        pause = min(_LOOK_SECONDS, (self.watchdog_seconds or 60.0) / 3)
        try:
            while True:
                self.look(phases())
                if self.watchdog_seconds is not None:
                    self._tell("WATCHDOG=1")
                await asyncio.sleep(pause)
        finally:
            self._tell("STOPPING=1")

    def look(self, phases: Sequence[str] | None) -> None:
        """Say what is new. Ready means that no link is starting: one that waits for a cluster must not end the rest."""
        if phases is None or (not self._ready and "starting" in phases):
            return
        counts = Counter(phases)
        status = ", ".join(f"{count} {phase}" for phase, count in sorted(counts.items())) or "no links"
        news = [] if self._ready else ["READY=1"]
        if status != self._said:
            news.append(f"STATUS=links: {status}")
        self._ready, self._said = True, status
        if news:
            self._tell("\n".join(news))

    @contextmanager
    def reloading(self) -> Iterator[None]:
        """Tell that the file is read anew, and when that is over: `systemctl reload` waits for it."""
        # Whoever is not ready yet must not say so because of this.
        if not self._ready:
            yield
            return
        # By the time systemd knows this answer from one to an earlier request.
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            yield
        finally:
            self._tell("READY=1")

    def _tell(self, text: str) -> None:
        where = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            # A full or vanished socket is the supervisor's trouble; records continue.
            try:
                sock.sendto(text.encode(), socket.MSG_DONTWAIT, where)
            except OSError:
                return
