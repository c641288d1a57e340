"""Limits on guessing passwords. Runs in the service's loop.

    guess ─▶ counted for (name, network) ─▶ waits its turn and its pause ─▶ checked
                  └─ too many wait already ─▶ sent away (TooManyLoginsError)

Only wrong passwords count, and only for the name and the network they came from: a stranger must not be able to lock
the operators out on the day of a failover, and a right login of somebody else must not buy more guesses. Guesses for
one name from one network are checked one after the other, so that a thousand at the same moment gain nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

FREE: Final = 5
"""Wrong passwords that cost no pause: people mistype."""
FIRST_PAUSE_S: float = 0.5
LONGEST_PAUSE_S: float = 8.0
FORGOTTEN_AFTER_S: Final = 600.0
MOST_WAITING: int = 4
"""Of one name and network, once there is a pause. They hold a connection each."""
_MOST_AT_ONCE: Final = 64
"""The same without a pause: the first requests of a page or a tool come together."""
_MOST_KEYS: Final = 10_000
_REMEMBERED: Final = 16

Key: TypeAlias = tuple[str, str]


class TooManyLoginsError(Exception):
    """So many guesses wait already that one more is not even kept waiting."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def network_of(address: str) -> str:
    """An IPv4 address, or the /64 of an IPv6 address: one customer has all of the addresses in it."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)


@dataclass
class _Guesses:
    failed: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0

    def pause(self, now: float) -> float:
        """How long the next guess waits; each wrong one doubles it."""
        while self.failed and now - self.failed[0] > FORGOTTEN_AFTER_S:
            self.failed.popleft()
        beyond = len(self.failed) - FREE
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**beyond) if beyond >= 0 else 0.0

    def send_away(self) -> None:
        """Refuse one that would wait for too long. Raises TooManyLoginsError."""
        pause = self.pause(time.monotonic())
        if self.waiting - 1 > (MOST_WAITING if pause else _MOST_AT_ONCE):
            raise TooManyLoginsError(int((pause + 1) * MOST_WAITING) + 1)


class Turn:
    """One guess; it counts as wrong unless `right` is called."""

    def __init__(self) -> None:
        self.is_right = False

    def right(self) -> None:
        """Say that the password was right."""
        self.is_right = True


class LoginLimits:
    """All guesses of one service."""

    def __init__(self) -> None:
        self._guesses: dict[Key, _Guesses] = {}

    def is_slowed(self, name: str, address: str) -> bool:
        """Whether guesses for this name from this network wait."""
        guesses = self._guesses.get((name, network_of(address)))
        return guesses is not None and guesses.pause(time.monotonic()) > 0

    @asynccontextmanager
    async def turn(self, name: str, address: str) -> AsyncIterator[Turn]:
        """Around one check of a password: waits as long as it must. Raises TooManyLoginsError."""
        guesses = self._of((name, network_of(address)))
        guesses.waiting += 1
        try:
            guesses.send_away()
            async with guesses.turn:
                guesses.send_away()  # those before may have been wrong
                await asyncio.sleep(guesses.pause(time.monotonic()))
                began, turn = time.monotonic(), Turn()
                guesses.failed.append(began)
                try:
                    yield turn
                finally:
                    # A right login takes back its own count and no other.
                    if turn.is_right and began in guesses.failed:
                        guesses.failed.remove(began)
        finally:
            guesses.waiting -= 1

    def _of(self, key: Key) -> _Guesses:
        own = self._guesses.pop(key, None) or _Guesses()
        self._guesses[key] = own
        if len(self._guesses) > _MOST_KEYS:
            idle = next((idle_key for idle_key, guesses in self._guesses.items() if not guesses.waiting), None)
            if idle is not None:
                del self._guesses[idle]
        return own
