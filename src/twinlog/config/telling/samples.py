"""Settings files to begin with, one for each topology: commented, valid as they are. Pure.

`twinlog init` writes them; examples/ holds the same files with the names given here (`make reference`).
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from twinlog.config.telling.generated import keep

FOLDER: Final = Path("examples")
DEFAULT_TOPICS: Final = "orders, payments.*"
IDENTITY: Final = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@dataclass(frozen=True)
class Topology:
    """Which clusters there are and which way records go."""

    title: str
    story: tuple[str, ...]
    clusters: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    same_names: bool = False
    """Whether a copy keeps the name of its original."""
    more: tuple[str, ...] = ()
    """Lines that only this topology needs."""


TOPOLOGIES: Final[Mapping[str, Topology]] = {
    "active-passive": Topology(
        "one active cluster, one standby",
        (
            "Applications work on {0}; {1} holds a copy of everything under the same names, with the positions of the",
            "consumer groups. After `twinlog failover '{0}->{1}'` they continue there without a changed topic name.",
        ),
        ("east", "west"),
        (("east", "west"),),
        same_names=True,
    ),
    "active-active": Topology(
        "two clusters, applications on both",
        (
            "Each side has the records of both. A copy is named after where it comes from: `orders` of {0} is",
            "`{0}.orders` on {1}. To have both in one topic, see docs/active-active.md.",
        ),
        ("east", "west"),
        (("east", "west"), ("west", "east")),
    ),
    "hub": Topology(
        "many clusters into one",
        (
            "The edges send what they have to {0}, where `{1}.orders` and `{2}.orders` lie side by side.",
            "Nothing goes back.",
        ),
        ("hub", "plant1", "plant2"),
        (("plant1", "hub"), ("plant2", "hub")),
    ),
    "fan-out": Topology(
        "one cluster into many",
        ("What is written on {0} is read near its readers: {1} and {2} hold it under the same names.",),
        ("origin", "europe", "asia"),
        (("origin", "europe"), ("origin", "asia")),
        same_names=True,
    ),
    "chain": Topology(
        "from one to the next and on",
        (
            "{0} reaches {2} by way of {1}, under the same names all the way. {2} needs no connection to {0}, and {0}",
            "is read only once.",
        ),
        ("first", "second", "third"),
        (("first", "second"), ("second", "third")),
        same_names=True,
    ),
    "mesh": Topology(
        "three clusters, each with each",
        (
            "Applications write and read the same names everywhere. A link copies what was born at its source, so that",
            "every record is on {0}, {1} and {2} once.",
        ),
        ("east", "west", "north"),
        tuple(itertools.permutations(("east", "west", "north"), 2)),
        same_names=True,
        more=(
            "# What came from elsewhere is not sent on: everybody has it at first hand. In a file that shows the whole",
            "# mesh this is the default; it is needed where each datacenter has a file with a part of the links.",
            "provenance.relay = none",
        ),
    ),
    "ring": Topology(
        "three clusters in a circle",
        (
            "As a mesh, with one link into each cluster: a record of {0} reaches {2} by way of {1} and ends there,",
            "because its headers tell where it has been.",
        ),
        ("east", "west", "north"),
        (("east", "west"), ("west", "north"), ("north", "east")),
        same_names=True,
        more=(
            "# Each link adds a header that says where a record has been; nothing else keeps it from going round.",
            "provenance.header.enable = true",
        ),
    ),
}


def default_servers(alias: str) -> str:
    """Return an address that is plainly an example's."""
    return f"{alias}-1.example.com:9092, {alias}-2.example.com:9092"


def sample(
    name: str, aliases: Mapping[str, str] | None = None, servers: Mapping[str, str] | None = None, topics: str = ""
) -> str:
    """Return the file; `aliases` renames the clusters of the topology, `servers` says where those are."""
    topology = TOPOLOGIES[name]
    called = {alias: (aliases or {}).get(alias, alias) for alias in topology.clusters}
    places = {called[alias]: (servers or {}).get(alias) or default_servers(called[alias]) for alias in called}
    links = [f"{called[source]}->{called[target]}" for source, target in topology.links]
    return "\n".join(_lines(name, topology, places, links, topics or DEFAULT_TOPICS)) + "\n"


def _lines(name: str, topology: Topology, places: Mapping[str, str], links: list[str], topics: str) -> Iterator[str]:
    aliases = list(places)
    yield f"# Twinlog, {name}: {topology.title}."
    yield from (f"# {line.format(*aliases)}" for line in topology.story)
    yield "#"
    yield "# Check it with `twinlog validate -c FILE`, start it with `twinlog run -c FILE`. It is watched for changes."
    yield "# MirrorMaker 2 reads the same format. All keys: docs/reference/settings.md."
    yield ""
    yield f"clusters = {', '.join(aliases)}"
    yield from (f"{alias}.bootstrap.servers = {place}" for alias, place in places.items())
    yield ""
    yield "# A cluster with a login. Passwords live elsewhere: ${file:PATH:KEY}, ${dir:FOLDER:NAME} or ${env:NAME}."
    yield f"#{aliases[-1]}.security.protocol = SASL_SSL"
    yield f"#{aliases[-1]}.sasl.mechanism = SCRAM-SHA-512"
    yield f"#{aliases[-1]}.sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required \\"
    yield '#    username="twinlog" password="${file:/etc/twinlog/secrets.properties:password}";'
    yield ""
    yield "# Which records go where. Topics are names or Java expressions, with commas between."
    for link in links:
        yield f"{link}.enabled = true"
        yield f"{link}.topics = {topics}"
    yield ""
    yield "# New topics are copied from their first record on; `latest` leaves out what is there already."
    yield "start.from = earliest"
    yield ""
    if topology.same_names:
        yield "# A copy has the name of its original. Without this line it is called SOURCE.TOPIC."
        yield f"replication.policy.class = {IDENTITY}"
        yield ""
    if topology.more:
        yield from topology.more
        yield ""
    yield "# Write the positions of consumer groups on the targets as well, so that they can continue there."
    yield "sync.group.offsets.enabled = true"
    yield ""
    yield "# Topics that are made on a target have this many replicas; -1 is the target's own default."
    yield "replication.factor = -1"
    yield ""
    yield "# `skip` records a loss and continues if a source deleted records before they were copied; the default stops"
    yield "# that partition and says so."
    yield "#on.gap = skip"


def files() -> dict[Path, str]:
    """All of examples/."""
    return {FOLDER / f"{name}.properties": sample(name) for name in TOPOLOGIES}


if __name__ == "__main__":
    sys.exit(keep(files(), "`twinlog init` writes", sys.argv[1:]))
