"""Where the value of a setting leads: hosts of the network, and files of this machine. Pure.

A setting that leads somewhere says so with one of these functions, where it is defined. Each reads a value as that does
what uses it later, so that a rule about places sees the same place. A value in which no place is found is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

_PORT: Final = re.compile(r":\d*$")
_BUCKETS: Final = frozenset({"s3", "s3a", "gs", "az", "abfs", "abfss"})
"""Schemes of addresses that name a bucket, not a host."""
_ODD: Final = re.compile(r"[\s\\\x00-\x1f]|@.*@")
"""What parsers of addresses read differently."""


class Places(NamedTuple):
    """Hosts without their ports, in small letters, and paths."""

    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


Leads: TypeAlias = Callable[[str], Places]
"""Finds the places of a value. Raises ValueError where none can be found; its text says why."""


def leads_to_path(text: str) -> Places:
    """A file or a folder of this machine."""
    return Places(paths=(text.strip(),))


def leads_to_hosts(text: str) -> Places:
    """Hosts or HOST:PORT, separated by commas, as brokers and PostgreSQL's library take them."""
    return Places(tuple(_host(host) for host in _listed(text)))


def leads_to_urls(text: str) -> Places:
    """Addresses of HTTP, separated by commas; without a scheme it is http."""
    return Places(tuple(_hostname(split_url(url)) for url in _listed(text)))


def leads_to_url(text: str) -> Places:
    """One address of HTTP."""
    return Places((_hostname(split_url(text.strip())),))


def leads_to_store(text: str) -> Places:
    """A folder (file:///folder), or the address of an object store."""
    address = split_url(text.strip())
    if address.scheme != "file":
        return Places((_hostname(address),))
    if address.netloc:
        raise ValueError("a folder of this machine is file:///folder, with three slashes")
    return Places(paths=(unquote(address.path),))


def leads_to_lake(text: str) -> Places:
    """A lake's places: a folder, the file of a catalog in SQLite, or an address. Names of buckets are no places."""
    value = text.strip()
    if value.startswith("/"):
        return Places(paths=(value,))
    if "://" not in value and not value.startswith("file:"):
        return Places()
    address = split_url(value)
    if address.scheme in _BUCKETS:
        return Places()
    if address.scheme.startswith("sqlite"):
        return Places(paths=(unquote(address.path)[1:],))
    return leads_to_store(value)


def split_url(text: str) -> SplitResult:
    """The parts of an address; without a scheme it is http, as some servers' own tools have it. Raises ValueError."""
    if _ODD.search(text):
        raise ValueError("not an address: it has a space, a backslash or a second @")
    return urlsplit(text if "://" in text or text.startswith("file:") else f"http://{text}")


def _hostname(address: SplitResult) -> str:
    _ = address.port  # raises for a port that is no number
    if not address.hostname:
        raise ValueError("names no host")
    return address.hostname.lower()


def _listed(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise ValueError("names no host")
    return parts


def _host(text: str) -> str:
    host = _PORT.sub("", text.rpartition("://")[2]).strip("[]").lower()
    if not host or "/" in host or _ODD.search(host):
        raise ValueError("names no host")
    return host
