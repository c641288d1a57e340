"""Where records come from, so that none comes home: the rules of both kinds of provenance. Pure.

Between clusters that use the same topic names a record must not be copied back to where it was born. Two ways:

    batch    every link notes the producer ids it writes with, on the cluster it writes into (`WRITERS_TOPIC`). A link
             that reads from there leaves out, unopened, the batches that came from its own target.
    header   every link adds a header to each record: the cluster and topic it was copied from, and when. A record that
             names the target's cluster and topic is left out. Batches must be opened for this.

A batch tells only its last hop, a header tells all of them. `model.topology` says which topologies need which.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from twinlog.model.javaregex import Matcher, RegexError, compile_java

WRITERS_TOPIC: Final = "__twinlog-writers"
"""On every cluster that a link writes into: who wrote what there. One partition, compacted."""
HEADER: Final = "twinlog.provenance"
"""Key of the record header; one for each hop, the origin first."""

Mode: TypeAlias = Literal["batch", "header", "off"]
Relay: TypeAlias = Literal["all", "none"]
OVERRIDES_ALLOWED: Final = "clusterRegex,topicRegex,fromMs-untilMs; several separated by `;`, `-` is any time"
_RANGE: Final = re.compile(r"([0-9]{0,18})-([0-9]{0,18})")


class ClusterIds(NamedTuple):
    """The ids that the two clusters of a link were formatted with: aliases differ from file to file, these do not."""

    source: str
    target: str


# --- batches ----------------------------------------------------------------------------------------------------------


class WriterNote(NamedTuple):
    """A producer id that a link writes with, as the cluster it writes into keeps it. Never removed: batches last."""

    producer_id: int
    link: str
    source_cluster: str

    def key(self) -> bytes:
        """The key of the record."""
        return f"writer/{self.producer_id}".encode()

    def value(self) -> bytes:
        """The value of the record."""
        return json.dumps(self._asdict()).encode()


def read_writer(key: bytes | None, value: bytes | None) -> WriterNote | None:
    """Read one record of the writers' topic; None for what we did not write."""
    if not key or not value or not key.startswith(b"writer/"):
        return None
    try:
        fields = json.loads(value)
        return WriterNote(int(fields["producer_id"]), str(fields["link"]), str(fields["source_cluster"]))
    except (ValueError, TypeError, KeyError):
        return None


# --- headers ----------------------------------------------------------------------------------------------------------


class Hop(NamedTuple):
    """One copy: the cluster and topic that it was taken from, and when."""

    cluster: str
    topic: str
    at_ms: int

    def encode(self) -> bytes:
        """Text, so that a console consumer shows it. Neither cluster ids nor topic names can hold a comma."""
        return f"{self.cluster},{self.topic},{self.at_ms}".encode()


def read_hops(headers: Iterable[tuple[str, bytes | None]]) -> list[Hop]:
    """The hops of a record, the origin first. A header of our name that we did not write says nothing."""
    return [hop for key, value in headers if key == HEADER and value and (hop := _read_hop(value))]


def _read_hop(value: bytes) -> Hop | None:
    cluster, _, rest = value.decode(errors="replace").partition(",")
    topic, _, at_ms = rest.partition(",")
    return Hop(cluster, topic, int(at_ms)) if cluster and topic and at_ms.isdecimal() else None


@dataclass(frozen=True)
class Override:
    """Records to be copied although they come home, as Replicator words it: cluster, topic, from <= time < until."""

    cluster: str
    topic: str
    from_ms: int | None = None
    until_ms: int | None = None

    def covers(self, hop: Hop) -> bool:
        """Whether this hop is no reason to leave a record out."""
        early = self.from_ms is not None and hop.at_ms < self.from_ms
        late = self.until_ms is not None and hop.at_ms >= self.until_ms
        return not early and not late and self.covers_topic(hop.cluster, hop.topic)

    def covers_topic(self, cluster: str, topic: str) -> bool:
        """The same without the time."""
        return bool(_compiled(self.cluster).fullmatch(cluster) and _compiled(self.topic).fullmatch(topic))

    @property
    def is_for_ever(self) -> bool:
        """Whether the time does not matter."""
        return self.from_ms is None and self.until_ms is None


def parse_overrides(text: str) -> tuple[Override, ...]:
    """Read `provenance.header.filter.overrides`. Raises ValueError with what is wrong."""
    overrides: list[Override] = []
    for number, part in enumerate(filter(None, (part.strip() for part in text.split(";"))), 1):
        fields = [field.strip() for field in part.split(",")]
        times = _RANGE.fullmatch(fields[2]) if len(fields) == 3 else None
        if times is None or not fields[0] or not fields[1]:
            raise ValueError(f"part {number} is not {OVERRIDES_ALLOWED}")
        try:
            for pattern in fields[:2]:
                _compiled(pattern)
        except RegexError as error:
            raise ValueError(f"part {number} has {error}") from None
        begin, end = (int(time) if time else None for time in times.groups())
        overrides.append(Override(fields[0], fields[1], begin, end))
    return tuple(overrides)


# --- the rules of a link ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Provenance:
    """How one link keeps records from coming home.

    `relay` is what happens, in batch mode, to records that another link brought to the source: `all` copies them on
    unless they came from the target, `none` copies only what was born at the source.
    """

    mode: Mode = "off"
    relay: Relay = "all"
    overrides: tuple[Override, ...] = ()

    def leaves_out(self, writer: WriterNote, clusters: ClusterIds, *, exempt: bool) -> bool:
        """Whether batches that `writer` wrote into the source are not copied; `exempt` topics let them come home."""
        if self.mode != "batch":
            return False
        home = writer.source_cluster == clusters.target
        return not exempt if home else self.relay == "none"

    def exempts(self, clusters: ClusterIds, remote: str) -> bool:
        """Whether overrides let records come home to the topic `remote`, whenever they were copied."""
        return any(
            override.is_for_ever and override.covers_topic(clusters.target, remote) for override in self.overrides
        )

    def comes_home(self, hops: Iterable[Hop], clusters: ClusterIds, remote: str) -> bool:
        """Whether a record with these hops is not copied into `remote`, because it has been there."""
        return any(
            hop.cluster == clusters.target
            and hop.topic == remote
            and not any(override.covers(hop) for override in self.overrides)
            for hop in hops
        )


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Matcher:
    return compile_java(pattern)
