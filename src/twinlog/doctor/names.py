"""Looking bootstrap names up: their addresses, and how long these may be remembered. Runs in the doctor's loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import Final

import dns.asyncresolver
import dns.exception
import dns.resolver

from twinlog.doctor.checks.reach import is_address
from twinlog.model.health.inspection import NameFacts

_LIMIT_S: Final = 3.0


async def look_up(servers: Iterable[str]) -> tuple[NameFacts, ...]:
    """One look per name; plain addresses are left out."""
    hosts = dict.fromkeys(server.rpartition(":")[0].strip("[]") for server in servers)
    return tuple([await _look(host) for host in hosts if not is_address(host)])


async def _look(host: str) -> NameFacts:
    try:
        entries = await asyncio.to_thread(socket.getaddrinfo, host, None, type=socket.SOCK_STREAM)
    except OSError:
        return NameFacts(host, (), None)
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))
    # Only the name server tells the time to live; a name of /etc/hosts has none.
    try:
        answer = await dns.asyncresolver.resolve(host, lifetime=_LIMIT_S, search=True)
    except (dns.exception.DNSException, OSError):
        return NameFacts(host, addresses, None)
    return NameFacts(host, addresses, int(answer.rrset.ttl) if answer.rrset else None)
