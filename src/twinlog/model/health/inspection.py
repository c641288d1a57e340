"""Facts about a cluster beyond its topics: brokers, limits, clocks. Pure values, for the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

# Numbers of Kafka's requests whose versions tell the release of a broker.
PRODUCE: Final = 0
FETCH: Final = 1
FIND_COORDINATOR: Final = 10


# The newest Fetch version tells the release well enough.
RELEASES: Final = (
    (18, "4.1 or newer"),
    (17, "3.9 or 4.0"),
    (16, "3.7 or 3.8"),
    (15, "3.5 or 3.6"),
    (13, "3.1 to 3.4"),
)


def release_of(fetch_version: int, oldest: str = "before 3.1") -> str:
    """Name the release of a broker by the newest Fetch version that it speaks."""
    return next((name for version, name in RELEASES if fetch_version >= version), oldest)


@dataclass(frozen=True)
class Unknown:
    """It could not be asked, or was not answered."""

    why: str
    denied: bool = False
    """We have no right to know it."""


Known: TypeAlias = T | Unknown


class BrokerFacts(NamedTuple):
    """What a broker says about itself."""

    node: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster as a whole. `operations` are what we may do with it."""

    cluster_id: str
    brokers: tuple[BrokerFacts, ...]
    operations: frozenset[str]


@dataclass(frozen=True)
class TopicFacts:
    """A topic with its replicas. `operations` are what we may do with it."""

    name: str
    partitions: int
    replication_factor: int
    under_replicated: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    operations: frozenset[str] = frozenset()


class ClockFacts(NamedTuple):
    """How far the cluster's clock is ahead of ours, and how exactly that is known (half the round trip)."""

    ahead_ms: float
    error_ms: float


class QuotaFacts(NamedTuple):
    """One quota: whom it binds (`user`, `client-id`, `ip`; None for the default) and to what."""

    entity: tuple[tuple[str, str | None], ...]
    limits: tuple[tuple[str, float], ...]


class DiskFacts(NamedTuple):
    """One log directory of a broker. Sizes are -1 when the broker is too old to tell."""

    node: int
    folder: str
    total_bytes: int
    usable_bytes: int
    topic_bytes: int = 0  # of the topics that were asked about


class CertificateFacts(NamedTuple):
    """A certificate and when it ends."""

    where: str
    subject: str
    ends_ms: int


class NameFacts(NamedTuple):
    """A bootstrap name and how long its address may be remembered; None for a plain address."""

    name: str
    addresses: tuple[str, ...]
    ttl_s: int | None
