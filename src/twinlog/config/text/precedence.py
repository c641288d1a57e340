"""Which of several spellings of a setting counts: MirrorMaker 2's rules, as lists of keys, the strongest first. Pure.

MirrorMaker 2 assembles maps and lets later ones win; the outcome for a link A->B is this. `k` is a client setting; the
keys in brackets count only for the *shared* ones, which every Kafka client has (bootstrap.servers, security.protocol,
ssl.*, sasl.*).

    source consumer   A->B.source.consumer.k  A.consumer.k  [A.k]  [k]  A->B.consumer.k  [A->B.source.cluster.k]
    source admin      A->B.source.admin.k     A.admin.k     [A.k]  [k]  A->B.admin.k     [A->B.source.cluster.k]
    source producer   A->B.source.producer.k  A.producer.k  [A.k]  [k]  A->B.producer.k  [A->B.source.cluster.k]
    target admin      A->B.target.admin.k     B.admin.k     [B.k]  [k]  A->B.admin.k     [A->B.target.cluster.k]
    target consumer   A->B.target.consumer.k  B.consumer.k  [B.k]  [k]  A->B.consumer.k  [A->B.target.cluster.k]
    target producer   A->B.producer.override.k  B.producer.k  [B.k]  [k]

The source producer writes offset-syncs and the target consumer reads checkpoints; records pass neither of them.

Two surprises are MirrorMaker 2's own: `A->B.consumer.k` loses to `A.consumer.k` (and to a shared top-level key), and
`A->B.producer.k` never reaches the producer of the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from twinlog.model.names import LinkName


class Client(Enum):
    """The kinds of client, by the word that MirrorMaker 2 puts before their settings."""

    CONSUMER = "consumer"
    PRODUCER = "producer"
    ADMIN = "admin"


@dataclass(frozen=True)
class Role:
    """One of the clients that a link needs."""

    name: str
    client: Client
    at_source: bool

    def cluster(self, link: LinkName) -> str:
        """Alias of the cluster that this client talks to."""
        return link.source if self.at_source else link.target


SOURCE_CONSUMER = Role("source consumer", Client.CONSUMER, at_source=True)
SOURCE_ADMIN = Role("source admin", Client.ADMIN, at_source=True)
SOURCE_PRODUCER = Role("source producer", Client.PRODUCER, at_source=True)
TARGET_CONSUMER = Role("target consumer", Client.CONSUMER, at_source=False)
TARGET_PRODUCER = Role("target producer", Client.PRODUCER, at_source=False)
TARGET_ADMIN = Role("target admin", Client.ADMIN, at_source=False)


def link_keys(link: LinkName, name: str, old_names: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Spellings of a link's setting; an old name counts only where the new one is absent, at any level."""
    return tuple(spelling for spelled in (name, *old_names) for spelling in (f"{link}.{spelled}", spelled))


def client_keys(role: Role, link: LinkName, name: str, *, shared: bool) -> tuple[str, ...]:
    """Spellings of a client's setting; `shared` for those that every Kafka client has."""
    client, cluster = role.client.value, role.cluster(link)
    below = (f"{cluster}.{name}", name) if shared else ()
    if role == TARGET_PRODUCER:
        return (f"{link}.producer.override.{name}", f"{cluster}.producer.{name}", *below)
    end = "source" if role.at_source else "target"
    weakest = (f"{link}.{end}.cluster.{name}",) if shared else ()
    return (f"{link}.{end}.{client}.{name}", f"{cluster}.{client}.{name}", *below, f"{link}.{client}.{name}", *weakest)
